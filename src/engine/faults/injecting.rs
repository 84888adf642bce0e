//! Making faults: the intent first and durably, then the fault.

use super::track::Track;
use crate::{
    drill::{Input, faults},
    drivers::{
        error::{DriverError, Landing},
        point::Rule,
    },
    engine::{Done, Engine},
    model::{
        drill::{Action, Fault},
        event::{Body, Period},
        ids::FaultId,
        phase::{Cause, Phase},
        said::{Said, said},
        time::Span,
        undo::{FaultIntent, UndoFault},
    },
};

impl Engine {
    /// Begins a step: writes its intents down, then makes its faults, all at the same time.
    pub(in crate::engine) async fn inject(&mut self, index: usize) {
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
        if !plan.purpose.injects() {
            return;
        }
        let made = match faults::intents(&plan, step) {
            Ok(made) => made,
            Err(error) => {
                let (name, error) = (&step.name, error.said());
                let what = said!(error; "{name}: {error}", "{name}：{error}");
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

    async fn write_intents(&mut self, intents: impl Iterator<Item = &FaultIntent>) -> Result<(), Said> {
        let mut intents: Vec<_> = intents.cloned().collect();
        let Some(last) = intents.pop() else { return Ok(()) };
        for intent in intents {
            self.ledger.emit(Body::FaultIntended(intent));
        }
        // Records are written in order: when the last one is durable, so are those before it, unless one failed.
        self.ledger
            .emit_durably(Body::FaultIntended(last))
            .await
            .map_err(|e| e.said())?;
        self.ledger.failure().map_or(Ok(()), |e| Err(e.said()))
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
    pub(in crate::engine) fn injected(&mut self, fault: FaultId, result: Result<Option<Span>, DriverError>) {
        // An answer that never came says nothing: the rule may still land.
        if settles(&result) {
            self.shared.note_answered(&fault);
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
            Err(error) => self.feed(Input::FaultFailed(fault, error.said())),
        }
    }
}

/// Whether after this answer the fault is there or not, and cannot land later.
fn settles(result: &Result<Option<Span>, DriverError>) -> bool {
    !result
        .as_ref()
        .is_err_and(|error| error.landing() == Landing::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

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
