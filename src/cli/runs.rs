//! `runs`: the runs, newest first.

use super::{
    columns::left,
    context::Context,
    error::Failure,
    options::{Common, Runs},
    print,
};
use crate::{
    journal::RunSummary,
    model::{
        exit::Exit,
        text::{Lang, Word},
    },
};

pub fn runs(common: &Common, args: &Runs) -> Result<Exit, Failure> {
    let context = Context::open(common)?;
    let runs = context.state()?.runs()?;
    if runs.is_empty() && !args.json {
        print::line(context.lang.pick(
            "no runs yet: `allclear demo` makes one",
            "还没有演练记录: `allclear demo` 会生成一次",
        ))?;
    }
    for run in runs {
        if args.json {
            print::json(&json(&run))?;
        } else {
            print::line(line(&run, context.lang))?;
        }
    }
    Ok(Exit::Held)
}

fn line(run: &RunSummary, lang: Lang) -> String {
    let started = run
        .started
        .to_zoned_datetime(jiff::tz::TimeZone::system())
        .strftime("%Y-%m-%d %H:%M");
    let drill = run.drill.as_ref().map_or("?", |d| d.as_str());
    let environment = run.environment.as_ref().map_or("?", |e| e.as_str());
    format!(
        "{}  {started}  {} {} {}",
        run.run,
        left(drill, 22),
        left(environment, 8),
        how(run, lang)
    )
}

fn how(run: &RunSummary, lang: Lang) -> String {
    match (&run.outcome, &run.keeper) {
        (Some(outcome), _) if outcome.refused => lang.pick("REFUSED", "被拒绝").to_owned(),
        (Some(outcome), _) => {
            let held = outcome.hypothesis.map_or("--", |h| h.word(lang));
            let clear = outcome.recovered.word(lang);
            format!("{held}  {clear}")
        }
        (None, Some(_)) => run.phase.map_or("?", |p| p.word(lang)).to_owned(),
        (None, None) => match &run.damaged {
            Some(why) => why.clone(),
            None => format!(
                "{}: allclear recover {}",
                lang.pick("NOT RECOVERED", "未恢复"),
                run.run
            ),
        },
    }
}

fn json(run: &RunSummary) -> serde_json::Value {
    serde_json::json!({
        "run": run.run, "started": run.started, "drill": run.drill, "environment": run.environment,
        "phase": run.phase, "outcome": run.outcome, "damaged": run.damaged,
        "keeper": run.keeper.as_ref().and_then(|k| k.pid),
    })
}
