//! What a run's events add up to: the facts that a keeper needs to go on with it, or to recover it. A pure fold.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{
    event::{Body, Doubt, Event, Header, Hits, Outcome},
    ids::{ClusterName, FaultId, InstanceName},
    phase::{Cause, Phase},
    playbook::SentinelRules,
    recovery::{Leftover, Milestone, StepId, StepReport},
    said::Said,
    sheet::{RowId, RowState},
    snapshot::{BaselineLevels, Changed, Snapshot},
    time::{Moment, Span},
    undo::{ChangeIntent, FaultIntent},
};

use super::read::{Damage, History};

/// Folds events into facts.
pub fn facts<'a>(events: impl IntoIterator<Item = &'a Event>) -> Facts {
    let mut facts = Facts::default();
    for event in events {
        facts.apply(event);
    }
    facts
}

/// The same of a run that was read back, with what its damage may hide.
pub fn facts_of(history: &History) -> Facts {
    Facts {
        snapshot_hidden: hidden_snapshot(history).map(ToString::to_string),
        ..facts(&history.events)
    }
}

/// The damaged record that may have been a later snapshot than the one that counts: it stands behind that, and before the first
/// change.
fn hidden_snapshot(history: &History) -> Option<&Damage> {
    let changes = |e: &&Event| matches!(e.body, Body::FaultIntended(_) | Body::ChangeIntended(_));
    let first_change = history.events.iter().find(changes).map_or(u64::MAX, |e| e.seq);
    let before_it = history.events.iter().take_while(|e| e.seq < first_change);
    let snapshots = before_it.filter(|e| matches!(e.body, Body::SnapshotTaken(_)));
    let counts = snapshots.last()?.seq;
    let mut damage = history.damage.iter();
    damage.find(|d| (counts..first_change).contains(&d.after))
}

/// What a run's events add up to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    /// What opened the run.
    pub header: Option<Header>,
    /// The phase it is in.
    pub phase: Option<Phase>,
    /// Every fault that was ever intended, in the order of the intents.
    pub faults: Vec<FaultFact>,
    /// What was there before, as last read before anything was changed: a later one would take a drained weight for it.
    pub snapshot: Option<Snapshot>,
    /// What somebody had changed since that snapshot, where the one that has it as it was then did not follow.
    pub changed_since: Vec<Changed>,
    /// The damaged record that may have been a later snapshot, read before anything was changed.
    pub snapshot_hidden: Option<String>,
    /// The frozen baseline.
    pub baseline: Option<BaselineLevels>,
    /// The end of each step that has begun, by its index; `None` once it is over.
    pub steps: BTreeMap<usize, StepFact>,
    /// The changes that recovery intended, in order.
    pub changes: Vec<ChangeIntent>,
    /// Why recovery began first, and when.
    pub recovering: Option<(Cause, Moment)>,
    /// The last report of each recovery step that is over.
    pub recovery: BTreeMap<StepId, StepReport>,
    /// The times that were reached, after the start of recovery.
    pub milestones: BTreeMap<Milestone, Span>,
    /// What may remain, by the last list.
    pub may_remain: Vec<Leftover>,
    /// The final rows.
    pub rows: BTreeMap<RowId, RowState>,
    /// What stands against HELD, and on no row.
    pub doubts: Vec<Doubt>,
    /// Why the run was refused.
    pub refused: Option<Vec<Said>>,
    /// How often another keeper has taken over.
    pub takeovers: u32,
    /// How the run ended.
    pub closed: Option<Outcome>,
    /// The number of the last event.
    pub last_seq: u64,
    /// When the last event was.
    pub last_at: Moment,
}

/// A step that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepFact {
    /// When it ends by plan.
    pub until: Moment,
    /// Its start on the clock of the metrics' source.
    pub source_ms: i64,
    /// Whether it is over.
    pub ended: bool,
}

/// A fault that was intended.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultFact {
    /// All that is needed to undo it.
    pub intent: FaultIntent,
    /// When it was intended. A create without an answer may still land after that.
    pub intended_at: Moment,
    /// How far it is known to have come.
    pub state: FaultState,
    /// What it was last seen to have hit.
    pub hits: Hits,
}

/// How far a fault is known to have come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultState {
    /// It may or may not be there.
    Intended,
    /// It is live.
    Live {
        /// When the target drops it by itself.
        expires: Option<Moment>,
    },
    /// It could not be made, or nobody knows whether it was.
    Failed {
        /// Why.
        why: Said,
    },
    /// It was read back as gone.
    Gone,
}

impl Facts {
    /// The faults that were not read back as gone. Each must be undone, whatever else is known of it.
    pub fn not_gone(&self) -> impl Iterator<Item = &FaultFact> {
        self.faults.iter().filter(|f| f.state != FaultState::Gone)
    }

