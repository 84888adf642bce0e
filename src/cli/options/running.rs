//! Options of the commands that run a drill, look at it or put it back.

use std::path::PathBuf;

use clap::Args;

use crate::{model::time::Span, range::Weakness};

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
    pub baseline: Option<Span>,
}

fn parse_span(text: &str) -> Result<Span, String> {
    Span::parse(text).map_err(|e| e.to_string())
}

/// `rehearse`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  allclear rehearse coupon-slow --env staging\n  allclear rehearse coupon-slow --env staging --baseline 1m --plain\n\nWatches, waits out the steps without injecting anything, then carries out every step of the playbook for real: the\ntargets leave the gateway and come back in stages, commands run. A wrong name, a missing right: found today."
)]
pub struct Rehearse {
    /// As for `run`.
    #[command(flatten)]
    pub run: Run,
}

/// `restore`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  allclear restore coupon-slow --env production            shows what it would do, asks once\n  allclear restore coupon-slow --env production --dry-run  shows it and leaves\n  allclear restore coupon-slow --env production --yes      does it at once\n\nThere was no drill, so there is no snapshot: a healthy state is put back. Servers ready at the weight of their\nconfiguration, breakers closed, flags deleted, queues let go at the playbook's rate. What someone decided by hand (a\nbreaker forced open, a server in maintenance) stays. It leaves a run like any other.\n\nUnless you answer yes, nothing is changed and the exit code is 5 (130 after Ctrl-C)."
)]
pub struct Restore {
    /// A drill file or name: its playbook is carried out
    pub drill: String,
    /// The environment [default: the configuration's, or `range`]
    #[arg(long, value_name = "NAME")]
    pub env: Option<String>,
    /// How it is looked at.
    #[command(flatten)]
    pub looking: Looking,
    /// Do not ask
    #[arg(long, short, conflicts_with = "dry_run")]
    pub yes: bool,
    /// Only show what would be done
    #[arg(long)]
    pub dry_run: bool,
}

/// `attach`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  allclear attach                       the newest run\n  allclear attach 7f3a --read-only      no key changes anything\n  allclear attach --plain | tee log     lines instead of screens\n\nq and a closed terminal leave, and the run goes on. r and Ctrl-C put everything back.\nExits as the run does. After q 0; 6 if a signal, a closed terminal or a closed pipe ended the looking."
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
    after_help = "Examples:\n  allclear recover          every run that has left something\n  allclear recover 7f3a     one run, by the beginning of its id\n\nNeeds no configuration and no environment variable: the run's own record has\nall that is needed. Exits 0 when everything is put back or nothing was owed, 4 when something may remain, or when it is interrupted before it has seen the end: the keeper goes on all the same."
)]
pub struct Recover {
    /// The run [default: every run that has left something]
    pub run: Option<String>,
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
