//! The last step: everything holds for the hold time, and a last read of everything finds nothing. Only then may the
//! words ALL CLEAR be said.

use super::{Effect, order::Recovering};
use crate::model::{
    event::Body,
    recovery::{Certainty, Leftover, StepId, StepReport, StepState},
    said::{Said, said},
    time::{Moment, Span},
    undo::LANDS_WITHIN,
};

/// How long after a last read that found something the next one is made.
const READ_AGAIN: Span = Span::seconds(2);

/// Something that is not yet seen to be back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// What, with its value or why it has none.
    pub what: Said,
    /// Seen to be elsewhere, or not seen at all.
    pub certainty: Certainty,
    /// What a person types to bring it back, where the playbook says so.
    pub by_hand: Option<String>,
}

impl Missing {
    /// A value that is not yet where it was.
    pub fn outside(what: Said) -> Self {
        Self {
            what,
            certainty: Certainty::Seen,
            by_hand: None,
        }
    }

    /// Something of which there is no value now.
    pub fn unread(what: Said) -> Self {
        Self {
            what,
            certainty: Certainty::Unknown,
            by_hand: None,
        }
    }

    /// With the command that brings it back.
    pub fn or_by_hand(self, by_hand: Option<String>) -> Self {
        Self { by_hand, ..self }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Verifying {
    pub recovering: Recovering,
    since: Moment,
    holds_since: Option<Moment>,
    missing: Vec<Missing>,
    reading: bool,
    not_before: Moment,
    /// What the last reads have found, as it was told last.
    told: Vec<Leftover>,
    /// What remains, once that is known.
    pub left: Option<Vec<Leftover>>,
}

impl Verifying {
    pub fn new(recovering: Recovering, now: Moment) -> Self {
        Self {
            recovering,
            since: now,
            holds_since: None,
            missing: vec![Missing::unread(said!("nothing has been read yet", "尚未读取"))],
            reading: false,
            not_before: now,
            told: Vec::new(),
            left: None,
        }
    }

    pub fn settling(&mut self, missing: Vec<Missing>, now: Moment) {
        self.holds_since = if missing.is_empty() {
            self.holds_since.or(Some(now))
        } else {
            None
        };
        self.missing = missing;
    }

    /// A time in which nobody looked is none in which everything held.
    pub fn slept(&mut self) {
        self.holds_since = None;
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

    /// Whether everything is being read.
    pub fn is_reading(&self) -> bool {
        self.reading
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
            return self.tell(found);
        }
        let mut left = found;
        if !held {
            left.extend(self.missing.iter().map(not_settled));
            if left.is_empty() {
                // All of it is back at this moment, and was not for long enough.
                let all = said!("everything, back for {hold} together", "全部项目同时保持 {hold}");
                left.push(not_settled(&Missing::outside(all)));
            }
        }
        left.append(&mut self.recovering.reported);
        self.left = Some(left);
        Vec::new()
    }

    /// Found again as it was is no news.
    fn tell(&mut self, found: Vec<Leftover>) -> Vec<Effect> {
        if found == self.told {
            return Vec::new();
        }
        self.told.clone_from(&found);
        vec![Effect::Emit(Body::MayRemain(found))]
    }

    /// How the step stands. `awaits_rows`: not every row of the sheet is final.
    pub fn report(&self, now: Moment, hold: Span, awaits_rows: bool) -> StepReport {
        let detail = match (self.missing.first(), self.holds_since) {
            (Some(first), _) if self.missing.len() > 1 => {
                let more = self.missing.len() - 1;
                said!(first = first.what; "{first}, and {more} more", "{first}，另有 {more} 项")
            }
            (Some(first), _) => first.what.clone(),
            (None, Some(since)) => {
                let held = Span(now.since(since).0.min(hold.0));
                if self.reading {
                    // It may take a minute, in which nothing else moves.
                    said!(
                        "held {hold}; last read of everything, after changes that may still land ({LANDS_WITHIN} at most)",
                        "已保持 {hold}；末次全读，先等可能迟到的改动（最长 {LANDS_WITHIN}）"
                    )
                } else if awaits_rows && held == hold {
                    said!(
                        "held {hold}; last read of everything once all rows are final",
                        "已保持 {hold}；各行定案后末次全读"
                    )
                } else {
                    said!("holds {held} of {hold}", "已保持 {held}/{hold}")
                }
            }
            (None, None) => Said::as_it_is(""),
        };
        StepReport {
            step: StepId::Verify,
            state: StepState::Waiting,
            detail,
            took: now.since(self.since),
        }
    }
}

fn not_settled(missing: &Missing) -> Leftover {
    let why = match missing.certainty {
        Certainty::Seen => said!(
            "it did not come back and hold in the time that the playbook gives",
            "未在预案给定的时间内恢复并保持"
        ),
        Certainty::Unknown => said!(
            "it could not be read at the end of the time that the playbook gives: whether it is back is not known",
            "预案给定的时间到时未能读取：是否已恢复不明"
        ),
    };
    Leftover {
        step: StepId::Verify,
        what: missing.what.clone(),
        why,
        by_hand: missing.by_hand.clone(),
        certainty: missing.certainty,
    }
}
