//! The command line's options.

mod generated;
mod processes;
mod range;
mod reading;
mod running;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use self::{
    generated::{Completions, Schema, SchemaFile},
    processes::{Deadman, Keeper},
    range::{Range, RangeAction, RangeStatus, RangeUp},
    reading::{Check, Export, Judge, List, Replay, Runs, Show, Verify},
    running::{Attach, Demo, Looking, Recover, Rehearse, Restore, Run, Smoke},
};
use crate::model::{exit::Exit, text::Lang};

/// The heading of the options that every command takes: after its own.
const EVERYWHERE: &str = "Options of every command";

/// What follows the options of `allclear --help`.
fn after_help() -> String {
    let mut text = String::from(
        "\
Examples:
  allclear demo                       a shop with a slow coupon service
  allclear check expectations/*.yaml  are these drills sound? touches nothing
  allclear run coupon-slow --env preprod
  allclear recover                    put back what any run has left
  allclear export                     the evidence of the last run

Exit codes:",
    );
    for exit in Exit::ALL {
        text.push_str(&format!("\n  {:>3}  {}", exit.code(), exit.meaning()));
    }
    text
}

/// A game-day console for the terminal.
#[derive(Debug, Parser)]
#[command(
    name = "allclear",
    version,
    about = "A game-day console: break it on purpose, put it back with one key, prove that nothing is left",
    after_help = after_help()
)]
pub struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub common: Common,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub struct Common {
    /// The configuration file [default: allclear.yaml, if it is there]
    #[arg(long, global = true, value_name = "FILE", env = "ALLCLEAR_CONFIG", hide_env_values = true, help_heading = EVERYWHERE)]
    pub config: Option<PathBuf>,
    /// Where runs are kept [default: $XDG_STATE_HOME/allclear or ~/.local/state/allclear]
    #[arg(long, global = true, value_name = "DIR", env = "ALLCLEAR_STATE_DIR", hide_env_values = true, help_heading = EVERYWHERE)]
    pub state_dir: Option<PathBuf>,
    /// The language of screens and reports
    #[arg(long, global = true, value_name = "en|zh", value_enum, hide_possible_values = true, env = "ALLCLEAR_LANG", hide_env_values = true, help_heading = EVERYWHERE)]
    pub lang: Option<LangArg>,
    /// No colours (NO_COLOR does the same)
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub mono: bool,
}

impl Common {
    /// The language asked for.
    pub fn lang(&self) -> Lang {
        match self.lang {
            Some(LangArg::Zh) => Lang::Zh,
            Some(LangArg::En) | None => Lang::En,
        }
    }

    /// Whether colours are wanted.
    pub fn coloured(&self) -> bool {
        !self.mono && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
    }
}

/// A language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LangArg {
    /// English
    En,
    /// 中文
    Zh,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Try it: the built-in shop and a drill on it
    Demo(Demo),
    /// Run a drill
    Run(Run),
    /// Rehearse a drill: all of it, without the fault
    Rehearse(Rehearse),
    /// Carry out a drill's playbook alone, in a real incident
    Restore(Restore),
    /// Look at a run that goes on
    Attach(Attach),
    /// Put everything back: one run, or all that left something
    Recover(Recover),
    /// Run drills without a commander, for a release pipeline
    Smoke(Smoke),
    /// Check drill files; touches nothing
    Check(Check),
    /// List the drills that are here
    List(List),
    /// List the runs
    Runs(Runs),
    /// Show how a run went
    Show(Show),
    /// Pack the evidence of a run
    Export(Export),
    /// Check that a bundle is whole and unchanged
    Verify(Verify),
    /// Play a run back
    Replay(Replay),
    /// Judge a run again, or windows from anywhere
    Judge(Judge),
    /// The built-in practice system
    Range(Range),
    /// Print a JSON Schema of the files
    Schema(Schema),
    /// Print shell completions
    Completions(Completions),
    /// Print the man page
    Man,
    /// The process that owns a run
    #[command(hide = true)]
    Keeper(Keeper),
    /// The process that watches the keeper
    #[command(hide = true)]
    Deadman(Deadman),
}

impl Command {
    /// Whether allclear itself starts it.
    pub fn is_internal(&self) -> bool {
        matches!(self, Command::Keeper(_) | Command::Deadman(_))
    }
}
