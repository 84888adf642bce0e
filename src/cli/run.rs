//! `run` and `rehearse`: one drill, with a commander.

use super::{
    context::Context,
    error::Failure,
    options::{Common, Run},
    say,
    start::{self, Wanted},
    watch::{self, Look},
};
use crate::model::{exit::Exit, plan::Purpose};

pub fn run(common: &Common, args: &Run) -> Result<Exit, Failure> {
    with_purpose(common, args, Purpose::Drill)
}

/// Everything of a run without the fault, so that a wrong name in the playbook is found before the accident.
pub fn rehearse(common: &Common, args: &Run) -> Result<Exit, Failure> {
    with_purpose(common, args, Purpose::Rehearsal)
}

fn with_purpose(common: &Common, args: &Run, purpose: Purpose) -> Result<Exit, Failure> {
    let context = Context::open(common)?;
    let mut loaded = context.drill(&args.drill)?;
    if let Some(baseline) = args.baseline {
        loaded.drill.baseline = baseline;
    }
    let environment = context.environment(args.env.as_deref())?;
    say::err_text(super::error::shown(&loaded.warnings));
    let mut look = Look::new(&context, common, args.looking.plain);
    look.owns = look.plain;
    let wanted = Wanted {
        purpose,
        attended: !look.plain,
    };
    let started = start::start(&context, loaded, environment, wanted)?;
    watch::to_the_end(&context, &started, look, args.allow_undecided)
}
