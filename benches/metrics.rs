//! 500 metrics each second: what that costs in CPU and memory.
//!
//! 1. Ten hours of rounds through the store: 500 metrics on 8 instances, a window of each every ten seconds and twenty
//!    guard readings every ten seconds.
//! 2. A minute of real scrapes: 8 instances with all these series on their pages, in a process of their own.
//!
//! The bound: under 5 % of a core, and under 64 MiB after ten hours. `ALLCLEAR_BENCH_HOURS` shortens the first part.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    process::{Command, ExitCode, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use allclear::{
    metrics::{Answer, Fetch, RawSeries, SeriesId, Source, Store, TargetId, Wanted},
    model::{
        dashboard::{Agg, MatchOp, Matcher, Read, Selector},
        environment::{Environment, MetricsSource, Stage},
        ids::{EnvironmentName, InstanceName, MetricId, ServiceName},
        sample::Query,
        secret::Secrets,
        time::Span,
    },
};
use axum::{Router, routing::get};

#[path = "stand/bound.rs"]
mod bound;

const INSTANCES: usize = 8;
const EDGES: [&str; 12] = [
    "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "+Inf",
];
const WIDTH: Span = Span::seconds(10);
const GUARD: Span = Span::seconds(60);
/// In percent of a core; in MiB.
const CPU: f64 = 5.0;
const MEMORY: f64 = 64.0;

/// 250 rates, 100 ratios, 100 gauges, 50 quantiles.
fn metrics() -> Vec<Wanted> {
    (0..500).map(|i| wanted(&format!("m{i}"), i)).collect()
}

fn wanted(name: &str, i: usize) -> Wanted {
    let selector = |suffix: &str, matchers: Vec<Matcher>| Selector {
        name: format!("{name}{suffix}"),
        matchers,
    };
    let good = Matcher {
        label: "code".into(),
        op: MatchOp::Matches,
        value: "2..".into(),
    };
    let read = match i {
        0..250 => Read::Rate {
            selector: selector("", vec![]),
        },
        250..350 => Read::Ratio {
            good: selector("", vec![good]),
            total: selector("", vec![]),
        },
        350..450 => Read::Gauge {
            selector: selector("", vec![]),
            agg: Agg::Sum,
        },
        _ => Read::Quantile {
            histogram: selector("_bucket", vec![]),
            q: 0.99,
        },
    };
    Wanted {
        query: Query {
            metric: MetricId::new(name).expect("a name"),
            scope: None,
            instance: None,
        },
        read,
    }
}

/// The labels that tell the series of one metric on one instance apart.
fn label_sets(read: &Read, part: usize) -> Vec<(&'static str, &'static str)> {
    match read {
        Read::Ratio { .. } if part == 0 => vec![("code", "200")],
        Read::Ratio { .. } => vec![("code", "200"), ("code", "500")],
        Read::Quantile { .. } => EDGES.iter().map(|le| ("le", *le)).collect(),
        _ => vec![("", "")],
    }
}

fn answers(wanted: &[Wanted], second: i64) -> Vec<Answer> {
    let mut out = Vec::new();
    for w in wanted {
        let parts = if matches!(w.read, Read::Ratio { .. }) {
            2
        } else {
            1
        };
        for part in 0..parts {
            let mut series = Vec::new();
            for instance in 0..INSTANCES {
                for (nth, (label, value)) in label_sets(&w.read, part).into_iter().enumerate() {
                    series.push(one(
                        w,
                        instance,
                        label,
                        value,
                        (nth + 1) as f64 * second as f64,
                        second,
                    ));
                }
            }
            out.push(Answer {
                query: w.query.clone(),
                part,
                since: i64::MIN,
                summed: false,
                partial: false,
                series: Arc::new(series),
            });
        }
    }
    out
}

fn one(w: &Wanted, instance: usize, label: &str, value: &str, count: f64, second: i64) -> RawSeries {
    let in_id = if label == "le" { "" } else { value };
    let name = INSTANCE_NAMES[instance];
    let labels = [("m", w.query.metric.as_str()), ("i", name), ("l", in_id)];
    RawSeries {
        id: SeriesId::of(labels.into_iter()),
        target: Some(TargetId::of([("i", name)].into_iter())),
        le: (label == "le").then(|| value.parse().unwrap_or(f64::INFINITY)),
        samples: vec![(second * 1000, count)],
    }
}

const INSTANCE_NAMES: [&str; INSTANCES] = ["i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7"];

