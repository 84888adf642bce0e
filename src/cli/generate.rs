//! `schema`, `completions` and `man`: what is generated from what is known.

use std::io;

use super::{
    command,
    error::Failure,
    options::{Completions, Schema, SchemaFile},
};
use crate::spec::{self, Kind};

pub fn schema(args: &Schema) -> Result<u8, Failure> {
    let kind = match args.file {
        SchemaFile::Drill => Kind::Drill,
        SchemaFile::Dashboard => Kind::Dashboard,
        SchemaFile::Config => Kind::Config,
    };
    println!(
        "{}",
        serde_json::to_string_pretty(&spec::schema(kind)).map_err(Failure::usage)?
    );
    Ok(0)
}

pub fn completions(args: &Completions) -> Result<u8, Failure> {
    clap_complete::generate(args.shell, &mut command(), "allclear", &mut io::stdout());
    Ok(0)
}

pub fn man() -> Result<u8, Failure> {
    clap_mangen::Man::new(command()).render(&mut io::stdout())?;
    Ok(0)
}
