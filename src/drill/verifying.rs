//! The last step: everything holds for the hold time, and a last read of everything finds nothing. Only then may the
//! words ALL CLEAR be said.

use super::{Effect, recovering::Recovering};
use crate::model::{
    event::Body,
    recovery::{Certainty, Leftover, StepId, StepReport, StepState},
    time::{Moment, Span},
};

/// How long after a last read that found something the next one is made.
const READ_AGAIN: Span = Span::seconds(2);

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Verifying {
    pub recovering: Recovering,
    since: Moment,
    holds_since: Option<Moment>,
    missing: Vec<String>,
    reading: bool,
    not_before: Moment,
    /// What remains, once that is known.
    pub left: Option<Vec<Leftover>>,
}

impl Verifying {
    pub fn new(recovering: Recovering, now: Moment) -> Self {
        Self {
            recovering,
            since: now,
            holds_since: None,
            missing: vec!["nothing has been read yet".into()],
            reading: false,
            not_before: now,
            left: None,
        }
    }

    pub fn settling(&mut self, missing: Vec<String>, now: Moment) {
        self.holds_since = if missing.is_empty() {
            self.holds_since.or(Some(now))
        } else {
            None
        };
        self.missing = missing;
    }

    fn held(&self, now: Moment, hold: Span) -> bool {
        self.holds_since.is_some_and(|since| now.since(since) >= hold)
    }

    /// Whether to read everything a last time. Says so once until the answer comes.
    pub fn wants_final_read(&mut self, now: Moment, hold: Span, within: Span) -> bool {
        let out_of_time = now.since(self.since) >= within;
        let wants = !self.reading
            && self.left.is_none()
            && now >= self.not_before
            && (self.held(now, hold) || out_of_time);
        self.reading |= wants;
        wants
    }

    /// What the last read found. Nothing, while everything holds: done. Something: look again, until time is up.
    pub fn final_read(
        &mut self,
        found: Vec<Leftover>,
        repaired: bool,
        now: Moment,
        hold: Span,
        within: Span,
    ) -> Vec<Effect> {
        self.reading = false;
        if repaired {
            // What was put back just now has not held yet.
            self.holds_since = None;
        }
        let held = self.held(now, hold);
        let out_of_time = now.since(self.since) >= within;
        if !out_of_time && (!held || !found.is_empty()) {
            self.not_before = now + READ_AGAIN;
            return vec![Effect::Emit(Body::MayRemain(found))];
        }
        let mut left = found;
        if !held {
            left.extend(self.missing.iter().map(|what| not_settled(what)));
        }
        left.append(&mut self.recovering.reported);
        self.left = Some(left);
        Vec::new()
    }

    /// How the step stands.
    pub fn report(&self, now: Moment, hold: Span) -> StepReport {
        let detail = match (self.missing.first(), self.holds_since) {
            (Some(first), _) if self.missing.len() > 1 => {
                format!("{first}, and {} more", self.missing.len() - 1)
            }
            (Some(first), _) => first.clone(),
            (None, Some(since)) => format!("holds {} of {hold}", Span(now.since(since).0.min(hold.0))),
            (None, None) => String::new(),
        };
        StepReport {
            step: StepId::Verify,
            state: StepState::Waiting,
            detail,
            took: now.since(self.since),
        }
    }
}

fn not_settled(what: &str) -> Leftover {
    Leftover {
        step: StepId::Verify,
        what: what.to_owned(),
        why: "it did not come back and hold in the time that the playbook gives".into(),
        by_hand: None,
        certainty: Certainty::Seen,
    }
}
