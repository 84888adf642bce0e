//! Options of the commands that only read: drill files, runs and their evidence.

use std::path::PathBuf;

use clap::Args;

use super::Looking;

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
