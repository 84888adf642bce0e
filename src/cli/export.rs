//! `export`: the evidence of a run, packed.

use std::path::PathBuf;

use super::{
    context::{self, Context},
    error::Failure,
    options::{Common, Export},
    print,
};
use crate::{
    model::exit::Exit,
    report::{self, Destination},
};

pub fn export(common: &Common, args: &Export) -> Result<Exit, Failure> {
    let context = Context::open(common)?;
    let (run, dir) = context.state()?.find(&args.run)?;
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("allclear-{run}")));
    // The run's own sealed secrets are gone by now; those that can still be looked up are masked wherever they occur.
    let secrets = dir
        .plan()
        .map(|plan| context::known_secrets(&plan.environment))
        .unwrap_or_default();
    let manifest =
        report::export(&dir, &Destination::of(&out), context.lang, &secrets).map_err(Failure::usage)?;
    print::line(format_args!(
        "{}: {} files; `allclear verify {0}` checks them",
        out.display(),
        manifest.files.len()
    ))?;
    Ok(Exit::Held)
}
