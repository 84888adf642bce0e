//! Whether anything has to be repaired at all: a healthy end skips to verify.

use crate::model::recovery::{Certainty, StepId};

use super::{Scene, breakers, flags, gateway, pools, queues};

/// What steps 4 and 5 would find.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Repair {
    /// Breakers in another state than before.
    pub breakers: usize,
    /// Flags that the drill caused.
    pub flags: usize,
    /// Messages over where the backlogs were.
    pub backlog_over: u64,
    /// Pools that are busy.
    pub pools_busy: Vec<String>,
    /// Servers and queue switches that a recovery before this one has left as no snapshot has them.
    pub half_done: usize,
    /// What could not be read, and why.
    pub unknown: Vec<String>,
}

impl Repair {
    /// Whether the targets have to be drained first. What is not known counts as broken.
    pub fn is_needed(&self) -> bool {
        *self != Repair::default()
    }
}

/// Reads everything that steps 4 and 5 would put back.
pub async fn needs_repair(scene: &Scene) -> Repair {
    let (breakers, flags, (backlog_over, unread), gateway, queues) = tokio::join!(
        breakers::steps::not_as_before(scene),
        flags::caused(scene),
        queues::backlog_over(scene),
        gateway::differences(scene, StepId::Traffic),
        queues::not_as_before(scene),
    );
    let (pools_busy, unknown_pools) = pools::busy_now(scene);
    let mut repair = Repair {
        backlog_over,
        pools_busy,
        unknown: unread.into_iter().chain(unknown_pools).collect(),
        ..Repair::default()
    };
    for left in gateway.into_iter().chain(queues) {
        match left.certainty {
            Certainty::Seen => repair.half_done += 1,
            Certainty::Unknown => repair
                .unknown
                .push(format!("{}: {}", left.what.en(), left.why.en())),
        }
    }
    for breaker in breakers {
        match breaker.certainty {
            Certainty::Seen => repair.breakers += 1,
            Certainty::Unknown => repair
                .unknown
                .push(format!("{}: {}", breaker.what.en(), breaker.why.en())),
        }
    }
    for found in flags.into_values() {
        match found {
            Ok((count, _)) => repair.flags += count,
            Err(error) => repair.unknown.push(error.to_string()),
        }
    }
    repair
}