    /// The instances that recovery has restarted, or was about to: none is restarted twice.
    pub fn restarted(&self) -> impl Iterator<Item = &InstanceName> {
        self.changes.iter().filter_map(|change| match change {
            ChangeIntent::Restart { instance, .. } | ChangeIntent::Rollout { instance, .. } => Some(instance),
            _ => None,
        })
    }

    /// The clusters on which recovery has changed quotas or switched groups, or was about to.
    pub fn clusters_changed(&self) -> BTreeSet<ClusterName> {
        let clusters = self.changes.iter().filter_map(|change| match change {
            ChangeIntent::Quota { cluster, .. } => Some(ClusterName::Kafka(cluster.clone())),
            ChangeIntent::Group { cluster, .. } => Some(ClusterName::Rocketmq(cluster.clone())),
            _ => None,
        });
        clusters.collect()
    }

    /// The lists of rules that recovery has set, or was about to: what the sets were answered with is not on record.
    pub fn rules_set(&self) -> impl Iterator<Item = (InstanceName, SentinelRules)> {
        self.changes.iter().filter_map(|change| match change {
            ChangeIntent::Rules { instance, rules, .. } => Some((instance.clone(), *rules)),
            _ => None,
        })
    }

    /// Whether the run has, or may have, changed anything outside.
    pub fn touched(&self) -> bool {
        !self.faults.is_empty() || !self.changes.is_empty()
    }

    /// Takes one more event into account.
    pub fn apply(&mut self, event: &Event) {
        self.last_seq = self.last_seq.max(event.seq);
        self.last_at = event.at;
        match &event.body {
            Body::Opened(header) => self.header = Some((**header).clone()),
            Body::TakenOver { .. } => self.takeovers += 1,
            Body::Phase { phase, .. } => self.phase = Some(*phase),
            Body::SnapshotTaken(snapshot) => {
                if self.snapshot.is_none() || !self.touched() {
                    self.snapshot = Some((**snapshot).clone());
                    self.changed_since.clear();
                }
            }
            Body::ChangedMeanwhile(changed) => self.changed_since.clone_from(changed),
            Body::Refused { reasons } => self.refused = Some(reasons.clone()),
            Body::Frozen(levels) => self.baseline = Some(levels.clone()),
            Body::Row(row) if row.last => {
                self.rows.insert(row.row, row.clone());
            }
            Body::Doubted(doubt) => self.doubts.push(doubt.clone()),
            Body::Recovering { cause } => {
                self.recovering.get_or_insert_with(|| (cause.clone(), event.at));
            }
            Body::Recovery(report) if report.state.is_over() => {
                self.recovery.insert(report.step, report.clone());
            }
            Body::ChangeIntended(change) => self.changes.push(change.clone()),
            Body::Reached { milestone, after } => {
                self.milestones.insert(*milestone, *after);
            }
            Body::MayRemain(list) => self.may_remain = list.clone(),
            Body::Closed(outcome) => {
                self.phase = Some(Phase::Closed);
                self.closed = Some(outcome.clone());
            }
            body => self.apply_to_steps(body, event.at),
        }
    }

    fn apply_to_steps(&mut self, body: &Body, at: Moment) {
        match body {
            Body::StepStarted {
                step,
                until,
                source_ms,
            } => {
                let fact = StepFact {
                    until: *until,
                    source_ms: *source_ms,
                    ended: false,
                };
                self.steps.insert(*step, fact);
            }
            Body::StepEnded { step } => {
                if let Some(fact) = self.steps.get_mut(step) {
                    fact.ended = true;
                }
            }
            Body::FaultIntended(intent) => self.intend(intent, at),
            Body::FaultLive { fault, expires } => self.set(fault, FaultState::Live { expires: *expires }),
            Body::FaultFailed { fault, why } => self.set(fault, FaultState::Failed { why: why.clone() }),
            Body::FaultGone { fault } => self.set(fault, FaultState::Gone),
            Body::FaultHits { fault, hits } => {
                if let Some(fact) = self.fault(fault) {
                    fact.hits = *hits;
                }
            }
            _ => {}
        }
    }

    fn intend(&mut self, intent: &FaultIntent, at: Moment) {
        match self.fault(&intent.id) {
            Some(fact) => {
                fact.intended_at = at;
                fact.state = FaultState::Intended;
            }
            None => self.faults.push(FaultFact {
                intent: intent.clone(),
                intended_at: at,
                state: FaultState::Intended,
                hits: Hits::default(),
            }),
        }
    }

    fn fault(&mut self, id: &FaultId) -> Option<&mut FaultFact> {
        self.faults.iter_mut().find(|f| &f.intent.id == id)
    }

    fn set(&mut self, id: &FaultId, state: FaultState) {
        if let Some(fact) = self.fault(id) {
            fact.state = state;
        }
    }
}
