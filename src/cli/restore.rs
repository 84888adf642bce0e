//! `restore`: the playbook alone, in a real incident.

use std::io::{self, IsTerminal};

use unicode_width::UnicodeWidthStr;

use super::{
    columns::left,
    context::Context,
    error::Failure,
    options::{Common, Restore},
    print, say,
    start::{self, Wanted},
    watch::{self, Look},
};
use crate::{
    drivers::{Drivers, Patience},
    engine::recovery::{self, Restoring},
    model::{
        exit::Exit,
        plan::{Plan, Purpose},
        playbook::{Command, How},
        secret::Secrets,
        text::Lang,
        time::Span,
    },
};

/// The longest look at everything: in an incident nobody waits for an instance that is gone.
const LOOK: Span = Span::seconds(15);

pub fn restore(common: &Common, args: &Restore) -> Result<Exit, Failure> {
    let context = Context::open(common)?;
    let mut loaded = context.drill(&args.drill)?;
    // The playbook alone: no step is run, and no row is judged.
    loaded.drill.steps.clear();
    let environment = context.environment(args.env.as_deref())?;
    say::err_text(super::error::shown(&loaded.warnings));
    let mut look = Look::new(&context, common, args.looking.plain);
    look.owns = look.plain;
    let wanted = Wanted {
        purpose: Purpose::Restore,
        attended: false,
    };
    let ready = start::ready(&context, loaded, environment, wanted)?;
    let found = read(&ready.plan, &ready.secrets)?;
    let is_urgent = args.yes && !args.dry_run;
    for line in page(&ready.plan, &found, context.lang) {
        match is_urgent {
            true => say::out(line),
            // Whoever is to agree to it must have seen it.
            false => print::line(line)?,
        }
    }
    if args.dry_run {
        return Ok(Exit::Held);
    }
    if !args.yes && !agreed(context.lang)? {
        say::out(context.lang.pick("nothing was changed", "未作任何改动"));
        return Ok(Exit::Refused);
    }
    let started = ready.begin()?;
    watch::to_the_end(&context, &started, look, false)
}

/// Reads how everything stands that the playbook puts back. Changes nothing.
fn read(plan: &Plan, secrets: &Secrets) -> Result<Restoring, Failure> {
    let patience = Patience {
        call: Span::seconds(3),
        step: Span::seconds(6),
        ..Patience::default()
    };
    let drivers = Drivers::with_patience(plan, secrets.clone(), patience)
        .map_err(|e| Failure::Refused(e.to_string()))?;
    super::runtime()?.block_on(async {
        tokio::time::timeout(LOOK.into(), recovery::read_restoring(plan, &drivers))
            .await
            .map_err(|_| {
                Failure::Refused(format!(
                    "not everything could be read in {LOOK}, and nothing was changed: see which address of the environment does not answer, or type it again"
                ))
            })
    })
}

/// What would be done, as a table.
fn page(plan: &Plan, found: &Restoring, lang: Lang) -> Vec<String> {
    let mut lines = vec![format!(
        "{} {} {} {}",
        plan.drill.name,
        lang.pick("in", "于"),
        plan.environment.name,
        lang.pick("- how it stands, and what becomes of it", "- 现状与将作的改动")
    )];
    let changes = found.changes(plan);
    let widest = |of: &dyn Fn(&recovery::Change) -> &str| {
        let widths = changes.iter().map(|c| of(c).width());
        widths.max().unwrap_or(0).clamp(8, 48)
    };
    let (what, now) = (widest(&|c| c.what.get(lang)), widest(&|c| c.now.get(lang)));
    for change in &changes {
        let line = format!(
            "  {}  {}  -> {}",
            left(change.what.get(lang), what),
            left(change.now.get(lang), now),
            change.then.get(lang)
        );
        lines.push(line);
    }
    if changes.is_empty() {
        let nothing = lang.pick("nothing that was read differs from healthy", "所读各项均正常");
        lines.push(format!("  {nothing}"));
    }
    for command in &plan.drill.recovery.commands {
        lines.push(format!(
            "  {} {}: {}",
            lang.pick("command", "命令"),
            command.name,
            becomes_of(command, lang)
        ));
    }
    let left_alone = lang.pick("left as it is", "保持不变");
    lines.extend(
        found
            .decided
            .iter()
            .map(|d| format!("  {}: {left_alone}", d.get(lang))),
    );
    let unproved = lang.pick("cannot be proved", "无法证明");
    lines.extend(
        found
            .unknown
            .iter()
            .map(|u| format!("! {}: {unproved}: {}", u.what.get(lang), u.why.get(lang))),
    );
    if !found.unknown.is_empty() {
        let ends = lang.pick(
            "so it ends UNKNOWN (exit 4) at best, and says so again there",
            "因此最好的结局是 UNKNOWN (退出码 4), 届时会再次说明",
        );
        lines.push(format!("  {ends}"));
    }
    let unread = lang.pick("not read", "未能读取");
    lines.extend(
        found
            .checks
            .iter()
            .map(|c| format!("! {} {unread}: {}", c.what.get(lang), c.found.get(lang))),
    );
    lines
}

