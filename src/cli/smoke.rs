//! `smoke`: drills without a commander, one after another, for a release pipeline.

use std::path::Path;

use super::{
    context::{Context, Loaded},
    error::Failure,
    options::{Common, Smoke},
    show,
    start::{self, Wanted},
    watch::{self, Look, Seen},
};
use crate::{
    drill::outcome::exit,
    model::{ids::RunId, plan::Purpose},
    report,
};

pub fn smoke(common: &Common, args: &Smoke) -> Result<u8, Failure> {
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
        println!("== {asked}");
        // One that cannot begin ends the series, not the report on those before it.
        match one(&context, loaded, args, look) {
            Ok((run, code, over)) => {
                codes.push(code);
                runs.push(run);
                // What may remain, and a person's wish to stop, end the series: the next drill needs a sound system.
                if !over || matches!(code, exit::REMAINS | exit::INTERRUPTED) {
                    break;
                }
            }
            Err(failure) => {
                codes.push(failure.report());
                break;
            }
        }
    }
    if let Some(path) = &args.junit {
        write_junit(&context, &runs, path, args.allow_undecided)?;
    }
    Ok(exit::worst(&codes))
}

/// Runs one drill to its end: its run, its code, and whether it is over.
fn one(context: &Context, loaded: Loaded, args: &Smoke, look: Look) -> Result<(RunId, u8, bool), Failure> {
    let environment = context.environment(args.env.as_deref())?;
    let wanted = Wanted {
        purpose: Purpose::Smoke,
        attended: false,
    };
    let started = start::start(context, loaded, environment, wanted)?;
    let dir = context.state()?.run_dir(&started.run);
    let seen = watch::watch(&dir, &started.run, look)?;
    let code = watch::code(&seen, &started.run, args.allow_undecided, look.owns);
    Ok((started.run, code, matches!(seen, Seen::Over(_))))
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
