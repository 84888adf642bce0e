//! `smoke`: drills without a commander, one after another, for a release pipeline.

use std::path::Path;

use super::{
    context::{Context, Loaded},
    error::Failure,
    options::{Common, Smoke},
    say, show,
    start::{self, Wanted},
    watch::{self, Look},
};
use crate::{
    model::{exit::Exit, ids::RunId, plan::Purpose},
    report,
};

pub fn smoke(common: &Common, args: &Smoke) -> Result<Exit, Failure> {
    let context = Context::open(common)?;
    // All files are read before the first fault: a slip in the last one must not cost the first ones' minutes.
    let mut drills = Vec::new();
    for asked in &args.drills {
        drills.push((asked, context.drill(asked)?));
    }
    let mut look = Look::new(&context, common, true);
    look.owns = true;
    let mut codes = Vec::new();
    let mut runs: Vec<RunId> = Vec::new();
    for (asked, loaded) in drills {
        say::out(format_args!("== {asked}"));
        // One that cannot begin ends the series, not the report on those before it.
        match one(&context, loaded, args, look, &mut runs) {
            Ok(code) => {
                codes.push(code);
                // What may remain, and a person's wish to stop, end the series: the next drill needs a sound system.
                if matches!(code, Exit::Remains | Exit::Interrupted) {
                    break;
                }
            }
            Err(failure) => {
                codes.push(failure.report());
                break;
            }
        }
    }
    if let Some(path) = &args.junit
        && let Err(failure) = write_junit(&context, &runs, path, args.allow_undecided)
    {
        // What may remain is worse than a report that is missing.
        codes.push(failure.report());
    }
    Ok(Exit::worst(codes))
}

/// Runs one drill to its end: its code. Its run is one of `runs` from its beginning: one that is lost is reported as well.
fn one(
    context: &Context,
    loaded: Loaded,
    args: &Smoke,
    look: Look,
    runs: &mut Vec<RunId>,
) -> Result<Exit, Failure> {
    let environment = context.environment(args.env.as_deref())?;
    let wanted = Wanted {
        purpose: Purpose::Smoke,
        attended: false,
    };
    let started = start::start(context, loaded, environment, wanted)?;
    runs.push(started.run.clone());
    watch::to_the_end(context, &started, look, args.allow_undecided)
}

fn write_junit(context: &Context, runs: &[RunId], path: &Path, allow_undecided: bool) -> Result<(), Failure> {
    let state = context.state()?;
    let views = runs
        .iter()
        .map(|run| show::view_of(&state.run_dir(run)))
        .collect::<Result<Vec<_>, _>>()?;
    std::fs::write(path, report::junit(&views, allow_undecided))
        .map_err(|e| Failure::Usage(format!("the JUnit report {} cannot be written: {e}; the runs themselves are kept, `allclear runs` lists them", path.display())))
}
