//! The counters of live faults, and faults that are gone before their time.

use crate::{
    drivers::point::RuleSeen,
    engine::{Done, Engine},
    model::{
        event::{Body, Hits},
        ids::FaultId,
        phase::Phase,
        said::said,
        time::{Moment, Span},
        undo::UndoFault,
    },
};

/// How often the counters of live faults are read.
const HITS_EVERY: Span = Span::millis(500);

impl Engine {
    /// Asks the injectors of all live faults for their counters.
    pub(in crate::engine) fn poll_hits(&mut self, now: Moment) {
        if self.machine.phase() != Phase::Running || now.since(self.last_hits) < HITS_EVERY {
            return;
        }
        self.last_hits = now;
        let mut bases: Vec<String> = Vec::new();
        let mut loads: Vec<FaultId> = Vec::new();
        for track in self.faults.values().filter(|t| t.gone.is_none()) {
            match &track.intent.undo {
                UndoFault::Rule { base } if !bases.contains(base) => bases.push(base.clone()),
                UndoFault::Rule { .. } => {}
                UndoFault::Load => loads.push(track.intent.id.clone()),
            }
        }
        for base in bases {
            let (drivers, done) = (self.drivers.clone(), self.done.clone());
            self.spawn(async move {
                let rules = drivers.point().rules(&base).await.map_err(|e| e.to_string());
                let _ = done.send(Done::Hits {
                    base,
                    asked: now,
                    rules,
                });
            });
        }
        for fault in loads {
            let (drivers, done) = (self.drivers.clone(), self.done.clone());
            self.spawn(async move {
                if let Some(c) = drivers.loads().counters(&fault).await {
                    let held = u32::try_from(c.in_flight).unwrap_or(u32::MAX);
                    let hits = Hits {
                        hits: c.sent,
                        misses: 0,
                        failed: c.failed,
                        capped: c.dropped,
                        held,
                    };
                    let _ = done.send(Done::LoadHits { fault, hits });
                }
            });
        }
    }

    pub(in crate::engine) fn hits(&mut self, fault: FaultId, hits: Hits) {
        let Some(track) = self.faults.get_mut(&fault) else {
            return;
        };
        track.hits = Some(hits);
        self.ledger.emit(Body::FaultHits { fault, hits });
    }

    /// What the rules of an instance say about this run's faults there.
    pub(in crate::engine) fn rules(&mut self, base: &str, asked: Moment, rules: &[RuleSeen]) {
        self.check_address(base, rules);
        let known: Vec<_> = self
            .faults
            .values()
            .filter(|t| matches!(&t.intent.undo, UndoFault::Rule { base: mine } if mine == base))
            .map(|t| t.intent.id.clone())
            .collect();
        for fault in known {
            match rules.iter().find(|r| r.id == fault.as_str()) {
                Some(rule) => self.hits(fault, rule.counters()),
                None => self.missing_rule(&fault, asked),
            }
        }
    }

    /// A live fault is not at its injector any more while its step still runs: the target was restarted, or someone
    /// removed it. What is measured from here on is measured without it.
    fn missing_rule(&mut self, fault: &FaultId, asked: Moment) {
        let Some(track) = self.faults.get_mut(fault) else {
            return;
        };
        if !track.must_be_there(asked) || self.machine.phase() != Phase::Running {
            return;
        }
        let step = track.intent.step.clone();
        if self.groups.is_running(&self.plan.drill, &step) {
            track.vanished = true;
            let what = said!(
                "fault {fault} is gone from its injector before its step is over",
                "步骤未结束，故障 {fault} 已不在注入器上"
            );
            self.ledger.emit(Body::Warning(what));
        }
    }
}
