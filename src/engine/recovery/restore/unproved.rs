//! What a restore cannot prove to the end: the healthy state that stands in for the one of before does not have it.

use crate::model::{
    ids::InstanceName,
    plan::Plan,
    playbook::{Breakers, Gateway},
    recovery::{Certainty, Leftover, StepId},
    snapshot::Snapshot,
};

use super::kubernetes;

/// Why what could not be read at the beginning is not proved at the end.
pub(super) const UNREAD: &str = "it could not be read when the restore began: how it was is not known";

pub(super) fn unknown(step: StepId, what: String, why: &str) -> Leftover {
    Leftover {
        step,
        what,
        why: why.to_owned(),
        by_hand: None,
        certainty: Certainty::Unknown,
    }
}

/// What a restore cannot prove to the end, because the healthy state does not have it. A keeper that takes over comes to
/// the same list.
pub fn unproved(plan: &Plan, healthy: &Snapshot) -> Vec<Leftover> {
    let playbook = &plan.drill.recovery;
    let mut all = Vec::new();
    if let Some(Gateway::Haproxy { sockets, .. }) = &playbook.gateway {
        let targets = || plan.drill.targets.instances.iter();
        let places = sockets.iter().flat_map(|at| targets().map(move |i| (at, i)));
        let missing =
            places.filter(|(at, i)| !healthy.gateway.iter().any(|s| &&s.at == at && &&s.instance == i));
        all.extend(missing.map(|(at, i)| unknown(StepId::Traffic, format!("{i} at gateway {at}"), UNREAD)));
    }
    if let Some(Gateway::Route(_)) = &playbook.gateway {
        let targets = plan.drill.targets.instances.iter();
        let seen = |i: &InstanceName| healthy.gateway.iter().find(|s| s.instance == *i);
        let why = "it has weight 0; what it had before the accident is not known";
        all.extend(targets.filter_map(|i| match seen(i) {
            Some(server) if server.weight > 0 => None,
            Some(_) => Some(unknown(StepId::Traffic, format!("{i} at the gateway"), why)),
            None => Some(unknown(StepId::Traffic, format!("{i} at the gateway"), UNREAD)),
        }));
    }
    for (entry, breakers) in playbook.breakers.iter().enumerate() {
        let Breakers::Sentinel { callers, .. } = breakers else {
            continue;
        };
        let instances = plan
            .environment
            .services
            .get(callers)
            .into_iter()
            .flat_map(|i| i.keys());
        let seen = |i: &&InstanceName| {
            healthy
                .rules
                .iter()
                .any(|r| r.entry == entry && r.instances.contains(*i))
        };
        let missing = instances.filter(|i| !seen(i));
        all.extend(missing.map(|i| unknown(StepId::Breakers, format!("rules of Sentinel on {i}"), UNREAD)));
    }
    for (entry, _) in playbook.retry_queues.iter().enumerate() {
        let Some(queue) = healthy.retry_queues.iter().find(|q| q.entry == entry) else {
            all.push(unknown(
                StepId::Release,
                format!("retry queue {}", entry + 1),
                UNREAD,
            ));
            continue;
        };
        // No limit says of itself whether it is the one of before, or what another recovery has left.
        let why = "it limits now; whether it did so before the accident is not known";
        let quotas = queue.quotas.iter().filter_map(|q| Some((q, q.bytes?)));
        all.extend(
            queue
                .rate
                .map(|r| unknown(StepId::Release, format!("rate of {r}/s of a retry queue"), why)),
        );
        let off = queue.groups.iter().filter(|g| !g.enabled);
        let why_off = "it is off now; whether it was so before the accident is not known";
        all.extend(off.map(|g| {
            unknown(
                StepId::Release,
                format!("the group's switch on {}", g.broker),
                why_off,
            )
        }));
        all.extend(
            quotas.map(|(q, b)| unknown(StepId::Release, format!("quota of {}: {b} B/s", q.payer), why)),
        );
    }
    all.extend(kubernetes::unproved(plan, &healthy.kubernetes));
    let mut hypotheses = plan.drill.guard.steady_state.iter();
    if hypotheses.all(|h| h.limit.needs_baseline()) {
        let why = "the guard has no absolute limit, and there is no baseline to compare with";
        all.push(unknown(StepId::Verify, "whether users are well".into(), why));
    }
    all
}
