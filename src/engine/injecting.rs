//! Making faults and stopping them: the intent first and durably, the undoing at once.

use super::{
    Done, Engine,
    recovery::{self, StepEnd},
};
use crate::{
    drill::{Input, faults},
    drivers::{
        error::{DriverError, Effect as Took},
        point::Rule,
    },
    journal::FaultFact,
    model::{
        drill::{Action, Fault},
        event::{Body, Hits, Period},
        ids::FaultId,
        phase::{Cause, Phase},
        recovery::StepState,
        time::{Moment, Span},
        undo::{FaultIntent, UndoFault},
    },
};

/// How often the counters of live faults are read.
const HITS_EVERY: Span = Span::millis(500);

/// A fault of this run.
#[derive(Debug, Clone)]
pub(super) struct Track {
    pub intent: FaultIntent,
    /// The last counters read; `None` if they never were.
    pub hits: Option<Hits>,
    /// When it was read back as gone.
    pub gone: Option<Moment>,
    /// When its creation was confirmed.
    pub live: Option<Moment>,
    /// Whether its injector stopped telling of it while its step still ran.
    pub vanished: bool,
}

impl Track {
    /// Whether an injector that was asked at this time must have told of it. One that was asked while the fault was being
    /// made may have answered before it.
    fn must_be_there(&self, asked: Moment) -> bool {
        self.live.is_some_and(|since| asked >= since) && !self.vanished && self.gone.is_none()
    }

    pub fn inherited(fact: &FaultFact) -> Self {
        let gone = (fact.state == crate::journal::FaultState::Gone).then_some(Moment::default());
        Self {
            intent: fact.intent.clone(),
            hits: None,
            gone,
            live: Some(Moment::default()),
            vanished: false,
        }
    }
}

impl Engine {
    /// Begins a step: writes its intents down, then makes its faults, all at the same time.
    pub(super) async fn inject(&mut self, index: usize) {
        // Between the machine's wish and now the key may have been pressed.
        if self.machine.phase() != Phase::Running {
            return;
        }
        let now = self.clock.now();
        let plan = self.plan.clone();
        let step = &plan.drill.steps[index];
        let group = self.schedule.slots[index].group;
        let source_ms = self.source_now();
        self.collected.begin(Period::Step(group), source_ms);
        self.groups.began(group, index, now);
        self.ledger.emit(Body::StepStarted {
            step: index,
            until: now + step.duration,
            source_ms,
        });
        let made = match faults::intents(&plan, step) {
            Ok(made) => made,
            Err(error) => {
                let what = format!("{}: {error}", step.name);
                return self.feed(Input::Recover(Cause::InjectFailed { what }));
            }
        };
        if made.is_empty() {
            return;
        }
        for (intent, _) in &made {
            self.faults.insert(
                intent.id.clone(),
                Track {
                    intent: intent.clone(),
                    hits: None,
                    gone: None,
                    live: None,
                    vanished: false,
                },
            );
            self.feed(Input::FaultIntended(intent.id.clone()));
        }
        if let Err(why) = self.write_intents(made.iter().map(|(intent, _)| intent)).await {
            // Nothing was made, and nothing will be.
            return self.feed(Input::Recover(Cause::Journal { what: why }));
        }
        for (intent, fault) in made {
            self.make(intent, fault.cloned(), &step.action);
        }
    }

    async fn write_intents(&mut self, intents: impl Iterator<Item = &FaultIntent>) -> Result<(), String> {
        let mut intents: Vec<_> = intents.cloned().collect();
        let Some(last) = intents.pop() else { return Ok(()) };
        for intent in intents {
            self.ledger.emit(Body::FaultIntended(intent));
        }
        // Records are written in order: when the last one is durable, so are those before it, unless one failed.
        self.ledger
            .emit_durably(Body::FaultIntended(last))
            .await
            .map_err(|e| e.to_string())?;
        self.ledger.failure().map_or(Ok(()), |e| Err(e.to_string()))
    }

    fn make(&mut self, intent: FaultIntent, fault: Option<Fault>, action: &Action) {
        let (drivers, done, run) = (self.drivers.clone(), self.done.clone(), self.plan.run.clone());
        let ttl = intent.expires_in.unwrap_or(Span::ZERO);
        let action = action.clone();
        self.spawn(async move {
            let made = match (&action, fault) {
                (Action::Fault { envelope, .. }, Some(Fault::Rule { point, effect, .. })) => {
                    let rule = Rule::new(&run, &intent.instance, &point, &effect, envelope, ttl);
                    let UndoFault::Rule { base } = &intent.undo else {
                        return;
                    };
                    drivers.point().create(base, &intent.id, &rule).await
                }
                (Action::Load(load), _) => {
                    drivers
                        .loads()
                        .start(drivers.http().client(), drivers.places(), &intent.id, load)
                        .await
                }
                _ => return,
            };
            let result = made.map(|()| (ttl.0 > 0).then_some(ttl));
            // The engine outlives its tasks.
            let _ = done.send(Done::Injected {
                fault: intent.id,
                result,
            });
        });
    }

