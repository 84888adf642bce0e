//! One table: every recovery driver in every bad luck, on real parts, by the whole engine.
//!
//! In each cell a playbook has a sick row, which is in bad luck, and a healthy one. RECOVERED is said of nothing that the
//! part's own tool does not show exactly as before; no value is ever seen that is neither the drill's nor the one of before
//! nor one that the docs name between them; the healthy row is put back; where something is left, the command by hand puts
//! it right, and a recovery after the luck says RECOVERED.
//!
//! `ROWS=redis,kafka LUCKS=garbage cargo test --test luck_table -- --include-ignored` tries those alone, by the beginnings of
//! their names.
#![allow(missing_docs)]
#![allow(clippy::print_stdout, reason = "a table of minutes says how far it is")]

mod cell;
mod cells;
mod healthy;
mod http;
mod kafka_consumer;
mod kafka_wire;
mod keeper;
mod kube;
#[path = "../kube_parts/part.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "as its own tests have it")]
mod kube_part;
mod luck;
mod nature;
mod part;
#[path = "../parts_support/mod.rs"]
mod parts_support;
mod plan;
mod proxy;
#[path = "../rocketmq_parts/part.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "as its own tests have it")]
mod rocketmq_part;
mod row;
mod rows;
mod table;
#[path = "../waiting/mod.rs"]
mod waiting;

use std::{any::Any, panic::AssertUnwindSafe, rc::Rc};

use futures::{
    FutureExt,
    future::{LocalBoxFuture, join_all},
};
use tokio::{
    sync::{Mutex, Semaphore, watch},
    task::{LocalSet, spawn_local},
    time::Instant,
};

use self::{
    cell::Case,
    cells::Cells,
    healthy::Healthy,
    luck::Luck,
    row::Row,
    rows::{
        haproxy::Haproxy,
        kafka::Kafka,
        label::Label,
        pod::Pod,
        pool::Pool,
        program::Program,
        queue::Queue,
        redis_cluster::RedisCluster,
        redis_one::RedisOne,
        redis_sentinel::RedisSentinel,
        request::Request,
        resilience4j::{Resilience4j, Via},
        rocketmq::Rocketmq,
        route::Route,
        scale::Scale,
        sentinel::Sentinel,
    },
    table::{Line, head},
};

/// So many cells are tried at once. Most of them wait most of their time.
static CELLS: Semaphore = Semaphore::const_new(26);

/// The two tests take turns: two cores carry the parts of one.
static TURN: Mutex<()> = Mutex::const_new(());

/// Held by whoever still starts a part. A cell beside parts that start is one on a machine that has no time for it.
type Starting = watch::Sender<()>;

/// Whether a variable that lists beginnings of names lets this one be tried.
fn is_asked_for(variable: &str, name: &str) -> bool {
    match std::env::var(variable) {
        Ok(beginnings) => beginnings.split(',').any(|b| name.starts_with(b)),
        Err(_) => true,
    }
}

/// All cells of one driver, on so many stands side by side: each has a part of its own.
async fn line<R, F>(
    name: &'static str,
    lucks: &'static [Luck],
    stands: usize,
    start: impl Fn() -> F + Copy + 'static,
    starting: Starting,
) -> Option<LineAndStands>
where
    R: Row + 'static,
    F: Future<Output = R> + 'static,
{
    if !is_asked_for("ROWS", name) {
        return None;
    }
    let cells = Rc::new(Cells::that(|luck| {
        lucks.contains(&luck) && is_asked_for("LUCKS", &luck.to_string())
    }));
    if cells.is_empty() {
        return None;
    }
    let stand = |_| spawn_local(stand(name, start, cells.clone(), starting.clone()));
    let stands: Vec<_> = (0..stands).map(stand).collect();
    drop(starting);
    let stands = join_all(stands).await.into_iter();
    let stands = stands.map(|ended| ended.expect("a stand never panics"));
    let stands = stands.collect();
    Some((cells.line(name), stands))
}

/// A part that has done its work. To take it down holds up whoever is still at work: it stands until all have ended.
type Stand = Option<Box<dyn Any>>;
type LineAndStands = (Line, Vec<Stand>);

/// Tries the cells that no other stand has taken.
async fn stand<R: Row + 'static, F: Future<Output = R>>(
    name: &'static str,
    start: impl Fn() -> F,
    cells: Rc<Cells>,
    starting: Starting,
) -> Stand {
    let mut others = starting.subscribe();
    let began = Instant::now();
    let started = async { tokio::join!(start(), Healthy::start()) };
    let Ok((row, healthy)) = AssertUnwindSafe(started).catch_unwind().await else {
        cells.no_stand("its part does not start");
        return None;
    };
    println!("{name}: a part is up after {:.0?}", began.elapsed());
    drop(starting);
    while others.changed().await.is_ok() {}
    loop {
        let _turn = CELLS.acquire().await.expect("never closed");
        let Some((luck, moment)) = cells.next() else {
            return Some(Box::new((row, healthy)));
        };
        if let Some(why) = row.cannot(luck) {
            cells.cannot(luck, why);
            continue;
        }
        let case = Case {
            row: &row,
            healthy: &healthy,
            luck,
            moment,
        };
        let began = Instant::now();
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
        cells.ended(luck, moment, got);
    }
}