/// What becomes of a step of the user's own.
fn becomes_of(command: &Command, lang: Lang) -> String {
    let done = match command.how {
        How::Run { .. } => lang.pick("runs", "将执行"),
        How::Http { .. } => lang.pick("its request is sent", "将发送请求"),
    };
    let unless = match command.has_check() {
        true => lang.pick(", unless its check passes", ", 除非检查已通过"),
        false => "",
    };
    format!("{done}{unless}")
}

/// Asks once. Without a terminal nobody can answer, and silence is no yes.
fn agreed(lang: Lang) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::Usage(
            "nobody is there to be asked: say --yes to do it, or --dry-run to look".into(),
        ));
    }
    print::bytes(format!("{} [y/N] ", lang.pick("Do it?", "执行?")).as_bytes())?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(
        answer.trim().to_lowercase().as_str(),
        "y" | "yes" | "是"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        drivers::testing::{environment, nothing_to_do, plan},
        model::{
            event::{Check, CheckOutcome},
            recovery::{Certainty, Leftover, StepId},
            said::said,
            snapshot::Snapshot,
        },
    };

    fn well() -> Restoring {
        Restoring {
            now: Snapshot::default(),
            healthy: Snapshot::default(),
            checks: Vec::new(),
            decided: Vec::new(),
            unknown: Vec::new(),
        }
    }

    fn shown(found: &Restoring, lang: Lang) -> String {
        page(&plan(environment(&[]), nothing_to_do()), found, lang).join("\n")
    }

    #[test]
    fn what_cannot_be_proved_read_or_is_left_alone_is_said_before_anybody_agrees() {
        let found = Restoring {
            checks: vec![Check {
                what: said!("flags degrade:*", "开关 degrade:*"),
                outcome: CheckOutcome::Warned,
                found: said!("nobody answers", "无人应答"),
                next: None,
            }],
            decided: vec![said!("order-0 is in maintenance", "order-0 在维护中")],
            unknown: vec![Leftover {
                step: StepId::Release,
                what: said!("quota of client a: 1000 B/s", "client a 的配额：1000 B/s"),
                why: said!("whether it did so before is not known", "此前是否如此不明"),
                by_hand: None,
                certainty: Certainty::Unknown,
            }],
            ..well()
        };
        insta::assert_snapshot!(shown(&found, Lang::En), @r"
        coupon-slow in here - how it stands, and what becomes of it
          nothing that was read differs from healthy
          order-0 is in maintenance: left as it is
        ! quota of client a: 1000 B/s: cannot be proved: whether it did so before is not known
          so it ends UNKNOWN (exit 4) at best, and says so again there
        ! flags degrade:* not read: nobody answers
        ");
        insta::assert_snapshot!(shown(&found, Lang::Zh), @r"
        coupon-slow 于 here - 现状与将作的改动
          所读各项均正常
          order-0 在维护中: 保持不变
        ! client a 的配额：1000 B/s: 无法证明: 此前是否如此不明
          因此最好的结局是 UNKNOWN (退出码 4), 届时会再次说明
        ! 开关 degrade:* 未能读取: 无人应答
        ");
    }

    #[test]
    fn where_everything_can_be_proved_no_unknown_end_is_foretold() {
        insta::assert_snapshot!(shown(&well(), Lang::En), @r"
        coupon-slow in here - how it stands, and what becomes of it
          nothing that was read differs from healthy
        ");
    }
}
