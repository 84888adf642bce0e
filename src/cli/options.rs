//! The command line's options.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::{model::text::Lang, range::Weakness};

/// The heading of the options that every command takes: after its own.
const EVERYWHERE: &str = "Options of every command";

/// A game-day console for the terminal.
#[derive(Debug, Parser)]
#[command(
    name = "allclear",
    version,
    about = "A game-day console: break it on purpose, put it back with one key, prove that nothing is left",
    after_help = "\
Examples:
  allclear demo                       a shop with a slow coupon service
  allclear check expectations/*.yaml  are these drills sound? touches nothing
  allclear run coupon-slow --env preprod
  allclear recover                    put back what any run has left
  allclear export                     the evidence of the last run

Exit codes:
    0  every row as expected, and all clear
    1  findings: a row UNEXPECTED
    2  a wrong file or argument
    3  aborted by the guard
    4  something may remain: recovery is incomplete
    5  refused before anything was touched
    6  not established: rows undecided, without data or not exercised
  130  interrupted, and recovered"
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

/// How a run is looked at.
#[derive(Debug, Clone, Args)]
pub struct Looking {
    /// Lines instead of screens: for logs and pipes. The default without a terminal
    #[arg(long)]
    pub plain: bool,
}

/// `demo`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  allclear demo\n  allclear demo --quick --plain\n  allclear demo --weakness no-coupon-fallback   see the drill falsified\n\nr puts everything back, q leaves. `allclear range up --help` lists the weaknesses."
)]
pub struct Demo {
    /// Under a minute: shorter baseline and injection
    #[arg(long)]
    pub quick: bool,
    /// How it is looked at.
    #[command(flatten)]
    pub looking: Looking,
    /// Make the shop weak, to see the drill falsified
    #[arg(long, value_name = "NAME")]
    pub weakness: Vec<Weakness>,
    /// Where a real Redis is, for the degrade flags
    #[arg(long, value_name = "URL")]
    pub redis: Option<String>,
}

/// `run`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  allclear run expectations/coupon-slow.yaml --env staging\n  allclear run coupon-slow --plain | tee drill.log\n\nKeys: r puts everything back, q leaves (the run goes on), ? shows all."
)]
pub struct Run {
    /// A drill file, or the name of a drill that comes with allclear
    pub drill: String,
    /// The environment [default: the configuration's, or `range`]
    #[arg(long, value_name = "NAME")]
    pub env: Option<String>,
    /// How it is looked at.
    #[command(flatten)]
    pub looking: Looking,
    /// Exit 0 instead of 6 when rows stay undecided
    #[arg(long)]
    pub allow_undecided: bool,
    /// A silent baseline of this length instead of the file's
    #[arg(long, value_name = "DURATION", value_parser = parse_span)]
    pub baseline: Option<crate::model::time::Span>,
}

fn parse_span(text: &str) -> Result<crate::model::time::Span, String> {
    crate::model::time::Span::parse(text).map_err(|e| e.to_string())
}

/// `attach`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  allclear attach                       the newest run\n  allclear attach 7f3a --read-only      no key changes anything\n  allclear attach --plain | tee log     lines instead of screens\n\nq and a closed terminal leave, and the run goes on. r and Ctrl-C put everything back."
)]
pub struct Attach {
    /// The run: its id, the beginning of it, or `latest`
    #[arg(default_value = "latest")]
    pub run: String,
    /// How it is looked at.
    #[command(flatten)]
    pub looking: Looking,
    /// Only look: no key changes anything
    #[arg(long)]
    pub read_only: bool,
}

/// `recover`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  allclear recover          every run that has left something\n  allclear recover 7f3a     one run, by the beginning of its id\n\nNeeds no configuration and no environment variable: the run's own record has\nall that is needed. Exits 0 when everything is put back or nothing was owed, 4 when something may remain."
)]
pub struct Recover {
    /// The run [default: every run that has left something]
    pub run: Option<String>,
    /// Every run that has left something
    #[arg(long, conflicts_with = "run")]
    pub all: bool,
}

/// `smoke`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  allclear smoke expectations/*.yaml --env preprod --junit smoke.xml")]
pub struct Smoke {
    /// Drill files or names, run one after another
    #[arg(required = true)]
    pub drills: Vec<String>,
    /// The environment [default: the configuration's, or `range`]
    #[arg(long, value_name = "NAME")]
    pub env: Option<String>,
    /// Write a JUnit report
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Rows that stay undecided are no failure
    #[arg(long)]
    pub allow_undecided: bool,
}

/// `check`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  allclear check coupon-slow\n  allclear check expectations/*.yaml --env preprod\n  allclear check --json drill.yaml | jq ."
)]
pub struct Check {
    /// Drill files or names
    #[arg(required = true)]
    pub drills: Vec<String>,
    /// Check against this environment as well
    #[arg(long, value_name = "NAME")]
    pub env: Option<String>,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// `list`
#[derive(Debug, Args)]
#[command(after_help = "Looks in expectations/ here, then among the drills that come with allclear.")]
pub struct List {
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// `runs`
#[derive(Debug, Args)]
#[command(
    after_help = "Newest first. `allclear show RUN` tells how one went; one that was NOT RECOVERED\nneeds `allclear recover`."
)]
pub struct Runs {
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// `show`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  allclear show\n  allclear show 7f3a --lang zh\n  allclear show --json | jq .outcome"
)]
pub struct Show {
    /// The run: its id, the beginning of it, or `latest`
    #[arg(default_value = "latest")]
    pub run: String,
    /// The whole state as JSON
    #[arg(long)]
    pub json: bool,
}

/// `export`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  allclear export latest\n  allclear export 7f3a9c --out evidence.tar.gz")]
pub struct Export {
    /// The run: its id, the beginning of it, or `latest`
    #[arg(default_value = "latest")]
    pub run: String,
    /// A directory, or a file that ends in .tar.gz [default: allclear-RUN]
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
}

/// `verify`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  allclear verify allclear-7f3a9c\n  allclear verify evidence.tar.gz --json\n\nExits 0 if every file is as `export` wrote it, 1 if not."
)]
pub struct Verify {
    /// A directory or a .tar.gz made by `export`
    pub bundle: PathBuf,
    /// A JSON object
    #[arg(long)]
    pub json: bool,
}

/// `replay`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  allclear replay\n  allclear replay evidence.tar.gz --speed 20\n  allclear replay 7f3a --plain --speed 1000"
)]
pub struct Replay {
    /// A run or a bundle
    #[arg(default_value = "latest")]
    pub run: String,
    /// That many times as fast
    #[arg(long, default_value_t = 1.0, value_name = "FACTOR")]
    pub speed: f64,
    /// How it is looked at.
    #[command(flatten)]
    pub looking: Looking,
}

/// `judge`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  allclear judge latest\n  allclear judge --series windows.jsonl\n  my-load-test | allclear judge --series -\n\nA case is one JSON object, on one line:\n  {\"kind\":\"gauge\",\"baseline\":[…],\"injection\":[…],\n   \"expect\":{\"dir\":\"stays\",\"within\":0.1,\"unit\":\"rel\"}}"
)]
pub struct Judge {
    /// A run or a bundle
    #[arg(default_value = "latest", conflicts_with = "series")]
    pub run: String,
    /// Windows from anywhere, one JSON case a line; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub series: Option<PathBuf>,
    /// One JSON object a row
    #[arg(long)]
    pub json: bool,
}

/// `range`
#[derive(Debug, Args)]
pub struct Range {
    /// What to do with it.
    #[command(subcommand)]
    pub action: RangeAction,
}

/// What to do with the range.
#[derive(Debug, Subcommand)]
pub enum RangeAction {
    /// Start it; it runs until Ctrl-C
    Up(RangeUp),
    /// Say how it is
    Status(RangeStatus),
}

/// `range up`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  allclear range up\n  allclear range up --weakness no-coupon-fallback\n  allclear range up --free-ports --json\n\nWeaknesses: no-coupon-fallback, breaker-stays-open, flags-stay, retry-storm,\n  cart-enrich, negative-stock-accepted, flow-control-connects, header-lost,\n  slow-drain\n\nThe environment `range` is built in and looks at the fixed ports:\n  allclear run coupon-slow --env range"
)]
pub struct RangeUp {
    /// Make the shop weak
    #[arg(long, value_name = "NAME")]
    pub weakness: Vec<Weakness>,
    /// Where a real Redis is, for the degrade flags
    #[arg(long, value_name = "URL")]
    pub redis: Option<String>,
    /// The first port of the fixed layout
    #[arg(long, default_value_t = crate::range::BASE_PORT, conflicts_with = "free_ports")]
    pub port: u16,
    /// Free ports, chosen by the system and printed
    #[arg(long)]
    pub free_ports: bool,
    /// Print the endpoints as JSON, on one line, when it is ready
    #[arg(long)]
    pub json: bool,
    /// End when standard input ends and this run is over
    #[arg(long, hide = true, value_name = "DIR")]
    pub while_run_in: Option<PathBuf>,
}

/// `range status`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  allclear range status --json | jq .rules")]
pub struct RangeStatus {
    /// The first port of the fixed layout
    #[arg(long, default_value_t = crate::range::BASE_PORT)]
    pub port: u16,
    /// A JSON object
    #[arg(long)]
    pub json: bool,
}

/// `schema`
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  allclear schema drill > schema/drill.json\n\nEditors use it with this first line in a file:\n  # yaml-language-server: $schema=schema/drill.json"
)]
pub struct Schema {
    /// Which file
    #[arg(value_name = "drill|dashboard|config", hide_possible_values = true)]
    pub file: SchemaFile,
}

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaFile {
    /// A drill
    Drill,
    /// A dashboard
    Dashboard,
    /// allclear.yaml
    Config,
}

/// `completions`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  allclear completions bash | sudo tee /etc/bash_completion.d/allclear\n  allclear completions fish > ~/.config/fish/completions/allclear.fish"
)]
pub struct Completions {
    /// Which shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// `keeper`
#[derive(Debug, Args)]
pub struct Keeper {
    /// The run's directory
    #[arg(long)]
    pub run_dir: PathBuf,
    /// Take the run over and put everything back
    #[arg(long)]
    pub recover: bool,
}

/// `deadman`
#[derive(Debug, Args)]
pub struct Deadman {
    /// The run's directory
    #[arg(long)]
    pub run_dir: PathBuf,
    /// The process that is watched: the keeper that started this one
    #[arg(long)]
    pub keeper: u32,
}
