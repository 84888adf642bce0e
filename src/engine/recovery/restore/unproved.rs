//! What a restore cannot prove to the end: the healthy state that stands in for the one of before does not have it.

use crate::model::{
    ids::InstanceName,
    plan::Plan,
    playbook::{Breakers, Gateway},
    recovery::{Leftover, StepId},
    said::{Said, said},
    snapshot::Snapshot,
};

use super::kubernetes;

/// Why what could not be read at the beginning is not proved at the end.
pub(super) fn unread() -> Said {
    said!(
        "it could not be read when the restore began: how it was is not known",
        "恢复开始时未能读取：原状不明"
    )
}

pub(super) fn unknown(step: StepId, what: Said, why: Said) -> Leftover {
    Leftover::unknown(step, what, why, None)
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
        all.extend(missing.map(|(at, i)| {
            let what = said!("{i} at gateway {at}", "网关 {at} 上的 {i}");
            unknown(StepId::Traffic, what, unread())
        }));
    }
    if let Some(Gateway::Route(_)) = &playbook.gateway {
        let targets = plan.drill.targets.instances.iter();
        let seen = |i: &InstanceName| healthy.gateway.iter().find(|s| s.instance == *i);
        let out = || {
            said!(
                "it has weight 0; what it had before the accident is not known",
                "权重为 0；事故前的权重不明"
            )
        };
        all.extend(targets.filter_map(|i| {
            let why = match seen(i) {
                Some(server) if server.weight > 0 => return None,
                Some(_) => out(),
                None => unread(),
            };
            let what = said!("{i} at the gateway", "网关上的 {i}");
            Some(unknown(StepId::Traffic, what, why))
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
        all.extend(missing.map(|i| {
            let what = said!("rules of Sentinel on {i}", "{i} 的 Sentinel 规则");
            unknown(StepId::Breakers, what, unread())
        }));
    }
    for (entry, _) in playbook.retry_queues.iter().enumerate() {
        let Some(queue) = healthy.retry_queues.iter().find(|q| q.entry == entry) else {
            let nth = entry + 1;
            let what = said!("retry queue {nth}", "第 {nth} 个重试队列");
            all.push(unknown(StepId::Release, what, unread()));
            continue;
        };
        // No limit says of itself whether it is the one of before, or what another recovery has left.
        let limits = || {
            said!(
                "it limits now; whether it did so before the accident is not known",
                "现有限速；事故前是否如此不明"
            )
        };
        all.extend(queue.rate.map(|r| {
            let what = said!("rate of {r}/s of a retry queue", "重试队列限速 {r}/s");
            unknown(StepId::Release, what, limits())
        }));
        let off = queue.groups.iter().filter(|g| !g.enabled);
        all.extend(off.map(|g| {
            let broker = &g.broker;
            let what = said!("the group's switch on {broker}", "{broker} 上的消费组开关");
            let why = said!(
                "it is off now; whether it was so before the accident is not known",
                "现为关；事故前是否如此不明"
            );
            unknown(StepId::Release, what, why)
        }));
        let quotas = queue.quotas.iter().filter_map(|q| Some((&q.payer, q.bytes?)));
        all.extend(quotas.map(|(payer, bytes)| {
            let what = said!("quota of {payer}: {bytes} B/s", "{payer} 的配额：{bytes} B/s");
            unknown(StepId::Release, what, limits())
        }));
    }
    all.extend(kubernetes::unproved(plan, &healthy.kubernetes));
    let mut hypotheses = plan.drill.guard.steady_state.iter();
    if hypotheses.all(|h| h.limit.needs_baseline()) {
        let why = said!(
            "the guard has no absolute limit, and there is no baseline to compare with",
            "守护没有绝对上下限，也没有基线可比"
        );
        let what = said!("whether users are well", "用户是否正常");
        all.push(unknown(StepId::Verify, what, why));
    }
    all
}
