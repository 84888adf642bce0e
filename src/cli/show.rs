//! `show`: how a run went, on one page.

use super::{
    context::Context,
    error::Failure,
    options::{Common, Show},
};
use crate::{
    journal::{self, RunDir},
    model::{
        event::Header,
        recovery::Milestone,
        text::{Lang, Word},
    },
    view::{RunView, ending_words, row_label},
};

pub fn show(common: &Common, args: &Show) -> Result<u8, Failure> {
    let context = Context::open(common)?;
    let (run, dir) = context.state()?.find(&args.run)?;
    let view = view_of(&dir)?;
    if args.json {
        println!("{}", serde_json::to_string(&view).map_err(Failure::usage)?);
        return Ok(0);
    }
    let Some(header) = &view.header else {
        println!("run {run}: it was never opened; nothing was touched");
        return Ok(0);
    };
    for line in page(&view, header, context.lang) {
        println!("{line}");
    }
    Ok(0)
}

/// The state of a run from its files.
pub fn view_of(dir: &RunDir) -> Result<RunView, Failure> {
    let history = journal::read(dir)?;
    for damage in &history.damage {
        eprintln!("allclear: a record of the run is damaged: {damage}");
    }
    Ok(RunView::of(&history.events))
}

fn page(view: &RunView, header: &Header, lang: Lang) -> Vec<String> {
    let mut lines = vec![
        format!("{}  {}", header.drill, header.title.get(lang)),
        format!(
            "run {}  {} {}",
            header.run,
            header.stage.word(lang),
            header.environment
        ),
        header.hypothesis.get(lang).to_owned(),
        String::new(),
    ];
    lines.extend(view.refused.iter().map(|why| format!("REFUSED  {why}")));
    for row in &view.rows {
        let Some(of) = header.row(row.id) else { continue };
        let unit = header.unit(&of.metric);
        let show = |x: Option<crate::model::amount::Level>| x.map_or("--".to_owned(), |l| unit.show(l.0));
        let (before, now, verdict, reason) = match &row.state {
            Some(s) => (
                show(s.before),
                show(s.now),
                s.verdict.to_string(),
                s.reason.clone(),
            ),
            None => ("--".into(), "--".into(), "--".into(), String::new()),
        };
        lines.push(format!(
            "{:<28} {before:>10} → {now:<10} {:<14} {verdict}  ({reason})",
            row_label(of),
            of.declared
        ));
    }
    lines.push(String::new());
    for step in &view.recovery {
        let r = &step.report;
        let (number, word, state) = (r.step.number(), r.step.word(lang), r.state.word(lang));
        lines.push(format!(
            "{number} {word:<14} {state:<8} {:>8}  {}",
            r.took, r.detail
        ));
    }
    lines.extend(times(view, lang));
    for left in &view.may_remain {
        lines.push(format!("MAY REMAIN  {}: {}", left.what, left.why));
        lines.extend(left.by_hand.as_ref().map(|by| format!("  by hand:  {by}")));
    }
    lines.extend(ending(view, lang));
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
    Some(format!("{held}   {clear}   {cause}   exit {}", outcome.exit))
}
