//! Judging a run again from its record: for `judge`, with the plan and the windows alone.

use std::collections::BTreeMap;

use super::{
    exercised::{self, Exercised, Seen},
    rows::Bench,
    verdict::was_not_shown,
};
use crate::{
    drill::schedule::{NoSchedule, Schedule},
    engine::meters::collected::Collected,
    journal::History,
    model::{
        event::{Body, Event, Period},
        ids::{FaultId, StepName},
        plan::Plan,
        sheet::{RowId, RowState, Verdict},
        snapshot::BaselineLevels,
        time::{Moment, Span},
    },
};

/// Counters are read twice a second. A fault whose last ones are older than that when its step ends was gone before.
const SILENT: Span = Span::seconds(5);

/// A run judged again.
#[derive(Debug)]
pub struct Rejudged {
    /// The rows, in the sheet's order.
    pub rows: Vec<RowState>,
    /// What the run itself said of them, at last.
    pub recorded: BTreeMap<RowId, RowState>,
}

/// Judges every row again from the windows that the run recorded. What only the run itself could see, that another fault was gone
/// too late or its own too early, stays as it said: nothing is found AS EXPECTED here for want of it.
///
/// # Errors
/// [`NoSchedule`] if the recorded drill has no timeline, which a checked drill always has.
pub fn rejudge(plan: &Plan, history: &History) -> Result<Rejudged, NoSchedule> {
    let schedule = Schedule::of(&plan.drill)?;
    let mut record = Record::default();
    for event in &history.events {
        record.apply(plan, &schedule, event);
    }
    let bench = Bench {
        drill: &plan.drill,
        schedule: &schedule,
        collected: &record.collected,
        baseline: &record.baseline,
        spacing: plan.drill.window,
    };
    let mut rows = Vec::new();
    for (step, s) in plan.drill.steps.iter().enumerate() {
        for row in 0..s.expect.len() {
            let id = RowId { step, row };
            let said = record.rows.get(&id);
            let group = schedule.slots[step].group;
            let exercised = match said {
                Some(said) if was_not_shown(said) => Exercised::Unknown,
                // It saw its faults to the end.
                Some(said) if said.verdict != Verdict::NoData => {
                    record.exercised(plan, &schedule, group, false)
                }
                _ => record.exercised(plan, &schedule, group, true),
            };
            let confounded = said.filter(|said| said.verdict == Verdict::Confounded);
            let late = confounded.map(|said| said.reason.clone());
            let prepared = bench.prepare(id, exercised, late, Span::ZERO, true);
            rows.push(prepared.judge());
        }
    }
    Ok(Rejudged {
        rows,
        recorded: record.rows,
    })
}

#[derive(Default)]
struct Record {
    collected: Collected,
    baseline: BaselineLevels,
    faults: BTreeMap<FaultId, Fault>,
    /// When each step ended, or recovery began.
    ended: BTreeMap<StepName, Moment>,
    last_at: Moment,
    rows: BTreeMap<RowId, RowState>,
}

struct Fault {
    step: StepName,
    seen: Seen,
    /// When its counters were last read.
    told: Moment,
}

impl Record {
    fn apply(&mut self, plan: &Plan, schedule: &Schedule, event: &Event) {
        self.last_at = event.at;
        match &event.body {
            Body::Window {
                query,
                period,
                window,
            } => {
                // The windows' own starts say where their period began.
                if let Period::Baseline | Period::Step(_) = period {
                    self.collected.begin(*period, window.start);
                    self.collected.push(*period, query, window.clone());
                }
            }
            Body::StepStarted { step, source_ms, .. } => {
                self.collected
                    .begin(Period::Step(schedule.slots[*step].group), *source_ms);
            }
            Body::Frozen(levels) => {
                for (query, level) in &levels.levels {
                    self.collected.set_edges(query, &level.edges);
                }
                self.baseline = levels.clone();
            }
            Body::FaultIntended(intent) => {
                let seen = Seen {
                    what: intent.what.clone(),
                    hits: None,
                    vanished: false,
                };
                let fault = Fault {
                    step: intent.step.clone(),
                    seen,
                    told: event.at,
                };
                self.faults.insert(intent.id.clone(), fault);
            }
            Body::FaultHits { fault, hits } => {
                if let Some(fault) = self.faults.get_mut(fault) {
                    fault.seen.hits = Some(*hits);
                    fault.told = event.at;
                }
            }
            Body::StepEnded { step } => self.ended(plan, *step, event.at),
            Body::Recovering { .. } => {
                for step in 0..plan.drill.steps.len() {
                    self.ended(plan, step, event.at);
                }
            }
            Body::Row(row) if row.last => {
                self.rows.insert(row.row, row.clone());
            }
            _ => {}
        }
    }

    fn ended(&mut self, plan: &Plan, step: usize, at: Moment) {
        if let Some(step) = plan.drill.steps.get(step) {
            self.ended.entry(step.name.clone()).or_insert(at);
        }
    }

    /// `silent`: whether a fault whose counters stopped before its step did was gone before its time.
    fn exercised(&self, plan: &Plan, schedule: &Schedule, group: usize, silent: bool) -> Exercised {
        let mut steps = schedule.members(group);
        if !plan.purpose.injects() && steps.any(|step| schedule.slots[step].breaks) {
            return Exercised::No;
        }
        exercised::exercised(schedule, group, |step| {
            let name = &plan.drill.steps[step].name;
            let end = self.ended.get(name).copied().unwrap_or(self.last_at);
            let seen = |fault: &Fault| Seen {
                vanished: silent && end.since(fault.told) > SILENT,
                ..fault.seen.clone()
            };
            let of_step = self.faults.values().filter(|fault| &fault.step == name);
            of_step.map(seen).collect()
        })
    }
}

#[cfg(test)]
mod tests;