    /// The answer to a create, whenever it comes.
    pub(super) fn injected(&mut self, fault: FaultId, result: Result<Option<Span>, DriverError>) {
        // An answer that never came says nothing: the rule may still land.
        if settles(&result) {
            self.shared.answered(&fault);
        }
        let now = self.clock.now();
        let gone = self.faults.get(&fault).is_some_and(|t| t.gone.is_some());
        match result {
            // It came too late, and was removed again: it was read back as gone.
            Ok(_) if gone => {}
            Ok(ttl) => {
                if let Some(track) = self.faults.get_mut(&fault) {
                    track.live = Some(now);
                }
                let expires = ttl.map(|t| now + t);
                self.ledger.emit(Body::FaultLive { fault, expires });
            }
            Err(error) => self.feed(Input::FaultFailed(fault, error.to_string())),
        }
    }

    /// The intents of every fault that was not read back as gone.
    pub(super) fn intents(&self) -> Vec<FaultIntent> {
        self.faults
            .values()
            .filter(|t| t.gone.is_none())
            .map(|t| t.intent.clone())
            .collect()
    }

    /// A step is over: its faults end now, whatever else goes on.
    pub(super) fn stop_step(&mut self, index: usize) {
        let name = &self.plan.drill.steps[index].name;
        let intents: Vec<_> = self
            .faults
            .values()
            .filter(|t| t.gone.is_none() && &t.intent.step == name)
            .map(|t| t.intent.clone())
            .collect();
        let (scene, done) = (self.scene(), self.done.clone());
        self.spawn(async move {
            let end = recovery::end_faults(&scene, &intents).await;
            let _ = done.send(Done::Stopped { step: index, end });
        });
    }

    pub(super) fn stopped(&mut self, index: usize, end: StepEnd) {
        for fault in end.gone {
            self.fault_gone(fault);
        }
        if end.state == StepState::Failed {
            let name = &self.plan.drill.steps[index].name;
            let what = format!("{name}: its fault could not be stopped: {}", end.detail);
            self.feed(Input::Recover(Cause::InjectFailed { what }));
        }
    }

    pub(super) fn fault_gone(&mut self, fault: FaultId) {
        let now = self.clock.now();
        if let Some(track) = self.faults.get_mut(&fault) {
            track.gone.get_or_insert(now);
        }
        self.feed(Input::FaultGone(fault));
    }

    /// Asks the injectors of all live faults for their counters.
    pub(super) fn poll_hits(&mut self, now: Moment) {
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

    pub(super) fn hits(&mut self, fault: FaultId, hits: Hits) {
        let Some(track) = self.faults.get_mut(&fault) else {
            return;
        };
        track.hits = Some(hits);
        self.ledger.emit(Body::FaultHits { fault, hits });
    }

    /// What the rules of an instance say about this run's faults there.
    pub(super) fn rules(&mut self, base: &str, asked: Moment, rules: &[crate::drivers::point::RuleSeen]) {
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
            let what = format!("fault {fault} is gone from its injector before its step is over");
            self.ledger.emit(Body::Warning(what));
        }
    }
}

/// Whether after this answer the fault is there or not, and cannot land later.
fn settles(result: &Result<Option<Span>, DriverError>) -> bool {
    !result
        .as_ref()
        .is_err_and(|error| error.certainty() == Took::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_injector_asked_while_the_fault_was_made_says_nothing_by_its_silence() {
        let run = crate::model::ids::RunId::new("7f3a").unwrap();
        let instance = crate::model::ids::InstanceName::new("order-0").unwrap();
        let step = crate::model::ids::StepName::new("s").unwrap();
        let mut track = Track {
            intent: FaultIntent {
                id: FaultId::new(&run, &step, &instance, 0),
                step,
                instance,
                what: "w".into(),
                undo: UndoFault::Load,
                expires_in: None,
            },
            hits: None,
            gone: None,
            live: None,
            vanished: false,
        };
        assert!(!track.must_be_there(Moment(5)));
        track.live = Some(Moment(10));
        assert!(!track.must_be_there(Moment(9)));
        assert!(track.must_be_there(Moment(10)));
        track.gone = Some(Moment(20));
        assert!(!track.must_be_there(Moment(21)));
    }

    #[test]
    fn a_create_that_timed_out_or_broke_off_may_still_land() {
        let what = || "PUT http://order-0/chaos/rules/x".to_owned();
        let timed_out = DriverError::TimedOut {
            what: what(),
            after: Span::seconds(5),
        };
        let lost = DriverError::Lost {
            what: what(),
            why: "reset".into(),
        };
        let refused = DriverError::Refused {
            what: what(),
            status: Some(422),
            answer: "no such point".into(),
        };
        assert!(!settles(&Err(timed_out)) && !settles(&Err(lost)));
        assert!(settles(&Err(refused)) && settles(&Ok(None)));
    }
}
