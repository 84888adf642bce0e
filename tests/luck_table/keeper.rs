//! A run whose fault is gone and whose playbook is to be carried out: by the engine, as a keeper that takes over has it.

use std::{sync::Arc, time::Duration};

use allclear::{
    drill::schedule::Schedule,
    drivers::{Drivers, Patience},
    engine::{Ask, Begin, Ledger, Setup, recovery::read_snapshot},
    journal::{Clock, Facts, Journal, StateDir, facts},
    model::{
        event::{Body, CheckOutcome, Event, Outcome},
        ids::FaultId,
        phase::Cause,
        plan::Plan,
        recovery::Leftover,
        secret::Secrets,
        snapshot::BaselineLevels,
        time::Span,
        undo::ChangeIntent,
    },
};
use serde_json::json;
use tokio::sync::mpsc;

use crate::row::PATIENT;

/// No recovery of the table takes that long.
const ENDS: Duration = Duration::from_secs(240);

/// A run, and everything that was written down of it so far.
#[derive(Clone)]
pub struct Run {
    plan: Plan,
    secrets: Secrets,
    patience: Patience,
    events: Vec<Event>,
}

/// What becomes of the keeper at something that it has written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    GoesOn,
    /// It is dead so long afterwards.
    Dies(Duration),
}

/// How a recovery went.
pub struct Ended {
    /// `None`: its keeper died.
    pub outcome: Option<Outcome>,
    /// What may remain, by the last word on it.
    pub left: Vec<Leftover>,
}

impl Run {
    /// A run after preflight and its fault, which is gone.
    pub async fn prepared(plan: Plan, secrets: Secrets, patience: Patience) -> Result<Self, String> {
        let mut run = Self {
            plan,
            secrets,
            patience,
            events: Vec::new(),
        };
        let (snapshot, checks) = read_snapshot(&run.plan, &run.drivers(PATIENT)).await;
        let refused: Vec<_> = checks
            .iter()
            .filter(|c| c.outcome == CheckOutcome::Refused)
            .collect();
        if !refused.is_empty() {
            return Err(format!("preflight refuses: {refused:?}"));
        }
        let fault: FaultId = serde_json::from_value(json!("7f3a01-look-order-0-0")).expect("an id");
        let intent = json!({"id": fault, "step": "look", "instance": "order-0", "what": "a fault", "undo": "load",
            "expires_in": null});
        let story = [
            Body::SnapshotTaken(Box::new(snapshot)),
            Body::Frozen(BaselineLevels::default()),
            Body::FaultIntended(serde_json::from_value(intent).expect("an intent")),
            Body::FaultLive {
                fault: fault.clone(),
                expires: None,
            },
            Body::FaultGone { fault },
        ];
        for body in story {
            run.events.push(Event {
                seq: run.events.len() as u64 + 1,
                at: Clock.now(),
                wall: Clock.wall(),
                body,
            });
        }
        Ok(run)
    }

    fn drivers(&self, patience: Patience) -> Drivers {
        Drivers::with_patience(&self.plan, self.secrets.clone(), patience).expect("the clients")
    }

    /// As if its playbook had given it that long, and its drivers had time for a busy machine.
    pub fn without_haste(mut self) -> Self {
        self.plan.drill.recovery.verify_within = Span::seconds(30);
        self.patience = PATIENT;
        self
    }

    /// Takes the run over. `at_change` is asked at each change that is written down and not made yet.
    pub async fn recover(&mut self, mut at_change: impl FnMut(&ChangeIntent) -> Then) -> Ended {
        let at_record = |body: &Body| match body {
            Body::ChangeIntended(change) => at_change(change),
            _ => Then::GoesOn,
        };
        self.recover_by_record(at_record).await
    }

    /// Takes the run over. `at_record` is asked at each record, once it is written down.
    pub async fn recover_by_record(&mut self, mut at_record: impl FnMut(&Body) -> Then) -> Ended {
        let temp = tempfile::tempdir().expect("a folder");
        let state = StateDir::open(temp.path().join("state")).expect("the state directory");
        let dir = state.create_run(&self.plan, &Secrets::none()).expect("the run");
        let (journal, _) = Journal::open(&dir).expect("the journal");
        let facts: Facts = facts(&self.events);
        let (watchers, mut events) = mpsc::unbounded_channel();
        let (asks, asked) = mpsc::unbounded_channel();
        let setup = Setup {
            schedule: Schedule::of(&self.plan.drill).expect("a schedule"),
            drivers: Arc::new(self.drivers(self.patience)),
            plan: Arc::new(self.plan.clone()),
            secrets: self.secrets.clone(),
            clock: Clock,
            ledger: Ledger::new(Clock, facts.last_seq, journal, watchers),
            asks: asked,
            heartbeat: Box::new(|| {}),
        };
        asks.send(Ask::DeadmanReady { pid: 1 })
            .expect("the engine listens");
        let engine = setup.run(Begin::TakeOver {
            facts: Box::new(facts),
            damage: Vec::new(),
            cause: Cause::Asked { by: "test".into() },
            pause: Span::ZERO,
        });
        let told = &mut self.events;
        let carried_out = async {
            tokio::pin!(engine);
            let mut death = None;
            loop {
                tokio::select! {
                    biased;
                    Some(event) = events.recv() => {
                        let then = at_record(&event.body);
                        told.push(event);
                        match then {
                            Then::Dies(Duration::ZERO) => return None,
                            Then::Dies(late) if death.is_none() => death = Some(Box::pin(tokio::time::sleep(late))),
                            _ => {}
                        }
                    }
                    () = async { death.as_mut().expect("only then").await }, if death.is_some() => return None,
                    ended = &mut engine => {
                        while let Ok(event) = events.try_recv() {
                            told.push(event);
                        }
                        return Some(ended.outcome);
                    }
                }
            }
        };
        let outcome = tokio::time::timeout(ENDS, carried_out)
            .await
            .expect("a recovery ends");
        let left = self.events.iter().rev().find_map(|e| match &e.body {
            Body::MayRemain(left) => Some(left.clone()),
            _ => None,
        });
        Ended {
            outcome,
            left: left.unwrap_or_default(),
        }
    }

    /// The last reports of the steps, for whoever reads a failure.
    pub fn story(&self) -> String {
        let lines = self.events.iter().filter_map(|e| match &e.body {
            Body::Recovery(report) if report.state.is_over() => Some(format!(
                "{:?} {:?}: {}",
                report.step,
                report.state,
                report.detail.en()
            )),
            Body::ChangeIntended(change) => Some(format!("  {change:?}")),
            Body::MayRemain(left) => Some(format!("  remains: {left:?}")),
            Body::Warning(text) => Some(format!("  warning: {}", text.en())),
            _ => None,
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}
