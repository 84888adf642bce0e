//! The real engine, with a real journal.
#![allow(dead_code, reason = "a bench starts it, a test takes it apart")]

use std::{sync::Arc, time::Duration};

use allclear::{
    drill::schedule::Schedule,
    drivers::Drivers,
    engine::{Ask, Begin, Ledger, Setup},
    journal::{Clock, Journal, StateDir},
    model::{
        event::{Event, Outcome},
        plan::Plan,
        secret::Secrets,
    },
};
use tokio::{sync::mpsc, task::JoinHandle};

/// An engine that only has to be run. It has heard of a deadman.
pub struct Ready {
    pub setup: Setup,
    pub events: mpsc::UnboundedReceiver<Event>,
    pub asks: mpsc::UnboundedSender<Ask>,
    pub state: tempfile::TempDir,
}

/// The engine of a plan, with a journal in the temporary directory.
pub fn ready(plan: Plan) -> Ready {
    let state = tempfile::tempdir().expect("a directory for the journal");
    let dir = StateDir::open(state.path().join("state")).expect("the state directory");
    let run = dir.create_run(&plan, &Secrets::none()).expect("the run");
    let (journal, _) = Journal::open(&run).expect("the journal");
    let (watchers, events) = mpsc::unbounded_channel();
    let (asks, asked) = mpsc::unbounded_channel();
    let setup = Setup {
        schedule: Schedule::of(&plan.drill).expect("a schedule"),
        drivers: Arc::new(Drivers::new(&plan, Secrets::none()).expect("the clients")),
        plan: Arc::new(plan),
        secrets: Secrets::none(),
        clock: Clock,
        ledger: Ledger::new(Clock, 0, journal, watchers),
        asks: asked,
        heartbeat: Box::new(|| {}),
    };
    asks.send(Ask::DeadmanReady { pid: 1 })
        .expect("the engine listens");
    Ready {
        setup,
        events,
        asks,
        state,
    }
}

/// The real engine at work on a plan.
pub struct Engine {
    pub events: mpsc::UnboundedReceiver<Event>,
    pub outcome: JoinHandle<Outcome>,
    asks: mpsc::UnboundedSender<Ask>,
    _state: tempfile::TempDir,
}

impl Engine {
    /// Starts it, with a journal in the temporary directory.
    pub fn start(plan: Plan, begin: Begin) -> Self {
        let ready = ready(plan);
        let running = ready.setup.run(begin);
        Self {
            outcome: tokio::spawn(async move { running.await.outcome }),
            events: ready.events,
            asks: ready.asks,
            _state: ready.state,
        }
    }

    /// The next event that `pick` takes.
    pub async fn until<T>(&mut self, what: &str, mut pick: impl FnMut(&Event) -> Option<T>) -> T {
        let mut last = String::new();
        let wait = async {
            while let Some(event) = self.events.recv().await {
                if let Some(found) = pick(&event) {
                    return Some(found);
                }
                last = format!("{:?}", event.body);
            }
            None
        };
        let found = tokio::time::timeout(Duration::from_secs(120), wait).await;
        found
            .ok()
            .flatten()
            .unwrap_or_else(|| panic!("no {what}; the last event was {last}"))
    }
}
