//! `check`: are these drills sound? Touches nothing.

use super::{
    context::{Context, Loaded},
    error::{Failure, shown},
    options::{Check, Common},
    print,
};
use crate::{
    model::{environment::Environment, exit::Exit},
    spec::{self, Diagnostics},
};

pub fn check(common: &Common, args: &Check) -> Result<Exit, Failure> {
    let context = Context::open(common)?;
    let environment = match &args.env {
        Some(name) => Some(context.environment(Some(name))?),
        None => None,
    };
    let mut errors = 0;
    for asked in &args.drills {
        errors += check_one(&context, asked, environment.as_ref(), args.json)?;
    }
    Ok(if errors == 0 { Exit::Held } else { Exit::Usage })
}

fn check_one(
    context: &Context,
    asked: &str,
    environment: Option<&Environment>,
    json: bool,
) -> Result<usize, Failure> {
    let found = match context.drill(asked) {
        Ok(loaded) => {
            let against = environment
                .map(|e| spec::check_against(&loaded.drill, e))
                .unwrap_or_default();
            let against = Diagnostics {
                path: loaded.source.path.clone(),
                all: against,
            };
            if !json && against.errors() == 0 {
                sound(asked, &loaded)?;
            }
            vec![loaded.warnings, against]
        }
        Err(Failure::Files(all)) => vec![*all],
        Err(other) => return Err(other),
    };
    let errors = found.iter().map(Diagnostics::errors).sum();
    for all in &found {
        if json {
            for one in &all.all {
                print::line(one.to_json())?;
            }
        } else {
            print::diagnostics(&shown(all));
        }
    }
    Ok(errors)
}

fn sound(asked: &str, loaded: &Loaded) -> Result<(), Failure> {
    let drill = &loaded.drill;
    let rows: usize = drill.steps.iter().map(|s| s.expect.len()).sum();
    print::line(format_args!(
        "{asked}: {} — {} step(s), {rows} row(s), {} hypothesis(es), {} tripwire(s), targets {}",
        drill.name,
        drill.steps.len(),
        drill.guard.steady_state.len(),
        drill.guard.tripwires.len(),
        drill
            .targets
            .instances
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    ))
}
