//! Step 5: pools drain before traffic returns. After the wait the trend decides: falling → wait on; flat or rising →
//! restart the instances that are stuck, once.

pub(super) mod before;
pub(super) mod left;
pub(super) mod restart;
mod rollout;
mod trend;

use std::convert::Infallible;

use tokio::time::Instant;

use crate::model::{
    ids::InstanceName,
    playbook::PoolDrain,
    recovery::{Certainty, Leftover, StepId, StepState},
    said::{Said, said},
    sample::{Gap, Query},
    time::Span,
};

use self::{
    restart::{Restarted, by_hand, is_ready, restart},
    trend::{Drift, FEWEST, Trend, drift},
};
use super::{Scene, StepEnd, elapsed, gateway, together};

/// A pool that keeps falling may take this many times its wait before it is called stuck all the same.
const FALLING_WAITS: u64 = 10;

/// Without enough samples to see a trend, this many times the wait is waited for them.
const BLIND_WAITS: u64 = 3;

/// Why it is not restarted (again): a keeper that was killed may have written its restart down and not made it.
fn asked_before() -> Said {
    said!(
        "still busy; its one restart in this run was asked for before, and may not have been made",
        "仍繁忙；本演练唯一一次重启此前已要求过，但可能未执行"
    )
}

/// One instance's part of a pool, or the whole of one that is not told apart by instance; its samples are those taken
/// after the step began.
struct Watch<'a> {
    pool: &'a PoolDrain,
    query: Query,
    /// Whom a restart would hit.
    who: Vec<&'a InstanceName>,
    /// Samples taken before this are not believed.
    since: Instant,
    newest: Option<i64>,
    samples: Vec<(f64, f64)>,
    begin: Instant,
}

impl<'a> Watch<'a> {
    fn new(pool: &'a PoolDrain, query: Query, who: Vec<&'a InstanceName>) -> Self {
        let now = Instant::now();
        Self {
            pool,
            query,
            who,
            since: now,
            newest: None,
            samples: Vec::new(),
            begin: now,
        }
    }

    /// Forgets what was seen: after a restart only new samples count.
    fn anew(&mut self) {
        self.since = Instant::now();
        self.samples.clear();
    }

    /// Takes a fresh sample in, if there is one.
    fn look(&mut self, scene: &Scene) {
        let Some(reading) = scene.bus.reading(&self.query) else {
            return;
        };
        let fresh = reading.age <= elapsed(self.since) && self.newest.is_none_or(|t| reading.sampled > t);
        if let (true, false, Ok(level)) = (fresh, reading.partial, reading.value) {
            self.newest = Some(reading.sampled);
            if level.0.is_finite() {
                let busy = self.pool.busy(level.0);
                self.samples.push((elapsed(self.begin).as_seconds(), busy));
            }
        }
    }

    fn busy(&self) -> Option<f64> {
        self.samples.last().map(|s| s.1)
    }

    /// Whether the last samples, so many of them, are idle.
    fn is_idle(&self, samples: usize) -> bool {
        let idle = self
            .samples
            .iter()
            .rev()
            .take_while(|s| s.1 <= self.pool.idle_at_most);
        idle.take(samples).count() == samples
    }

    fn drift(&self) -> Drift {
        let over = self.busy().unwrap_or(0.0) - self.pool.idle_at_most;
        let all = self.pool.wait * FALLING_WAITS;
        let left = Span(all.0.saturating_sub(elapsed(self.since).0)).max(self.pool.wait);
        drift(&self.samples, over.max(0.0) / left.as_seconds().max(0.001))
    }

    fn path(&self, first: Option<f64>) -> Said {
        let name = self.name();
        match (first, self.busy()) {
            (Some(first), Some(now)) if first != now => {
                said!(name; "{name} {first} → {now}", "{name} 占用 {first} → {now}")
            }
            (_, Some(now)) => said!(name; "{name} {now}", "{name} 占用 {now}"),
            _ => said!(name; "{name} --", "{name} 占用 --"),
        }
    }

    fn name(&self) -> Said {
        let metric = &self.pool.metric;
        match &self.query.instance {
            Some(instance) => said!("{metric} on {instance}", "{instance} 的 {metric}"),
            None => Said::as_it_is(metric.to_string()),
        }
    }
}

pub(super) fn whole(pool: &PoolDrain) -> Query {
    Query::new(&pool.metric, pool.scope.as_ref())
}

/// The queries that a pool is judged by: one for each target, if the metric has a series of any of them; else the whole.
fn queries<'a>(scene: &'a Scene, pool: &PoolDrain) -> Vec<(Query, Vec<&'a InstanceName>)> {
    let mut each = all_queries(scene, pool);
    let as_one = each.pop();
    let has_series = |query: &Query| {
        let reading = scene.bus.reading(query);
        reading.is_some_and(|r| !matches!(r.value, Err(Gap::NoSeries { .. } | Gap::Source(_))))
    };
    match each.iter().any(|(query, _)| has_series(query)) {
        true => each,
        false => as_one.into_iter().collect(),
    }
}

/// Every query by which a pool may be read: of each instance alone, and last of all together.
fn all_queries<'a>(scene: &'a Scene, pool: &PoolDrain) -> Vec<(Query, Vec<&'a InstanceName>)> {
    let targets = &scene.plan.drill.targets.instances;
    let each = targets.iter().map(|i| (whole(pool).of_instance(i), vec![i]));
    each.chain([(whole(pool), targets.iter().collect())]).collect()
}

