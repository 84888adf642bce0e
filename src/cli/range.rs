//! `range`: the built-in practice system.

use std::{
    collections::BTreeSet,
    io::{self, IsTerminal},
    path::Path,
    time::Duration,
};

use tokio::{
    io::AsyncReadExt,
    signal::unix::{SignalKind, signal},
};

use super::{
    error::Failure,
    options::{Common, Range as Args, RangeAction, RangeStatus, RangeUp},
    print,
};
use crate::{
    journal::{KeeperLock, RunDir},
    model::exit::Exit,
    range::{Options, Ports, Range},
};

/// How long a range that was left alone waits for the run on it: no drill that it serves is longer.
const LONGEST_RUN: Duration = Duration::from_secs(3600);

/// Looks in a row that find no keeper: between a keeper that died and the one that takes over there is none.
const ALONE: u32 = 6;

pub fn range(_common: &Common, args: &Args) -> Result<Exit, Failure> {
    match &args.action {
        RangeAction::Up(up) => self::up(up),
        RangeAction::Status(status) => self::status(status),
    }
}

fn up(args: &RangeUp) -> Result<Exit, Failure> {
    let options = Options {
        ports: if args.free_ports {
            Ports::Ephemeral
        } else {
            Ports::From(args.port)
        },
        weaknesses: args.weakness.iter().copied().collect::<BTreeSet<_>>(),
        redis: args.redis.clone(),
        ..Options::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let range = Range::start(options).await.map_err(Failure::usage)?;
        say(&range, args)?;
        until_told(args.while_run_in.as_deref()).await?;
        range.shutdown().await;
        Ok(Exit::Held)
    })
}

fn say(range: &Range, args: &RangeUp) -> Result<(), Failure> {
    let endpoints = range.endpoints();
    if args.json {
        print::json(endpoints)?;
        return print::flush();
    }
    let weak: Vec<_> = args.weakness.iter().map(|w| w.name()).collect();
    let weak = match weak.is_empty() {
        true => String::new(),
        false => format!(", weak: {}", weak.join(", ")),
    };
    print::line(format_args!("the shop is open{weak}"))?;
    print::line(format_args!(
        "  orders and carts   http://{}",
        endpoints.gateway_http
    ))?;
    print::line(format_args!("  HAProxy runtime    {}", endpoints.gateway_runtime))?;
    print::line(format_args!("  flags              {}", endpoints.redis))?;
    for one in &endpoints.instances {
        print::line(format_args!(
            "  {:<18} http://{}/metrics",
            one.instance, one.address
        ))?;
    }
    print::line("now, in another terminal: allclear run coupon-slow   (Ctrl-C closes the shop)")?;
    print::flush()
}

async fn until_told(run: Option<&Path>) -> Result<(), Failure> {
    let mut term = signal(SignalKind::terminate())?;
    let mut int = signal(SignalKind::interrupt())?;
    let mut hup = signal(SignalKind::hangup())?;
    match run {
        None => tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        },
        // The demo's terminal is not ours: its keys and its end are for the console.
        Some(run) => tokio::select! {
            _ = term.recv() => {}
            () = left_alone(run) => {}
            () = async { loop { tokio::select! { _ = hup.recv() => {}, _ = int.recv() => {} } } } => {}
        },
    }
    Ok(())
}

/// Resolves when the demo that started us is gone and no run on us is kept any more.
async fn left_alone(runs: &Path) {
    let mut stdin = tokio::io::stdin();
    let mut rest = [0u8; 64];
    while !matches!(stdin.read(&mut rest).await, Ok(0) | Err(_)) {}
    let deadline = tokio::time::Instant::now() + LONGEST_RUN;
    let mut alone = 0;
    while tokio::time::Instant::now() < deadline && alone < ALONE {
        alone = if any_kept(runs) { 0 } else { alone + 1 };
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

fn any_kept(runs: &Path) -> bool {
    let entries = std::fs::read_dir(runs.join("runs"));
    entries
        .into_iter()
        .flatten()
        .flatten()
        .any(|e| matches!(KeeperLock::holder(&RunDir::at(e.path())), Ok(Some(_))))
}

fn status(args: &RangeStatus) -> Result<Exit, Failure> {
    let url = format!("http://127.0.0.1:{}/range/status", args.port);
    let _ = rustls::crypto::ring::default_provider().install_default();
    let answer: Result<serde_json::Value, reqwest::Error> = super::runtime()?.block_on(async {
        let client = reqwest::Client::builder()
            .timeout(Duration::from_secs(3))
            .no_proxy()
            .build()?;
        client.get(&url).send().await?.error_for_status()?.json().await
    });
    let status = answer.map_err(|_| {
        Failure::Usage(format!(
            "no range answers on port {}: `allclear range up` starts one",
            args.port
        ))
    })?;
    let pretty = !args.json && io::stdout().is_terminal();
    let text = if pretty {
        serde_json::to_string_pretty(&status)
    } else {
        serde_json::to_string(&status)
    };
    print::line(text.map_err(Failure::usage)?)?;
    Ok(Exit::Held)
}
