//! Pools at the last read: one that the step has given up is left until it is seen idle, and an instance that was restarted is
//! left until it says that it is ready.
//!
//! With traffic back a pool may be busier than idle and well: those that the step has seen idle are not judged again.

use crate::{
    engine::recovery::{Scene, together},
    model::{
        ids::InstanceName,
        playbook::PoolDrain,
        recovery::{Certainty, Leftover, StepId},
        said::said,
        sample::Query,
    },
};

use super::{
    all_queries, busy,
    restart::{by_hand, is_ready},
    rollout,
};

/// Pools that are not idle since they were given up, and restarted instances that are not ready.
pub(in crate::engine::recovery) async fn not_as_before(scene: &Scene) -> Vec<Leftover> {
    let mut left = Vec::new();
    let mut restarted = Vec::new();
    for pool in &scene.plan.drill.recovery.pools {
        // By whichever it was given up: a series that has gone or come since has not made it idle.
        for (query, who) in all_queries(scene, pool) {
            if scene.bus.is_stuck(&query) {
                left.extend(still_busy(scene, pool, &query, &who));
            }
        }
        for instance in &scene.plan.drill.targets.instances {
            if pool.ready.is_some() && scene.bus.restarted(instance) {
                restarted.push(not_ready(scene, pool, instance));
            }
        }
    }
    left.extend(together(restarted).await.into_iter().flatten());
    left.extend(rollout::not_as_before(scene).await);
    left
}

fn still_busy(scene: &Scene, pool: &PoolDrain, query: &Query, who: &[&InstanceName]) -> Option<Leftover> {
    let (shown, certainty) = match scene.bus.reading(query).map(|r| (r.partial, r.value)) {
        Some((false, Ok(level))) if pool.is_idle(level.0) => {
            scene.bus.stuck(query, false);
            return None;
        }
        Some((false, Ok(level))) => (busy(pool, pool.busy(level.0)), Certainty::Seen),
        Some((_, Err(gap))) => (
            said!(gap = gap.said(); "not known: {gap}", "不明：{gap}"),
            Certainty::Unknown,
        ),
        Some((true, Ok(_))) | None => (
            said!("not known: no complete sample", "不明：无完整样本"),
            Certainty::Unknown,
        ),
    };
    Some(Leftover {
        step: StepId::Pools,
        what: said!(shown; "pool {query} ({shown})", "线程池 {query}（{shown}）"),
        why: said!(
            "it did not drain, and was not seen idle since",
            "未排空，此后也未见空闲"
        ),
        by_hand: by_hand(scene, pool, who),
        certainty,
    })
}

async fn not_ready(scene: &Scene, pool: &PoolDrain, instance: &InstanceName) -> Option<Leftover> {
    let why = is_ready(scene, pool, &[instance]).await.err()?;
    let what = said!("{instance}, restarted by this run", "{instance}（本演练重启）");
    let hand = by_hand(scene, pool, &[instance]);
    Some(Leftover::seen(StepId::Pools, what, why, hand))
}
