//! Going on with what another keeper left: its intents are ours, its snapshot is the original.

use std::sync::Arc;

use super::{Engine, faults::track::Track, meters, recovery};
use crate::{
    drill::Machine,
    journal::Facts,
    model::{
        event::Body,
        ids::FaultId,
        phase::Cause,
        plan::Purpose,
        recovery::{Leftover, StepId},
        said::{Said, said},
        snapshot::Changed,
    },
};

impl Engine {
    /// Goes on with what another keeper left: its intents are ours, its snapshot is the original.
    pub(super) fn take_over(&mut self, facts: Facts, damage: Vec<String>, cause: Cause) {
        self.ledger.emit(Body::TakenOver {
            pid: std::process::id(),
            cause: cause.clone(),
        });
        let owed: Vec<FaultId> = facts.not_gone().map(|f| f.intent.id.clone()).collect();
        // A record that cannot be read may have been any: what is not known is never taken for nothing.
        // Whoever asked for a restore wants what was broken before it put back, whether or not it had begun.
        let restoring = self.plan.purpose == Purpose::Restore;
        let touched = facts.touched() || !damage.is_empty() || restoring;
        if touched {
            self.unknown = unknown_before(&facts, &damage, restoring);
            if let Some(healthy) = facts.snapshot.as_ref().filter(|_| restoring) {
                self.unknown.extend(recovery::unproved(&self.plan, healthy));
            }
        }
        self.repaired_before = !facts.changes.is_empty();
        self.shared.note_restarted(facts.restarted().cloned());
        for cluster in facts.clusters_changed() {
            // Whoever wrote it down may have died before its answer came.
            self.drivers.unanswered().note(&cluster);
        }
        recovery::in_doubt(&self.plan, &self.drivers, &facts.changes);
        self.shared.note_unproved(facts.rules_set());
        for fault in &facts.faults {
            self.faults
                .insert(fault.intent.id.clone(), Track::inherited(fault));
        }
        self.snapshot = Arc::new(facts.snapshot.clone().unwrap_or_default());
        self.baseline = facts.baseline.clone().unwrap_or_default();
        self.groups.inherit(&facts);
        if touched {
            self.meters = meters::Meters::open(&self.plan, &self.secrets)
                .inspect_err(|error| self.ledger.emit(Body::Warning(Said::as_it_is(error.to_string()))))
                .ok();
            self.start_meters();
        }
        // It is the run's lease, whoever keeps the run; nothing waits for it.
        self.keep_lease();
        let (machine, effects) = Machine::resume(
            self.plan.drill.clone(),
            self.schedule.clone(),
            self.plan.purpose,
            owed,
            touched,
            facts
                .recovering
                .as_ref()
                .map_or(cause, |(first, _)| first.clone()),
            self.clock.now(),
        );
        self.machine = machine;
        self.machine.inherit_doubts(facts.doubts);
        self.effects.extend(effects);
    }
}

/// What a takeover cannot put back or compare with, because the record does not say what was there before.
fn unknown_before(facts: &Facts, damage: &[String], restoring: bool) -> Vec<Leftover> {
    let unknown = |what: Said, why: Said| Leftover::unknown(StepId::Verify, what, why, None);
    let damaged = damage.iter().map(|d| {
        unknown(
            said!("journal damaged: {d}", "日志损坏：{d}"),
            said!("what the record said is not known", "该记录的内容不明"),
        )
    });
    let snapshot = facts.snapshot.is_none().then(|| {
        unknown(
            said!("the snapshot is not in the journal", "日志中没有快照"),
            said!(
                "weights, breakers, flags and queues have nothing to be compared with",
                "权重、熔断器、开关与队列无从对比"
            ),
        )
    });
    // A restore has none from its beginning.
    let baseline = (facts.baseline.is_none() && !restoring).then(|| {
        unknown(
            said!("the baseline is not in the journal", "日志中没有基线"),
            said!(
                "the sheet's metrics have nothing to come back to",
                "对账单的指标无从回归"
            ),
        )
    });
    // A restore has one snapshot, and begins right after it.
    let hidden = facts.snapshot_hidden.as_deref().filter(|_| !restoring);
    let older = hidden
        .into_iter()
        .flat_map(|damaged| older_snapshot(facts, damaged));
    damaged.chain(snapshot).chain(older).chain(baseline).collect()
}

/// What is put back is what preflight has found; what somebody has changed between that and the first fault is not known, or
/// only by name.
fn older_snapshot(facts: &Facts, damaged: &str) -> Vec<Leftover> {
    let unknown = |what: Said, why: Said| Leftover::unknown(StepId::Verify, what, why, None);
    let whole = unknown(
        said!("the snapshot before the first fault", "首个故障前的快照"),
        said!(
            "it may be lost ({damaged}): what is put back is what preflight had found; if somebody changed a weight, a flag, a rule or a quota during the baseline, that change is undone",
            "可能已丢失（{damaged}）：还原到预检所见；若静默观察期间有人改过权重、开关、规则或配额，该改动会被撤销"
        ),
    );
    let changed = facts.changed_since.iter().map(|changed| {
        let Changed { what, before, now } = changed;
        unknown(
            said!(what, now; "{what} before the first fault: {now}", "首个故障前的 {what}：{now}"),
            said!(
                before;
                "that snapshot cannot be read ({damaged}): put back is what preflight had found, {before}; look at it, and set it by hand",
                "该快照无法读取（{damaged}）：已还原到预检所见的 {before}；请查看并手工设置"
            ),
        )
    });
    std::iter::once(whole).chain(changed).collect()
}