fn store_for_hours(hours: f64) {
    let wanted = metrics();
    let mut store = Store::new(&wanted, GUARD);
    let (rss_before, cpu_before) = (rss_mib(), cpu_seconds());
    let rounds = (hours * 3600.0) as i64;
    let (mut making, mut usable, mut given) = (0.0, 0u64, 0u64);
    for second in 1..=rounds {
        let before = cpu_seconds();
        let fetch = Fetch {
            source_now: second * 1000,
            interval: Some(Span::seconds(1)),
            raw: answers(&wanted, second),
            up: INSTANCE_NAMES
                .iter()
                .map(|name| (TargetId::of([("i", *name)].into_iter()), vec![second * 1000]))
                .collect(),
            ..Fetch::default()
        };
        making += cpu_seconds() - before;
        store.add(fetch);
        if second % 10 == 0 && second > 20 {
            for w in &wanted {
                let window = store.window(&w.query, second * 1000 - 10_000, WIDTH, 0);
                given += 1;
                usable += u64::from(window.is_some_and(|w| w.numbers.is_ok()));
            }
            for w in wanted.iter().step_by(25) {
                assert!(store.reading(&w.query, GUARD).value.is_ok(), "{}", w.query.metric);
            }
        }
    }
    assert_eq!(usable, given, "every window has numbers");
    let cpu = cpu_seconds() - cpu_before;
    println!("store: {hours} h, {rounds} rounds, {given} windows");
    println!(
        "  CPU    {:.2} % of a core, of which {:.2} % made the samples (bound of the rest {CPU} %: {})",
        share(cpu, rounds),
        share(making, rounds),
        bound::word(share(cpu - making, rounds) < CPU)
    );
    println!(
        "  memory {:.1} MiB resident, {:.1} MiB more than before (bound {MEMORY} MiB: {})",
        rss_mib(),
        rss_mib() - rss_before,
        bound::word(rss_mib() < MEMORY)
    );
}

fn share(cpu: f64, rounds: i64) -> f64 {
    100.0 * cpu / rounds as f64
}

fn page(second: u64) -> String {
    let mut out = String::new();
    for w in metrics() {
        let (part, suffix) = match w.read {
            Read::Ratio { .. } => (1, ""),
            Read::Quantile { .. } => (0, "_bucket"),
            _ => (0, ""),
        };
        for (nth, (label, value)) in label_sets(&w.read, part).into_iter().enumerate() {
            let labels = if label.is_empty() {
                String::new()
            } else {
                format!("{{{label}=\"{value}\"}}")
            };
            out += &format!(
                "{}{suffix}{labels} {}\n",
                w.query.metric,
                (nth as u64 + 1) * second
            );
        }
    }
    out
}

/// Serves the pages of all instances until standard input ends.
async fn serve() {
    for _ in 0..INSTANCES {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        println!("{}", listener.local_addr().expect("an address"));
        let second = AtomicU64::new(0);
        let second = Arc::new(second);
        let router = Router::new().route(
            "/metrics",
            get(move || {
                let second = Arc::clone(&second);
                async move { page(second.fetch_add(1, Ordering::SeqCst) + 1) }
            }),
        );
        tokio::spawn(async move { axum::serve(listener, router).await });
    }
    std::io::stdout().flush().expect("a pipe");
    let mut nothing = String::new();
    let wait = tokio::task::spawn_blocking(move || std::io::stdin().read_line(&mut nothing));
    let _ = wait.await;
}

async fn scrapes(rounds: i64) {
    let mut server = Command::new(std::env::current_exe().expect("our own path"))
        .arg("serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("ourselves");
    let lines = BufReader::new(server.stdout.take().expect("a pipe")).lines();
    let addresses: Vec<String> = lines.take(INSTANCES).map(|l| l.expect("an address")).collect();
    let mut source = Source::open(&environment(&addresses), &Secrets::none()).expect("a source");
    let wanted = metrics();
    let mut store = Store::new(&wanted, GUARD);
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    let cpu_before = cpu_seconds();
    for _ in 0..rounds {
        ticks.tick().await;
        store.add(source.fetch(&wanted).await);
    }
    let cpu = cpu_seconds() - cpu_before;
    for w in &wanted {
        assert!(store.reading(&w.query, GUARD).value.is_ok(), "{}", w.query.metric);
    }
    println!(
        "scrapes: {rounds} rounds of {INSTANCES} pages of {} KiB",
        page(9).len() / 1024
    );
    println!(
        "  CPU    {:.2} % of a core (bound {CPU} %: {})",
        share(cpu, rounds),
        bound::word(share(cpu, rounds) < CPU)
    );
    println!("  memory {:.1} MiB resident", rss_mib());
    drop(server.stdin.take());
    let _ = server.wait();
}

fn environment(addresses: &[String]) -> Environment {
    let instances: BTreeMap<InstanceName, String> = INSTANCE_NAMES
        .iter()
        .zip(addresses)
        .map(|(name, address)| (InstanceName::new(name).expect("a name"), address.clone()))
        .collect();
    Environment {
        name: EnvironmentName::new("bench").expect("a name"),
        stage: Stage::Practice,
        metrics: MetricsSource::Scrape {
            every: Span::seconds(1),
            path: "/metrics".into(),
        },
        services: BTreeMap::from([(ServiceName::new("order").expect("a name"), instances)]),
        redis: BTreeMap::new(),
        kafka: BTreeMap::new(),
        rocketmq: BTreeMap::new(),
        kubernetes: None,
        gateways: BTreeMap::new(),
        lease: None,
        notify: vec![],
    }
}

/// User and system time of this process so far.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn rss_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    let kib = line.and_then(|l| l.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(f64::NAN) / 1024.0
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    if std::env::args().any(|a| a == "serve") {
        runtime.block_on(serve());
        return ExitCode::SUCCESS;
    }
    let hours = std::env::var("ALLCLEAR_BENCH_HOURS")
        .ok()
        .and_then(|h| h.parse().ok())
        .unwrap_or(10.0);
    runtime.block_on(scrapes(60));
    store_for_hours(hours);
    bound::code()
}
