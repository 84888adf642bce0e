//! `attach`: look at a run that goes on.

use super::{
    context::Context,
    error::Failure,
    options::{Attach, Common},
    watch::{self, Look},
};
use crate::model::exit::Exit;

pub fn attach(common: &Common, args: &Attach) -> Result<Exit, Failure> {
    let context = Context::open(common)?;
    let (run, dir) = context.state()?.find(&args.run)?;
    let mut look = Look::new(&context, common, args.looking.plain);
    look.read_only = args.read_only;
    let seen = watch::watch(&dir, &run, look)?;
    Ok(watch::code(&seen, &run, look, false))
}
