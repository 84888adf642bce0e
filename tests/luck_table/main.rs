//! One table: every recovery driver in every bad luck, on real parts, by the whole engine.
//!
//! In each cell a playbook has a sick row, which is in bad luck, and a healthy one. RECOVERED is said of nothing that the
//! part's own tool does not show exactly as before; no value is ever seen that is neither the drill's nor the one of before
//! nor one that the docs name between them; the healthy row is put back; where something is left, the command by hand puts
//! it right, and a recovery after the luck says RECOVERED.
//!
//! `ROWS=redis,kafka LUCKS=down,garbage cargo test --test luck_table` tries those alone, by the beginnings of their names.
#![allow(missing_docs)]
#![allow(clippy::print_stdout, reason = "a table of minutes says how far it is")]

mod cell;
mod healthy;
mod http;
mod kafka_wire;
mod keeper;
mod luck;
mod part;
#[path = "../parts_support/mod.rs"]
mod parts_support;
mod plan;
mod proxy;
mod row;
mod rows;
mod table;

use std::panic::AssertUnwindSafe;

use futures::{FutureExt, future::LocalBoxFuture};
use tokio::task::LocalSet;

use self::{
    cell::Case,
    healthy::Healthy,
    luck::{Luck, Moment},
    row::Row,
    rows::{
        haproxy::Haproxy,
        kafka::Kafka,
        pool::Pool,
        program::Program,
        queue::Queue,
        redis_cluster::RedisCluster,
        redis_one::RedisOne,
        request::Request,
        resilience4j::{Resilience4j, Via},
        sentinel::Sentinel,
    },
    table::{Got, Line, head},
};

/// Whether a variable that lists beginnings of names lets this one be tried.
fn is_asked_for(variable: &str, name: &str) -> bool {
    match std::env::var(variable) {
        Ok(beginnings) => beginnings.split(',').any(|b| name.starts_with(b)),
        Err(_) => true,
    }
}

/// All cells of one driver, one after another.
async fn line<R: Row>(name: &'static str, start: impl Future<Output = R>) -> Option<Line> {
    if !is_asked_for("ROWS", name) {
        return None;
    }
    let began = tokio::time::Instant::now();
    let started = async { tokio::join!(start, Healthy::start()) };
    let Ok((row, healthy)) = AssertUnwindSafe(started).catch_unwind().await else {
        let failed =
            Luck::ALL.map(|_| Got::Ended(vec![(Moment::Before, Err("its part does not start".into()))]));
        return Some(Line {
            name,
            cells: failed.into(),
        });
    };
    println!("{name}: its part is up after {:.0?}", began.elapsed());
    let mut cells = Vec::new();
    for luck in Luck::ALL {
        if let Some(why) = row.cannot(luck) {
            cells.push(Got::Cannot(why));
            continue;
        }
        if !is_asked_for("LUCKS", &luck.to_string()) {
            cells.push(Got::NotTried);
            continue;
        }
        let mut ended = Vec::new();
        for moment in luck.moments().iter().copied() {
            let case = Case {
                row: &row,
                healthy: &healthy,
                luck,
                moment,
            };
            let began = tokio::time::Instant::now();
            let panicked = |_| Err("it panicked: see above".to_owned());
            let got = AssertUnwindSafe(case.carried_out())
                .catch_unwind()
                .await
                .unwrap_or_else(panicked);
            let shown = got.as_ref().map_err(|why| why.lines().next().unwrap_or_default());
            println!(
                "{name} × {luck} ({moment:?}): {shown:?} after {:.0?}",
                began.elapsed()
            );
            case.is_over().await;
            ended.push((moment, got));
        }
        cells.push(Got::Ended(ended));
    }
    Some(Line { name, cells })
}

#[tokio::test]
async fn every_driver_in_every_bad_luck_tells_the_truth() {
    let rows: Vec<LocalBoxFuture<'_, Option<Line>>> = vec![
        line("HAProxy", Haproxy::start()).boxed_local(),
        line("Redis flags, one server", RedisOne::start()).boxed_local(),
        line("Redis flags, cluster", RedisCluster::start()).boxed_local(),
        line("Kafka quota", Kafka::start()).boxed_local(),
        line("retry queue over HTTP", Queue::start()).boxed_local(),
        line("Resilience4j, via app", Resilience4j::start(Via::App)).boxed_local(),
        line("Resilience4j, via close", Resilience4j::start(Via::Close)).boxed_local(),
        line("Sentinel rules", Sentinel::start()).boxed_local(),
        line("pool, restart by program", Pool::start()).boxed_local(),
        line("step of one's own: request", Request::start()).boxed_local(),
        line("step of one's own: program", Program::start()).boxed_local(),
    ];
    // Each in a task of its own, so that none waits for the turns of the others.
    let together = LocalSet::new();
    let rows: Vec<_> = rows.into_iter().map(|row| together.spawn_local(row)).collect();
    let lines = together.run_until(futures::future::join_all(rows)).await;
    let lines: Vec<Line> = lines
        .into_iter()
        .filter_map(|line| line.expect("a row never panics"))
        .collect();
    println!("\n{}", head());
    lines.iter().for_each(|line| println!("{}", line.shown()));
    let failures: Vec<String> = lines.iter().flat_map(Line::failures).collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n\n"));
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/drivers.md");
    let docs = std::fs::read_to_string(docs).expect("the drivers' page");
    for line in lines.iter().filter(|line| line.is_whole()) {
        assert!(
            docs.contains(&line.shown()),
            "docs/drivers.md has another line for it:\n{}",
            line.shown()
        );
    }
}
