//! The snapshot is read once more when the baseline is over: who has changed a weight, a flag or a rule in these minutes does
//! not want it put back to before that.

#[cfg(test)]
mod tests;

use crate::{
    drivers::Drivers,
    engine::recovery::{breakers::state_word, flags::kept},
    model::{
        event::{Check, CheckOutcome},
        group::GroupSeen,
        kubernetes::{PodSeen, ServingSeen, WorkloadSeen},
        plan::Plan,
        quota::QuotaSeen,
        said::{Said, said},
        snapshot::{BreakerState, Changed, GatewayServer, Snapshot},
    },
};

use super::{
    changed::{NAMED, changes, flag_named},
    read_snapshot,
};

/// How many polls lie between two looks that have to find the same.
const STILL: u64 = 12;

/// How often something that changes is looked at before it is called restless.
const LOOKS: usize = 3;

/// What the second read found.
#[derive(Debug)]
pub enum Again {
    /// Everything as preflight found it.
    AsBefore,
    /// Something was changed, and two looks in a row have found it so.
    Changed {
        /// Everything as it is now.
        snapshot: Box<Snapshot>,
        /// What was changed.
        changed: Vec<Changed>,
    },
    /// Why nothing may be armed on this.
    Blocked(Vec<Said>),
}

/// Reads everything that recovery may change again and compares it with `before`. Changes nothing.
pub async fn read_again(plan: &Plan, drivers: &Drivers, before: &Snapshot) -> Again {
    match look_again(plan, drivers, before).await {
        Ok(again) => again,
        Err(blockers) => Again::Blocked(blockers),
    }
}

async fn look_again(plan: &Plan, drivers: &Drivers, before: &Snapshot) -> Result<Again, Vec<Said>> {
    let mut last = whole(plan, drivers).await?;
    if changes(plan, before, &last).is_empty() && moved_flags(plan, before, &last).is_empty() {
        return Ok(Again::AsBefore);
    }
    let mut moved = Vec::new();
    for _ in 0..LOOKS {
        tokio::time::sleep((drivers.patience().poll * STILL).into()).await;
        let now = whole(plan, drivers).await?;
        moved = changes(plan, &last, &now);
        if moved.is_empty() {
            return taken(plan, before, now);
        }
        last = now;
    }
    let restless = |Changed { what, before, now }: &Changed| {
        said!(
            what, before, now;
            "{what} changes still: {before} → {now}",
            "{what} 仍在变化：{before} → {now}"
        )
    };
    Err(moved.iter().map(restless).collect())
}

fn taken(plan: &Plan, before: &Snapshot, mut now: Snapshot) -> Result<Again, Vec<Said>> {
    let ailing = [opened_by_itself(before, &now), fell_by_itself(before, &now)].concat();
    if !ailing.is_empty() {
        return Err(ailing);
    }
    // A backlog that has grown is nobody's decision, whatever else was decided meanwhile.
    for queue in &mut now.retry_queues {
        if let Some(before) = before.retry_queues.iter().find(|q| q.entry == queue.entry) {
            queue.backlog = queue.backlog.min(before.backlog);
        }
    }
    let mut changed = changes(plan, before, &now);
    changed.extend(moved_flags(plan, before, &now));
    for seen in &mut now.flags {
        if let Some(before) = before.flags.iter().find(|f| f.entry == seen.entry) {
            kept::forget_what_moves(before, seen);
        }
    }
    Ok(match changed.is_empty() {
        true => Again::AsBefore,
        false => Again::Changed {
            snapshot: Box::new(now),
            changed,
        },
    })
}

/// Flags that are there as before, and hold something else or end at another time: that is not compared at the end.
fn moved_flags(plan: &Plan, before: &Snapshot, now: &Snapshot) -> Vec<Changed> {
    let mut moved = Vec::new();
    for seen in &now.flags {
        let Some(before) = before.flags.iter().find(|f| f.entry == seen.entry) else {
            continue;
        };
        // One that is gone is named by its key already.
        let differ = kept::differences(before, &seen.kept).into_iter();
        let there = differ.filter(|(flag, _)| seen.keys.contains(&flag.key));
        moved.extend(there.map(|(flag, how)| Changed {
            what: flag_named(plan, seen.entry, &flag.key),
            before: said!("as preflight found it", "与预检时一致"),
            now: said!(how = how.how; "{how}; not compared at the end", "{how}；收尾时不比较"),
        }));
    }
    moved.truncate(NAMED);
    moved
}

/// All of it, or why it cannot be read.
async fn whole(plan: &Plan, drivers: &Drivers) -> Result<Snapshot, Vec<Said>> {
    let (snapshot, checks) = read_snapshot(plan, drivers).await;
    let refused = checks.iter().filter(|c| c.outcome == CheckOutcome::Refused);
    let refused: Vec<Said> = refused
        .map(|Check { what, found, .. }| {
            said!(
                what, found;
                "read again before arming: {what}: {found}",
                "发起前重读：{what}：{found}"
            )
        })
        .collect();
    match refused.is_empty() {
        true => Ok(snapshot),
        false => Err(refused),
    }
}

