//! Whether the faults of a group have hit anything.

use std::collections::BTreeSet;

use crate::{drill::schedule::Schedule, model::event::Hits};

/// Whether the fault of a group has hit anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exercised {
    /// It has, or the group has no fault.
    Yes,
    /// It was read, and it has not.
    No,
    /// Its counters could not be read, all of its hits failed, or it was gone before its time.
    Unknown,
}

/// What is known of a fault's effect.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Which fault of its step; the same on every instance.
    pub what: String,
    /// Its counters; `None` if they were never read.
    pub hits: Option<Hits>,
    /// Whether it was gone from its injector before its step was over.
    pub vanished: bool,
}

/// Whether a group's faults have hit anything: every fault of every step that breaks something must have, somewhere.
pub fn exercised(schedule: &Schedule, group: usize, seen: impl Fn(usize) -> Vec<Seen>) -> Exercised {
    let mut all = Exercised::Yes;
    for step in schedule.members(group).filter(|s| schedule.slots[*s].breaks) {
        let seen = seen(step);
        if seen.is_empty() || seen.iter().any(|s| s.vanished) {
            all = Exercised::Unknown;
        }
        let faults: BTreeSet<&String> = seen.iter().map(|s| &s.what).collect();
        for fault in faults {
            let mut counters = seen.iter().filter(|s| &s.what == fault).map(|s| s.hits);
            if counters.clone().flatten().any(took_effect) {
                continue;
            }
            // A load whose every request runs out of time may have hit hard: failed hits are not none.
            if counters.any(|c| c.is_none_or(|h| h.hits > 0)) {
                all = Exercised::Unknown;
            } else {
                return Exercised::No;
            }
        }
    }
    all
}

/// Whether the effect was made on any hit. While others have failed, those that are held may fail as well.
fn took_effect(hits: Hits) -> bool {
    let open = if hits.failed > 0 { u64::from(hits.held) } else { 0 };
    hits.hits > hits.failed.saturating_add(open)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        drill::Start,
        testing::{drill, step},
    };

    fn told(hits: &[Option<Hits>]) -> Exercised {
        let schedule = Schedule::of(&drill(vec![step("a", 10, Start::InOrder, true)])).unwrap();
        let seen = |hits: &Option<Hits>| Seen {
            what: "coupon.query tamper".into(),
            hits: *hits,
            vanished: false,
        };
        exercised(&schedule, 0, |_| hits.iter().map(seen).collect())
    }

    fn counted(hits: u64, failed: u64, held: u32) -> Option<Hits> {
        Some(Hits {
            hits,
            failed,
            held,
            ..Hits::default()
        })
    }

    #[test]
    fn a_fault_whose_every_hit_failed_is_neither_exercised_nor_without_a_hit() {
        assert_eq!(told(&[counted(5, 5, 0)]), Exercised::Unknown);
        assert_eq!(told(&[counted(5, 4, 0)]), Exercised::Yes);
        assert_eq!(told(&[counted(0, 0, 0)]), Exercised::No);
        assert_eq!(told(&[None, counted(0, 0, 0)]), Exercised::Unknown);
        assert_eq!(
            told(&[counted(5, 5, 0), counted(1, 0, 0)]),
            Exercised::Yes,
            "it was made on another instance"
        );
    }

    #[test]
    fn a_hit_that_is_still_held_counts_unless_others_have_failed() {
        assert_eq!(told(&[counted(5, 0, 5)]), Exercised::Yes);
        assert_eq!(told(&[counted(100, 99, 1)]), Exercised::Unknown);
        assert_eq!(told(&[counted(100, 98, 1)]), Exercised::Yes);
    }
}
