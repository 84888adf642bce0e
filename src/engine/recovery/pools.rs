//! Step 5: pools drain before traffic returns. After the wait the trend decides: falling → wait on; flat or rising →
//! restart the instances, once.

use tokio::time::Instant;

use crate::{
    drivers::place::Fill,
    model::{
        ids::InstanceName,
        playbook::{PoolDrain, Restart},
        recovery::{Certainty, Leftover, StepId, StepState},
        sample::Query,
        undo::ChangeIntent,
    },
};

use super::{
    Scene, StepEnd, by_hand, elapsed, together,
    trend::{Trend, trend},
};

/// A pool that keeps falling may take this many times its wait before it is called stuck all the same.
const FALLING_WAITS: u64 = 10;

/// Without enough samples to see a trend, this many times the wait is waited for them.
const BLIND_WAITS: u64 = 3;

/// A pool's samples that were taken after the step began.
struct Watch<'a> {
    pool: &'a PoolDrain,
    query: Query,
    /// Samples taken before this are not believed.
    since: Instant,
    newest: Option<i64>,
    samples: Vec<(f64, f64)>,
    begin: Instant,
}

impl<'a> Watch<'a> {
    fn new(pool: &'a PoolDrain) -> Self {
        let now = Instant::now();
        Self {
            pool,
            query: query(pool),
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
                self.samples.push((elapsed(self.begin).as_seconds(), level.0));
            }
        }
    }

    fn busy(&self) -> Option<f64> {
        self.samples.last().map(|s| s.1)
    }

    fn is_idle(&self) -> bool {
        self.busy().is_some_and(|b| b <= self.pool.idle_at_most)
    }
}

fn query(pool: &PoolDrain) -> Query {
    Query::new(&pool.metric, pool.scope.as_ref())
}

/// Waits for all pools, all at the same time.
pub async fn pools(scene: &Scene) -> StepEnd {
    let pools = &scene.plan.drill.recovery.pools;
    let ends = together(pools.iter().map(|p| drained(scene, p))).await;
    ends.into_iter().fold(StepEnd::absent(), StepEnd::and)
}

async fn drained(scene: &Scene, pool: &PoolDrain) -> StepEnd {
    let mut watch = Watch::new(pool);
    let wait = pool.wait;
    let mut restarted = false;
    let mut until = wait;
    let mut first = None;
    loop {
        watch.look(scene);
        let passed = elapsed(watch.since);
        let trend = trend(&watch.samples);
        first = first.or(watch.busy());
        if watch.is_idle() {
            let state = if restarted || watch.samples.len() > 1 {
                StepState::Done
            } else {
                StepState::Nothing
            };
            let note = if restarted { ", restarted once" } else { "" };
            return StepEnd::new(state, format!("{}{note}", path(pool, first, watch.busy())));
        }
        scene.waiting(
            StepId::Pools,
            format!("{} {}", path(pool, first, watch.busy()), word(trend)),
        );
        if passed >= until {
            match trend {
                Trend::Falling if passed < wait * FALLING_WAITS => {
                    until = passed + scene.drivers.patience().poll
                }
                // Too few samples to know: that is no reason to restart anything.
                Trend::Unknown if passed < wait * BLIND_WAITS => {
                    until = passed + scene.drivers.patience().poll
                }
                Trend::Unknown => {
                    return stuck(scene, &watch, "too few fresh samples to see whether it drains");
                }
                _ if restarted => return stuck(scene, &watch, "still busy after the restart"),
                _ => match restart(scene, pool).await {
                    Ok(()) => {
                        restarted = true;
                        watch.anew();
                        until = wait;
                    }
                    Err(why) => return stuck(scene, &watch, &why),
                },
            }
        }
        scene.pause().await;
    }
}

fn path(pool: &PoolDrain, first: Option<f64>, now: Option<f64>) -> String {
    match (first, now) {
        (Some(first), Some(now)) if first != now => format!("{} {first} → {now}", pool.metric),
        (_, Some(now)) => format!("{} {now}", pool.metric),
        _ => format!("{} --", pool.metric),
    }
}

fn word(trend: Trend) -> &'static str {
    match trend {
        Trend::Falling => "FALLING",
        Trend::Flat => "FLAT",
        Trend::Rising => "RISING",
        Trend::Unknown => "",
    }
}

/// Restarts the targets, one after another, each once in a run.
async fn restart(scene: &Scene, pool: &PoolDrain) -> Result<(), String> {
    let Some(Restart::Http { url }) = &pool.if_stuck else {
        return Err("it does not drain, and the playbook has no restart for it".into());
    };
    let mut asked = 0;
    for instance in &scene.plan.drill.targets.instances {
        if scene.bus.restarted(instance) {
            continue;
        }
        scene.waiting(StepId::Pools, format!("restarting {instance}"));
        let filled = filled(scene, url, instance)?;
        let change = ChangeIntent::Restart {
            instance: instance.clone(),
        };
        scene.bus.intend(change).await;
        // Once: a restart whose answer was lost is not asked for again, the pool tells whether it came.
        match scene.drivers.restart(&filled).await {
            Err(error) if error.certainty() == crate::drivers::error::Effect::NotDone => {
                return Err(error.to_string());
            }
            _ => asked += 1,
        }
    }
    match asked {
        0 => Err("it does not drain, and the targets were restarted already".into()),
        _ => Ok(()),
    }
}

fn filled(scene: &Scene, url: &str, instance: &InstanceName) -> Result<String, String> {
    let fill = Fill {
        instance: Some(instance),
        name: None,
    };
    scene.drivers.places().fill(url, fill).map_err(|e| e.to_string())
}

fn stuck(scene: &Scene, watch: &Watch<'_>, why: &str) -> StepEnd {
    let pool = watch.pool;
    let (shown, certainty) = match watch.busy() {
        Some(busy) => (
            format!("{busy} busy, idle is at most {}", pool.idle_at_most),
            Certainty::Seen,
        ),
        None => ("not known".to_owned(), Certainty::Unknown),
    };
    let by_hand = match &pool.if_stuck {
        Some(Restart::Http { url }) => {
            let targets = scene.plan.drill.targets.instances.iter();
            let commands = targets.filter_map(|i| Some(by_hand::curl("POST", &filled(scene, url, i).ok()?)));
            Some(commands.collect::<Vec<_>>().join("; ")).filter(|c| !c.is_empty())
        }
        None => None,
    };
    let leftover = Leftover {
        step: StepId::Pools,
        what: format!("pool {} ({shown})", pool.metric),
        why: why.to_owned(),
        by_hand,
        certainty,
    };
    StepEnd::of(
        StepState::Failed,
        format!("{} {shown}: {why}", pool.metric),
        vec![leftover],
    )
}

/// Pools that are busy now: metric and value; and those that cannot be told.
pub(super) fn busy(scene: &Scene) -> (Vec<String>, Vec<String>) {
    let (mut busy, mut unknown) = (Vec::new(), Vec::new());
    for pool in &scene.plan.drill.recovery.pools {
        match scene.bus.reading(&query(pool)).map(|r| (r.partial, r.value)) {
            Some((false, Ok(level))) if level.0 <= pool.idle_at_most => {}
            Some((false, Ok(level))) => busy.push(format!("{} {}", pool.metric, level.0)),
            Some((_, Err(gap))) => unknown.push(format!("pool {}: {gap}", pool.metric)),
            _ => unknown.push(format!("pool {}: no complete sample", pool.metric)),
        }
    }
    (busy, unknown)
}