/// Waits for all pools, all at the same time. What a load balancer brings back meanwhile is taken out again.
pub async fn pools(scene: &Scene) -> StepEnd {
    let pools = &scene.plan.drill.recovery.pools;
    if pools.is_empty() {
        return StepEnd::absent();
    }
    let drained = async {
        let ends = together(pools.iter().map(|p| pool_drained(scene, p))).await;
        ends.into_iter().fold(StepEnd::absent(), StepEnd::and)
    };
    let kept_out = async {
        let never: Infallible = gateway::keep_out(scene).await;
        match never {}
    };
    tokio::select! {
        end = drained => end,
        end = kept_out => end,
    }
}

async fn pool_drained(scene: &Scene, pool: &PoolDrain) -> StepEnd {
    // A keeper that has just taken over has read nothing yet, and cannot know what the metric tells apart.
    let begin = Instant::now();
    while scene.bus.reading(&whole(pool)).is_none() && elapsed(begin) < pool.wait {
        scene.pause().await;
    }
    let watches = queries(scene, pool);
    let drained = watches
        .into_iter()
        .map(|(query, who)| drained(scene, Watch::new(pool, query, who)));
    let ends = together(drained).await;
    ends.into_iter().fold(StepEnd::absent(), StepEnd::and)
}

async fn drained(scene: &Scene, mut watch: Watch<'_>) -> StepEnd {
    let wait = watch.pool.wait;
    let mut restarted = None;
    let mut until = wait;
    let mut first = None;
    loop {
        let mut unready = None;
        watch.look(scene);
        let passed = elapsed(watch.since);
        let drift = watch.drift();
        first = first.or(watch.busy());
        // The first idle sample after a restart may be the old process' last one.
        if watch.is_idle(if restarted.is_some() { 2 } else { 1 }) {
            unready = match restarted {
                Some(_) => is_ready(scene, watch.pool, &watch.who).await.err(),
                None => None,
            };
            if unready.is_none() {
                scene.bus.stuck(&watch.query, false);
                return idle(&watch, first, restarted);
            }
        }
        let detail =
            said!(path = watch.path(first), drift = drift.said(); "{path} {drift}", "{path} {drift}");
        scene.waiting(StepId::Pools, detail);
        if passed >= until {
            let a_look = passed + scene.drivers.patience().poll;
            if let Some(why) = unready.filter(|_| passed >= wait) {
                return stuck(scene, &watch, why);
            }
            match drift.trend {
                Trend::Falling if passed < wait * FALLING_WAITS => until = a_look,
                // Not to know is no reason to restart anything.
                Trend::Unknown if passed < wait * BLIND_WAITS => until = a_look,
                Trend::Unknown if watch.samples.len() < FEWEST => {
                    let why = said!(
                        "too few fresh samples to see whether it drains",
                        "新样本太少，看不出是否在排空"
                    );
                    return stuck(scene, &watch, why);
                }
                _ if restarted == Some(Restarted::Now) => {
                    let why = said!("still busy after the restart", "重启后仍繁忙");
                    return stuck(scene, &watch, why);
                }
                _ if restarted.is_some() => return stuck(scene, &watch, asked_before()),
                _ => match restart(scene, watch.pool, &watch.who).await {
                    Ok(how) => {
                        restarted = Some(how);
                        watch.anew();
                        until = wait;
                    }
                    Err(why) => return stuck(scene, &watch, why),
                },
            }
        }
        scene.pause().await;
    }
}

fn idle(watch: &Watch<'_>, first: Option<f64>, restarted: Option<Restarted>) -> StepEnd {
    let state = if restarted.is_some() || watch.samples.len() > 1 {
        StepState::Done
    } else {
        StepState::Nothing
    };
    let path = watch.path(first);
    let detail = match restarted {
        Some(Restarted::Now) => said!(path; "{path}, restarted once", "{path}，已重启一次"),
        Some(Restarted::Before) => said!(path; "{path}, restarted before", "{path}，此前已重启"),
        None => path,
    };
    StepEnd::new(state, detail)
}

/// How busy a pool is, and how busy it may be.
fn busy(pool: &PoolDrain, now: f64) -> Said {
    let idle = pool.idle_at_most;
    said!(
        "{now} busy, idle is at most {idle}",
        "占用 {now}，空闲上限 {idle}"
    )
}

fn stuck(scene: &Scene, watch: &Watch<'_>, why: Said) -> StepEnd {
    let (shown, certainty) = match watch.busy() {
        Some(now) => (busy(watch.pool, now), Certainty::Seen),
        None => (said!("not known", "不明"), Certainty::Unknown),
    };
    scene.bus.stuck(&watch.query, true);
    let name = watch.name();
    let leftover = Leftover {
        step: StepId::Pools,
        what: said!(name, shown; "pool {name} ({shown})", "线程池 {name}（{shown}）"),
        why: why.clone(),
        by_hand: by_hand(scene, watch.pool, &watch.who),
        certainty,
    };
    let detail = said!(name, shown, why; "{name} {shown}: {why}", "{name} {shown}：{why}");
    StepEnd::of(StepState::Failed, detail, vec![leftover])
}

/// Pools that are busy now: metric and value; and those that cannot be told.
pub(super) fn busy_now(scene: &Scene) -> (Vec<String>, Vec<String>) {
    let (mut busy, mut unknown) = (Vec::new(), Vec::new());
    for pool in &scene.plan.drill.recovery.pools {
        for (query, _) in queries(scene, pool) {
            match scene.bus.reading(&query).map(|r| (r.partial, r.value)) {
                Some((false, Ok(level))) if pool.is_idle(level.0) => {}
                Some((false, Ok(level))) => busy.push(format!("{query} {}", pool.busy(level.0))),
                Some((_, Err(gap))) => unknown.push(format!("pool {query}: {gap}")),
                _ => unknown.push(format!("pool {query}: no complete sample")),
            }
        }
    }
    (busy, unknown)
}
