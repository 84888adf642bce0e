//! One file per command; wires everything.

mod attach;
mod check;
mod columns;
mod context;
mod demo;
mod error;
mod export;
mod generate;
mod identity;
mod judge;
mod keeper;
mod kubeconfig;
mod link;
mod list;
mod options;
mod owed;
mod print;
mod range;
mod range_environment;
mod recover;
mod replay;
mod restore;
mod run;
mod runs;
mod say;
mod shipped;
mod show;
mod smoke;
mod start;
mod verify;
mod watch;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

pub use options::{Cli, Command};

use self::error::Failure;
use crate::model::exit::Exit;

/// Runs the command line and gives the exit code.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let exit = dispatch(cli).unwrap_or_else(|failure| failure.report());
    ExitCode::from(exit.code())
}

/// The command line as data: for completions, the man page and tests.
pub fn command() -> clap::Command {
    Cli::command()
}

fn dispatch(cli: Cli) -> Result<Exit, Failure> {
    let common = cli.common;
    if !cli.command.is_internal() {
        owed::say_what_is_owed(&common, &cli.command);
    }
    match cli.command {
        Command::Demo(args) => demo::demo(&common, &args),
        Command::Run(args) => run::run(&common, &args),
        Command::Rehearse(args) => run::rehearse(&common, &args.run),
        Command::Restore(args) => restore::restore(&common, &args),
        Command::Attach(args) => attach::attach(&common, &args),
        Command::Recover(args) => recover::recover(&common, &args),
        Command::Smoke(args) => smoke::smoke(&common, &args),
        Command::Check(args) => check::check(&common, &args),
        Command::List(args) => list::list(&common, &args),
        Command::Runs(args) => runs::runs(&common, &args),
        Command::Show(args) => show::show(&common, &args),
        Command::Export(args) => export::export(&common, &args),
        Command::Verify(args) => verify::verify(&args),
        Command::Replay(args) => replay::replay(&common, &args),
        Command::Judge(args) => judge::judge(&common, &args),
        Command::Range(args) => range::range(&common, &args),
        Command::Schema(args) => generate::schema(&args),
        Command::Completions(args) => generate::completions(&args),
        Command::Man => generate::man(),
        Command::Keeper(args) => keeper::keeper(common.state_dir, &args),
        Command::Deadman(args) => keeper::deadman(common.state_dir, &args),
    }
}

/// A runtime for a command that looks at something: a console is one thread of work.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::from)
}
