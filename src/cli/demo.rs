//! `demo`: the range and a drill on it, in one command.

use std::{
    io::{BufRead, BufReader},
    process::{Child, ChildStdin, Command, Stdio},
};

use super::{
    context::Context,
    error::Failure,
    options::{Common, Demo},
    range_environment,
    start::{self, Wanted},
    watch::{self, Look},
};
use crate::{
    model::{
        drill::{Action, Drill},
        exit::Exit,
        plan::Purpose,
        time::Span,
    },
    range::Endpoints,
};

/// The drill that is shown.
const DRILL: &str = "coupon-slow";

pub fn demo(common: &Common, args: &Demo) -> Result<Exit, Failure> {
    let context = Context::open(common)?;
    let mut loaded = context.drill(DRILL)?;
    shorten(&mut loaded.drill, args.quick);
    let mut look = Look::new(&context, common, args.looking.plain);
    look.owns = look.plain;
    look.coach = true;
    // Kept until the end: when this end of the pipe goes, the shop closes after the run.
    let shop = Shop::open(args, context.state()?.path())?;
    let environment = range_environment::environment(&shop.endpoints)?;
    let wanted = Wanted {
        purpose: Purpose::Demo,
        attended: !look.plain,
    };
    let started = start::start(&context, loaded, environment, wanted)?;
    let exit = watch::to_the_end(&context, &started, look, false);
    drop(shop);
    exit
}

/// The demo's times: windows of a second, so that a minute of baseline is enough to judge by.
fn shorten(drill: &mut Drill, quick: bool) {
    let (baseline, injection, hold) = if quick { (24, 15, 3) } else { (60, 45, 10) };
    drill.window = Span::seconds(1);
    drill.settle = None;
    if quick {
        // There is no time to watch the shop without the fault.
        drill.steps.retain(|step| !matches!(step.action, Action::Observe));
    }
    drill.baseline = Span::seconds(baseline);
    for step in &mut drill.steps {
        if !matches!(step.action, Action::Observe) {
            step.duration = Span::seconds(injection);
            step.settle = None;
        }
    }
    drill.guard.every = Span::seconds(1);
    for hypothesis in &mut drill.guard.steady_state {
        hypothesis.window = Span::seconds(if quick { 5 } else { 10 });
    }
    let recovery = &mut drill.recovery;
    recovery.hold = Span::seconds(hold);
    recovery.verify_within = Span::seconds(60);
    if let Some(crate::model::playbook::Gateway::Haproxy { hold: stage, .. }) = &mut recovery.gateway {
        *stage = Span::seconds(if quick { 1 } else { 3 });
    }
    for pool in &mut recovery.pools {
        pool.wait = Span::seconds(if quick { 5 } else { 15 });
    }
}

/// The range in a process of its own: it outlives the demo's console for as long as a run is kept.
struct Shop {
    endpoints: Endpoints,
    _open: ChildStdin,
    _process: Child,
}

impl Shop {
    fn open(args: &Demo, state: &std::path::Path) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["range", "up", "--free-ports", "--json", "--while-run-in"])
            .arg(std::path::absolute(state)?);
        for weakness in &args.weakness {
            command.args(["--weakness", weakness.name()]);
        }
        if let Some(redis) = &args.redis {
            command.args(["--redis", redis]);
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        let mut process = command.spawn()?;
        let (Some(open), Some(said)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(Failure::usage(
                "the range was started without pipes, which is a defect: start it apart (`allclear range up`) and type `allclear run coupon-slow`",
            ));
        };
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line)?;
        let endpoints = serde_json::from_str(&line)
            .map_err(|e| Failure::Usage(format!("the range did not start ({e}); what it says itself stands above, and `allclear range up` tries it alone")))?;
        Ok(Self {
            endpoints,
            _open: open,
            _process: process,
        })
    }
}
