//! `schema`, `completions` and `man`: what is generated from what is known.

use std::io::{self, Write};

use super::{
    command,
    error::Failure,
    options::{Completions, Schema, SchemaFile},
    print,
};
use crate::{
    model::exit::Exit,
    spec::{self, Kind},
};

pub fn schema(args: &Schema) -> Result<Exit, Failure> {
    let kind = match args.file {
        SchemaFile::Drill => Kind::Drill,
        SchemaFile::Dashboard => Kind::Dashboard,
        SchemaFile::Config => Kind::Config,
    };
    print::line(serde_json::to_string_pretty(&spec::schema(kind)).map_err(Failure::usage)?)?;
    Ok(Exit::Held)
}

pub fn completions(args: &Completions) -> Result<Exit, Failure> {
    let all = command();
    // What only allclear itself starts is nothing to offer.
    let mut offered = clap::Command::new("allclear")
        .args(all.get_arguments().cloned())
        .subcommands(shown(&all).cloned());
    // Into memory first: the generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut offered, "allclear", &mut script);
    print::bytes(&script)?;
    Ok(Exit::Held)
}

pub fn man() -> Result<Exit, Failure> {
    print::bytes(&man_page()?)?;
    Ok(Exit::Held)
}

/// One page for all commands: each a section of its own, with its options.
fn man_page() -> io::Result<Vec<u8>> {
    let mut all = command();
    all.build();
    let mut page = Vec::new();
    let main = clap_mangen::Man::new(all.clone());
    main.render_title(&mut page)?;
    main.render_name_section(&mut page)?;
    main.render_synopsis_section(&mut page)?;
    main.render_description_section(&mut page)?;
    main.render_options_section(&mut page)?;
    for sub in shown(&all) {
        section(&mut page, sub, &format!("allclear {}", sub.get_name()))?;
        for below in shown(sub) {
            section(
                &mut page,
                below,
                &format!("allclear {} {}", sub.get_name(), below.get_name()),
            )?;
        }
    }
    main.render_extra_section(&mut page)?;
    Ok(page)
}

fn shown(of: &clap::Command) -> impl Iterator<Item = &clap::Command> {
    of.get_subcommands()
        .filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
}

fn section(page: &mut Vec<u8>, of: &clap::Command, name: &str) -> io::Result<()> {
    // What every command takes stands once, at the top.
    let own = of.clone().mut_args(|arg| {
        let everywhere = arg.is_global_set() || arg.get_id() == "help";
        arg.hide(everywhere)
    });
    let man = clap_mangen::Man::new(own);
    let mut text = Vec::new();
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    man.render_extra_section(&mut text)?;
    let text = String::from_utf8_lossy(&text).replace(".SH ", ".SS ");
    write!(page, ".SH \"{name}\"\n{text}")
}
