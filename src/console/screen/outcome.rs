//! How the run ended: whether the hypothesis held, whether everything is back, the three times, what may remain with
//! the command for each, and what to type next.

use super::{
    super::{
        cells::{Strip, wrap},
        scene::Scene,
        theme::Role,
    },
    heading,
};
use crate::{
    model::{
        recovery::{Certainty, Leftover, Milestone},
        sheet::Hypothesis,
        text::Word,
    },
    view::{Ending, FaultState, undecided_because},
};

/// The block in place of the guard's, once the run is over.
pub(super) fn lines(scene: &Scene<'_>, width: usize) -> Vec<Strip> {
    let mut lines = hypothesis(scene, width);
    lines.push(recovered(scene).cut_to(width));
    if scene.view.ending() == Some(Ending::Refused) {
        lines.extend(reasons(scene, width));
    } else {
        lines.push(times(scene).cut_to(width));
    }
    lines.extend(remains(scene, width));
    lines.push(next(scene));
    lines
}

/// `RECOVERY  ALL CLEAR   all steps done`.
fn recovered(scene: &Scene<'_>) -> Strip {
    let strip = title(scene.t("RECOVERY", "恢复"));
    let strip = match scene.ending() {
        Some((role, words)) => strip.text(role, words),
        None => strip,
    };
    match scene.view.outcome.as_ref().and_then(|o| o.cause.as_ref()) {
        Some(cause) => strip.gap(3).text(Role::Dim, cause.describe(scene.lang())),
        None => strip,
    }
}

fn title(text: &str) -> Strip {
    Strip::default().gap(1).col(Role::Strong, text, TITLE)
}

const TITLE: usize = 12;

fn hypothesis_role(hypothesis: Hypothesis) -> Role {
    match hypothesis {
        Hypothesis::Held => Role::Good,
        Hypothesis::Falsified | Hypothesis::Undecided => Role::Look,
    }
}

/// `HYPOTHESIS  HELD   Orders keep succeeding …`.
fn hypothesis(scene: &Scene<'_>, width: usize) -> Vec<Strip> {
    let (role, word) = match scene.view.outcome.as_ref().and_then(|o| o.hypothesis) {
        Some(hypothesis) => (hypothesis_role(hypothesis), hypothesis.word(scene.lang())),
        None => (
            Role::Plain,
            scene.t("not tested: no fault was armed", "未检验: 未注入故障"),
        ),
    };
    let first = title(scene.t("HYPOTHESIS", "假设")).text(role, word);
    let first = match undecided_because(scene.view, scene.lang()) {
        Some(why) => first.gap(3).text(Role::Plain, why),
        None => first,
    };
    let mut lines = vec![first.cut_to(width)];
    let text = scene.header().map_or("", |h| h.hypothesis.get(scene.lang()));
    for part in wrap(text, width.saturating_sub(TITLE + 2)).into_iter().take(2) {
        lines.push(Strip::default().gap(1 + TITLE).text(Role::Dim, part));
    }
    lines
}

fn reasons(scene: &Scene<'_>, width: usize) -> Vec<Strip> {
    let mut lines = Vec::new();
    for reason in &scene.view.refused {
        for (index, part) in wrap(reason.get(scene.lang()), width.saturating_sub(4))
            .into_iter()
            .enumerate()
            .take(3)
        {
            let sign = if index == 0 { " ! " } else { "   " };
            lines.push(Strip::of(Role::Look, sign).text(Role::Plain, part));
        }
    }
    lines
}

/// `FAULTS GONE 0.8s   USERS OK 12s   ALL CLEAR 1m40s`: apart, because they are not the same.
pub(super) fn times(scene: &Scene<'_>) -> Strip {
    let mut strip = Strip::default();
    for milestone in [Milestone::FaultsGone, Milestone::UsersOk, Milestone::AllClear] {
        let word = milestone.word(scene.lang());
        let (role, time) = match scene.view.time_of(milestone) {
            Some(time) => (Role::Good, time.to_string()),
            None => (Role::Dim, "--".to_owned()),
        };
        let width = crate::console::cells::width(word) + 13;
        strip = strip
            .gap(1)
            .join(Strip::of(role, format!("{word} {time}")).filled(width));
    }
    strip
}

/// What may remain, and how to remove it by hand.
pub(super) fn remains(scene: &Scene<'_>, width: usize) -> Vec<Strip> {
    let mut lines = Vec::new();
    let live: Vec<_> = scene.view.live_faults().collect();
    if scene.over() && !live.is_empty() {
        for fault in live {
            let state = match &fault.state {
                FaultState::Live => scene.t("LIVE, never read back as gone", "已注入, 未回读确认清除"),
                _ => scene.t("may be live", "可能已注入"),
            };
            lines.push(Strip::of(Role::Alarm, format!(" ! {} {state}", fault.id)).cut_to(width));
        }
    }
    if scene.view.may_remain.is_empty() {
        return lines;
    }
    let title = format!(
        " {}: {}",
        scene.t("MAY REMAIN", "可能残留"),
        scene.view.may_remain.len()
    );
    lines.push(Strip::of(Role::Alarm, title));
    for left in &scene.view.may_remain {
        lines.extend(leftover(scene, left, width));
    }
    lines
}

fn leftover(scene: &Scene<'_>, left: &Leftover, width: usize) -> Vec<Strip> {
    let certainty = match left.certainty {
        Certainty::Seen => String::new(),
        Certainty::Unknown => format!(" ({})", left.certainty.word(scene.lang())),
    };
    let mut lines = Vec::new();
    let (what, why) = (left.what.get(scene.lang()), left.why.get(scene.lang()));
    let text = format!("{what}{certainty}: {why}");
    for (index, part) in wrap(&text, width.saturating_sub(5)).into_iter().enumerate() {
        let sign = if index == 0 { " ! " } else { "   " };
        lines.push(Strip::of(Role::Alarm, sign).text(Role::Plain, part));
    }
    match &left.by_hand {
        Some(command) => {
            let title = scene.t("by hand: ", "手工: ");
            let indent = crate::console::cells::width(title);
            let room = width.saturating_sub(indent + 4);
            let parts = command.lines().flat_map(|line| wrap(line, room));
            for (index, part) in parts.enumerate() {
                let title = if index == 0 { title } else { "" };
                lines.push(
                    Strip::default()
                        .gap(3)
                        .join(Strip::of(Role::Dim, title).filled(indent))
                        .text(Role::Strong, part),
                );
            }
        }
        None => lines.push(
            Strip::default()
                .gap(3)
                .text(Role::Dim, scene.t("no command is known", "无已知命令")),
        ),
    }
    lines
}

fn next(scene: &Scene<'_>) -> Strip {
    let run = scene.run();
    heading(scene.t("next:", "接着:"))
        .gap(1)
        .text(Role::Key, format!("allclear show {run}"))
        .gap(3)
        .text(Role::Key, format!("allclear export {run}"))
}
