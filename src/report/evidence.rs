//! All that a report says, gathered from a run's files in one pass, whatever their length and state.

use crate::{
    journal::{self, RunDir},
    model::{
        event::{Body, Event, Header},
        plan::Plan,
    },
    view::RunView,
};

use super::error::ReportError;

/// As many events are told one by one; a longer journal is in the bundle all the same.
const MAX_TIMELINE: usize = 5_000;

/// As many gaps and damaged lines are named one by one.
const MAX_NAMED: usize = 50;

/// What a run's files say.
#[derive(Debug)]
pub struct Evidence {
    /// The run as it is shown.
    pub view: RunView,
    /// The plan, unless it cannot be read.
    pub plan: Option<Plan>,
    /// The events that are not readings.
    pub timeline: Vec<Event>,
    /// What is missing, one line each. Empty for a run whose evidence is whole.
    pub missing: Vec<String>,
}

impl Evidence {
    /// Reads a run.
    ///
    /// # Errors
    /// If the journal is there and cannot be opened. Damage is told in [`Evidence::missing`].
    pub fn of(run: &RunDir) -> Result<Self, ReportError> {
        let mut gathering = Gathering::default();
        for item in journal::stream(run)? {
            match item {
                Ok(event) => gathering.take(event),
                Err(damage) => gathering.gap(format!("cannot be read: {damage}")),
            }
        }
        let plan = run.plan();
        if let Err(e) = &plan {
            gathering.gap(format!("the plan: {e}"));
        }
        Ok(gathering.finish(plan.ok()))
    }

    /// What opened the run, if the journal still says.
    pub fn header(&self) -> Option<&Header> {
        self.view.header.as_deref()
    }
}

#[derive(Default)]
struct Gathering {
    view: RunView,
    timeline: Vec<Event>,
    missing: Vec<String>,
    unnamed: u64,
    untold: u64,
    next: u64,
}

impl Gathering {
    fn take(&mut self, event: Event) {
        let expected = self.next.max(1);
        match event.seq.saturating_sub(expected) {
            0 => {}
            1 => self.gap(format!("event {expected} is missing")),
            _ => self.gap(format!("events {expected} to {} are missing", event.seq - 1)),
        }
        self.next = expected.max(event.seq.saturating_add(1));
        self.view.apply(&event);
        if event.body.is_reading() {
            return;
        }
        if self.timeline.len() < MAX_TIMELINE || matches!(event.body, Body::Closed(_)) {
            self.timeline.push(event);
        } else {
            self.untold += 1;
        }
    }

    fn gap(&mut self, what: String) {
        if self.missing.len() < MAX_NAMED {
            self.missing.push(what);
        } else {
            self.unnamed += 1;
        }
    }

    fn finish(mut self, plan: Option<Plan>) -> Evidence {
        if self.view.header.is_none() {
            self.missing
                .push("the first event, which says what the run is, is missing".to_owned());
        }
        if self.view.outcome.is_none() {
            self.missing
                .push("the run is not closed: its end is missing".to_owned());
        }
        if self.unnamed > 0 {
            self.missing.push(format!("and {} more places", self.unnamed));
        }
        if self.untold > 0 {
            self.missing.push(format!(
                "{} events are not in this list; journal.jsonl has them",
                self.untold
            ));
        }
        Evidence {
            view: self.view,
            plan,
            timeline: self.timeline,
            missing: self.missing,
        }
    }
}