/// A breaker that has opened while nothing was injected: recovery would have to leave it so.
fn opened_by_itself(before: &Snapshot, now: &Snapshot) -> Vec<Said> {
    let was_closed = |name: &str, entry, instance| {
        let at = |b: &&crate::model::snapshot::BreakerSeen| {
            b.entry == entry && b.name == name && &b.instance == instance
        };
        before
            .breakers
            .iter()
            .find(at)
            .is_some_and(|b| b.state == BreakerState::Closed)
    };
    let open = |state| matches!(state, BreakerState::Open | BreakerState::HalfOpen);
    let opened = now
        .breakers
        .iter()
        .filter(|b| open(b.state) && was_closed(&b.name, b.entry, &b.instance));
    let said = opened.map(|b| {
        let (name, instance, state) = (&b.name, &b.instance, state_word(b.state));
        said!(
            "breaker {name} on {instance} is {state}, and was closed before the baseline; extend it when the breaker has closed",
            "{instance} 的熔断器 {name} 为 {state}，静默观察前是闭合的；待其闭合后再延长"
        )
    });
    said.collect()
}

/// What served before the baseline and does not now, or is not there to be asked: nobody has decided that, and a recovery that took it
/// for the state of before would call it well.
fn fell_by_itself(before: &Snapshot, now: &Snapshot) -> Vec<Said> {
    let mut fell = Vec::new();
    for was in before.gateway.iter().filter(|s| s.running) {
        let same = |s: &&GatewayServer| s.at == was.at && s.instance == was.instance;
        if !now.gateway.iter().find(same).is_some_and(|s| s.running) {
            let (instance, at) = (&was.instance, &was.at);
            fell.push(said!(
                "{instance} at gateway {at} is DOWN",
                "网关 {at} 上的 {instance} 已 DOWN"
            ));
        }
    }
    for was in before.kubernetes.pods.iter().filter(|p| p.ready) {
        let same = |p: &&PodSeen| p.instance == was.instance && p.selector == was.selector;
        if !now.kubernetes.pods.iter().find(same).is_some_and(|p| p.ready) {
            let instance = &was.instance;
            fell.push(said!(
                "the pod of {instance} is not ready",
                "{instance} 的 pod 未就绪"
            ));
        }
    }
    for was in before.kubernetes.serving.iter().filter(|p| p.ready) {
        let same = |p: &&ServingSeen| p.instance == was.instance && p.selector == was.selector;
        if !now.kubernetes.serving.iter().find(same).is_some_and(|p| p.ready) {
            let instance = &was.instance;
            fell.push(said!(
                "the pod behind {instance} is not ready",
                "{instance} 背后的 pod 未就绪"
            ));
        }
    }
    for was in before.kubernetes.rollouts.iter().filter(|r| r.ready) {
        let same = |r: &&WorkloadSeen| r.instance == was.instance && r.workload == was.workload;
        if !now.kubernetes.rollouts.iter().find(same).is_some_and(|r| r.ready) {
            let workload = &was.workload;
            fell.push(said!(
                "{workload} is not all rolled out",
                "{workload} 未全部发布完"
            ));
        }
    }
    for was in &before.kubernetes.scales {
        let mut now = now.kubernetes.scales.iter().filter(|s| s.entry == was.entry);
        if !now.any(|s| s.ready >= was.ready.min(s.replicas)) {
            let (deployment, ready) = (&was.deployment, was.ready);
            fell.push(said!(
                "deployment {deployment} has not its {ready} Ready pods",
                "deployment {deployment} 的 Ready pod 不足 {ready} 个"
            ));
        }
    }
    for was in &before.retry_queues {
        let queue = now.retry_queues.iter().find(|q| q.entry == was.entry);
        let has_broker = |name: &str| queue.is_some_and(|q| q.groups.iter().any(|g| g.broker == name));
        let gone = was.groups.iter().filter(|g| !has_broker(&g.broker));
        fell.extend(gone.map(|GroupSeen { broker, .. }| {
            said!(
                "the master of broker {broker} is not there",
                "broker {broker} 的 master 不在"
            )
        }));
        let pays = |quota: &QuotaSeen| queue.is_some_and(|q| q.quotas.iter().any(|p| p.payer == quota.payer));
        let left = was.quotas.iter().filter(|q| !pays(q));
        fell.extend(
            left.map(|QuotaSeen { payer, .. }| said!("{payer} consumes no longer", "{payer} 不再消费")),
        );
    }
    let reason = |what: &Said| {
        said!(
            what;
            "{what}, and was well before the baseline; extend it until it is back, or start again without it",
            "{what}，静默观察前是正常的；请延长到其恢复，或去掉它重新开始"
        )
    };
    fell.iter().map(reason).collect()
}
