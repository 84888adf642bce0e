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
    /// Its counters could not be read, or it was gone before its time.
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
            if counters.clone().flatten().any(|h| h.hits > 0) {
                continue;
            }
            if counters.any(|c| c.is_none()) {
                all = Exercised::Unknown;
            } else {
                return Exercised::No;
            }
        }
    }
    all
}