/// Those that are tried each time: a part that is away, one that refuses, and a recovery that dies.
const EACH_TIME: &[Luck] = &[Luck::Down, Luck::Refuses, Luck::Killed];
const OTHERS: &[Luck] = &[
    Luck::Slow,
    Luck::Garbage,
    Luck::Cut,
    Luck::Restarts,
    Luck::Topology,
    Luck::Twice,
    Luck::KilledInTurn,
];

#[test]
fn every_driver_that_is_down_refuses_or_is_killed_tells_the_truth() {
    on_a_stack_like_the_keepers(|| tell_the_truth(EACH_TIME));
}

#[test]
#[ignore = "minutes: scripts/test all"]
fn every_driver_in_every_other_bad_luck_tells_the_truth() {
    on_a_stack_like_the_keepers(|| tell_the_truth(OTHERS));
}

/// A test's own stack is a quarter of the keeper's, and two recoveries at once are deeper than that.
fn on_a_stack_like_the_keepers<F: Future<Output = ()>>(test: impl FnOnce() -> F + Send + 'static) {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(test());
    };
    let thread = std::thread::Builder::new().stack_size(8 << 20);
    let ended = thread.spawn(run).expect("a thread").join();
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

async fn tell_the_truth(lucks: &'static [Luck]) {
    let _turn = TURN.lock().await;
    let (starting, _) = watch::channel(());
    let up = || starting.clone();
    // A pool is judged by samples of every second, which a busy machine has not got, nor a control plane beside the other parts; a
    // backlog takes its time, and so does each switch of RocketMQ that nobody has answered: all of their lucks are among the others.
    let not_each_time = if lucks == EACH_TIME { &[] } else { &Luck::ALL[..] };
    let rows: Vec<LocalBoxFuture<'_, Option<LineAndStands>>> = vec![
        line("HAProxy", lucks, 2, Haproxy::start, up()).boxed_local(),
        line("Kubernetes label", not_each_time, 2, Label::start, up()).boxed_local(),
        line("HTTPRoute weight", not_each_time, 2, Route::start, up()).boxed_local(),
        line("Redis flags, one server", lucks, 2, RedisOne::start, up()).boxed_local(),
        line(
            "Redis flags, behind Sentinel",
            lucks,
            2,
            RedisSentinel::start,
            up(),
        )
        .boxed_local(),
        line("Redis flags, cluster", lucks, 3, RedisCluster::start, up()).boxed_local(),
        line("retry queue over HTTP", lucks, 4, Queue::start, up()).boxed_local(),
        line(
            "Resilience4j, via app",
            lucks,
            2,
            || Resilience4j::start(Via::App),
            up(),
        )
        .boxed_local(),
        line(
            "Resilience4j, via close",
            lucks,
            1,
            || Resilience4j::start(Via::Close),
            up(),
        )
        .boxed_local(),
        line("Sentinel rules", lucks, 1, Sentinel::start, up()).boxed_local(),
        line("Kafka quota", lucks, 3, Kafka::start, up()).boxed_local(),
        line(
            "Kafka quota with a backlog",
            not_each_time,
            3,
            Kafka::with_a_backlog,
            up(),
        )
        .boxed_local(),
        line("Kubernetes scale", not_each_time, 3, Scale::start, up()).boxed_local(),
        line("RocketMQ", not_each_time, 3, Rocketmq::start, up()).boxed_local(),
        line("pool, restart by program", not_each_time, 2, Pool::start, up()).boxed_local(),
        line("pool, restart of a pod", not_each_time, 2, Pod::start, up()).boxed_local(),
        line("step of one's own: request", lucks, 1, Request::start, up()).boxed_local(),
        line("step of one's own: program", lucks, 1, Program::start, up()).boxed_local(),
    ];
    drop(starting);
    // Each in a task of its own, so that none waits for the turns of the others.
    let together = LocalSet::new();
    let rows: Vec<_> = rows.into_iter().map(|row| together.spawn_local(row)).collect();
    let lines = together.run_until(join_all(rows)).await;
    let ended = lines.into_iter();
    let ended = ended.filter_map(|line| line.expect("a row never panics"));
    let (lines, _stands): (Vec<Line>, Vec<_>) = ended.unzip();
    println!("\n{}", head());
    lines.iter().for_each(|line| println!("{}", line.shown()));
    let failures: Vec<String> = lines.iter().flat_map(Line::failures).collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n\n"));
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/drivers.md");
    let docs = std::fs::read_to_string(docs).expect("the drivers' page");
    let table = || docs.lines().skip_while(|l| !l.starts_with("| driver |"));
    for line in &lines {
        let written = table().find(|l| l.starts_with(&format!("| {} |", line.name)));
        let differs = line.differs(written.unwrap_or_default());
        assert!(
            differs.is_empty(),
            "docs/drivers.md has it otherwise: {differs:#?}"
        );
    }
}
