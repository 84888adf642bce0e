//! Judging a run again from its record: for `judge`, with the plan and the windows alone.

use std::collections::BTreeMap;

use super::{
    exercised::{self, Exercised, Seen},
    rows::Bench,
};
use crate::{
    drill::schedule::{NoSchedule, Schedule},
    engine::meters::collected::Collected,
    journal::History,
    model::{
        event::{Body, Period},
        ids::{FaultId, StepName},
        plan::Plan,
        sheet::{RowId, RowState, Verdict},
        snapshot::BaselineLevels,
        time::Span,
    },
};

/// A run judged again.
#[derive(Debug)]
pub struct Rejudged {
    /// The rows, in the sheet's order.
    pub rows: Vec<RowState>,
    /// What the run itself said of them.
    pub recorded: BTreeMap<RowId, Verdict>,
}

/// Judges every row again from the windows that the run recorded.
///
/// # Errors
/// [`NoSchedule`] if the recorded drill has no timeline, which a checked drill always has.
pub fn rejudge(plan: &Plan, history: &History) -> Result<Rejudged, NoSchedule> {
    let schedule = Schedule::of(&plan.drill)?;
    let mut record = Record::default();
    for event in &history.events {
        record.apply(&schedule, &event.body);
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
            let group = schedule.slots[step].group;
            let exercised = record.exercised(plan, &schedule, group);
            rows.push(
                bench
                    .prepare(RowId { step, row }, exercised, None, Span::ZERO, true)
                    .judge(),
            );
        }
    }
    Ok(Rejudged {
        rows,
        recorded: record.verdicts,
    })
}

#[derive(Default)]
struct Record {
    collected: Collected,
    baseline: BaselineLevels,
    faults: BTreeMap<FaultId, (StepName, Seen)>,
    verdicts: BTreeMap<RowId, Verdict>,
}

impl Record {
    fn apply(&mut self, schedule: &Schedule, body: &Body) {
        match body {
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
                self.faults.insert(intent.id.clone(), (intent.step.clone(), seen));
            }
            Body::FaultHits { fault, hits } => {
                if let Some((_, seen)) = self.faults.get_mut(fault) {
                    seen.hits = Some(*hits);
                }
            }
            Body::Row(row) if row.last => {
                self.verdicts.insert(row.row, row.verdict);
            }
            _ => {}
        }
    }

    fn exercised(&self, plan: &Plan, schedule: &Schedule, group: usize) -> Exercised {
        exercised::exercised(schedule, group, |step| {
            let name = &plan.drill.steps[step].name;
            self.faults
                .values()
                .filter(|(of, _)| of == name)
                .map(|(_, seen)| seen.clone())
                .collect()
        })
    }
}
