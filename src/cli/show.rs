//! `show`: how a run went, on one page.

use super::{
    columns::{left, right, wrapped},
    context::Context,
    error::Failure,
    options::{Common, Show},
    print, say,
};
use crate::{
    journal::{self, RunDir},
    model::{
        amount::Level,
        event::Header,
        exit::Exit,
        recovery::Milestone,
        sheet::Verdict,
        text::{Lang, Word},
    },
    view::{RunView, ending_words, row_label, undecided_because},
};

/// How wide the page is: what a terminal has at least.
const WIDTH: usize = 80;

pub fn show(common: &Common, args: &Show) -> Result<Exit, Failure> {
    let context = Context::open(common)?;
    let (run, dir) = context.state()?.find(&args.run)?;
    let view = view_of(&dir)?;
    if args.json {
        print::json(&view)?;
        return Ok(Exit::Held);
    }
    let Some(header) = &view.header else {
        let words = context.lang.pick(
            "it was never opened; nothing was touched",
            "从未打开; 未触碰任何东西",
        );
        print::line(format_args!(
            "{} {run}: {words}",
            context.lang.pick("run", "演练")
        ))?;
        return Ok(Exit::Held);
    };
    for line in page(&view, header, context.lang) {
        print::line(line)?;
    }
    Ok(Exit::Held)
}

/// The state of a run from its files.
pub fn view_of(dir: &RunDir) -> Result<RunView, Failure> {
    let history = journal::read(dir)?;
    for damage in &history.damage {
        say::err(format_args!("allclear: a record of the run is damaged: {damage}"));
    }
    Ok(RunView::of(&history.events))
}

fn page(view: &RunView, header: &Header, lang: Lang) -> Vec<String> {
    let mut lines = vec![
        format!("{}  {}", header.drill, header.title.get(lang)),
        format!(
            "{} {}  {} {}",
            lang.pick("run", "演练"),
            header.run,
            header.stage.word(lang),
            header.environment
        ),
        header.hypothesis.get(lang).to_owned(),
        String::new(),
    ];
    for why in &view.refused {
        let why = format!("{}  {}", lang.pick("REFUSED", "被拒绝"), why.get(lang));
        lines.extend(wrapped(&why, WIDTH, 4));
    }
    // A run that never got as far as its sheet has none to show.
    if view.rows.iter().any(|r| r.state.is_some()) {
        lines.extend(sheet(view, header, lang));
    }
    if !view.recovery.is_empty() {
        lines.push(String::new());
    }
    for step in &view.recovery {
        let r = &step.report;
        let line = format!(
            "{} {} {} {}  {}",
            r.step.number(),
            left(r.step.word(lang), 12),
            left(r.state.word(lang), 8),
            right(&r.took.to_string(), 8),
            r.detail.get(lang)
        );
        lines.extend(wrapped(&line, WIDTH, 34));
    }
    lines.extend(times(view, lang));
    for left in &view.may_remain {
        lines.extend(wrapped(
            &format!(
                "{}  {}: {}",
                lang.pick("MAY REMAIN", "可能残留"),
                left.what.get(lang),
                left.why.get(lang)
            ),
            WIDTH,
            4,
        ));
        lines.extend(
            left.by_hand
                .iter()
                .flat_map(|by| by.lines())
                .map(|line| format!("  {}  {line}", lang.pick("by hand:", "手工:"))),
        );
    }
    lines.extend(ending(view, lang));
    lines
}

/// A row takes a line; why it stands so takes the next, where the verdict alone does not say it.
fn sheet(view: &RunView, header: &Header, lang: Lang) -> Vec<String> {
    let mut lines = Vec::new();
    for row in &view.rows {
        let Some(of) = header.row(row.id) else { continue };
        let unit = header.unit(&of.metric);
        let show = |x: Option<Level>| x.map_or("--".to_owned(), |l| unit.show(l.0));
        let state = row.state.as_ref();
        let (before, now) = (
            show(state.and_then(|s| s.before)),
            show(state.and_then(|s| s.now)),
        );
        let verdict = state.map_or("--", |s| s.verdict.word(lang));
        lines.push(format!(
            "{} {} → {} {} {verdict}",
            left(&row_label(of), 26),
            right(&before, 9),
            left(&now, 9),
            left(&of.declared, 13),
        ));
        let why = state.filter(|s| s.verdict != Verdict::AsExpected);
        lines.extend(
            why.map(|s| format!("    {}", s.reason.get(lang)))
                .filter(|s| !s.trim().is_empty()),
        );
    }
    lines
}

/// The three times, each only if nothing that is known stands against it.
fn times(view: &RunView, lang: Lang) -> Option<String> {
    view.recovering.as_ref()?;
    let shown = [Milestone::FaultsGone, Milestone::UsersOk, Milestone::AllClear].map(|milestone| {
        let after = view
            .time_of(milestone)
            .map_or("--".into(), |span| span.to_string());
        format!("{} {after}", milestone.word(lang))
    });
    Some(shown.join("   "))
}

fn ending(view: &RunView, lang: Lang) -> Option<String> {
    let outcome = view.outcome.as_ref()?;
    let held = outcome.hypothesis.map_or("--", |h| h.word(lang));
    let clear = ending_words(view.ending()?, view.may_remain.len(), lang);
    let cause = outcome
        .cause
        .as_ref()
        .map(|c| c.describe(lang))
        .unwrap_or_default();
    let why = undecided_because(view, lang).unwrap_or_default();
    let parts = [held, &why, &clear, &cause].map(str::to_owned);
    let mut parts: Vec<String> = parts.into_iter().filter(|p| !p.is_empty() && p != "--").collect();
    parts.push(format!("{} {}", lang.pick("exit", "退出码"), outcome.exit));
    Some(parts.join("   "))
}
