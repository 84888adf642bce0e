//! Judging the rows of a group beside the engine, while it runs and once it is over.

use super::{
    exercised::{self, Exercised, Seen},
    rows::{self, Bench},
    verdict::{self, Prepared},
};
use crate::{
    drill::Input,
    engine::{Done, Engine, faults::track::Track},
    model::{
        event::{Body, Doubt},
        ids::StepName,
        phase::{Cause, Phase},
        said::{Said, said},
        sample::Query,
        sheet::{RowId, RowState, Verdict},
    },
};

impl Engine {
    pub(in crate::engine) fn bench(&self) -> Bench<'_> {
        Bench {
            drill: &self.plan.drill,
            schedule: &self.schedule,
            collected: &self.collected,
            baseline: &self.baseline,
            spacing: self.spacing(),
        }
    }

    pub(in crate::engine) fn group_rows(&self, group: usize) -> Vec<RowId> {
        let rows =
            |step: usize| (0..self.plan.drill.steps[step].expect.len()).map(move |row| RowId { step, row });
        self.schedule.members(group).flat_map(rows).collect()
    }

    pub(in crate::engine) fn group_queries(&self, group: usize) -> Vec<Query> {
        let row = |id: RowId| rows::query(&self.plan.drill.steps[id.step].expect[id.row]);
        self.group_rows(group).into_iter().map(row).collect()
    }

    /// Judges the rows of a group beside the engine.
    pub(in crate::engine) fn judge_group(&mut self, group: usize, last: bool) {
        if self.groups.judging && !last {
            return;
        }
        self.groups.judging = true;
        let exercised = self.exercised(group);
        let late = self.late_fault(group);
        let prepared: Vec<_> = self
            .group_rows(group)
            .into_iter()
            .map(|id| {
                let query = rows::query(&self.plan.drill.steps[id.step].expect[id.row]);
                self.bench()
                    .prepare(id, exercised, late.clone(), self.age(&query), last)
            })
            .collect();
        let done = self.done.clone();
        self.tasks.spawn_blocking(move || {
            let rows = prepared.into_iter().map(Prepared::judge).collect();
            let _ = done.send(Done::Judged { group, rows, last });
        });
    }

    pub(in crate::engine) fn judged(&mut self, group: usize, rows: Vec<RowState>, last: bool) {
        self.groups.judging = false;
        if !last {
            let over = self.groups.all.get(&group).is_none_or(|g| g.last);
            for row in rows.into_iter().filter(|_| !over) {
                self.ledger.emit(Body::Row(row));
            }
            return;
        }
        // In a rehearsal everybody knows why.
        let injects = self.plan.purpose.injects();
        if injects && rows.iter().any(|r| r.verdict == Verdict::NotExercised) {
            self.ladder(group);
        }
        for row in rows {
            self.final_row(row);
        }
        if let Some(state) = self.groups.all.get_mut(&group) {
            state.last = true;
        }
        self.report_rows();
    }

    /// Rows are final once: what another keeper judged stays.
    pub(in crate::engine) fn final_row(&mut self, row: RowState) {
        if self.groups.finals.contains_key(&row.row) {
            return;
        }
        self.groups.finals.insert(row.row, row.clone());
        self.ledger.emit(Body::Row(RowState { last: true, ..row }));
    }

    pub(in crate::engine) fn report_rows(&mut self) {
        let over = matches!(self.machine.phase(), Phase::Recovering | Phase::Verifying);
        if over && !self.groups.reported && self.groups.all.values().all(|g| g.last) {
            self.groups.reported = true;
            self.doubt_rowless();
            let verdicts = verdict::verdicts(&self.groups.finals);
            self.feed(Input::RowsFinal(verdicts));
        }
    }

    /// A group without rows has none to be NOT EXERCISED on. Of one that another keeper began no hits are known.
    fn doubt_rowless(&mut self) {
        if !self.plan.purpose.injects() || self.machine.cause() != Some(&Cause::Finished) {
            return;
        }
        let groups: Vec<usize> = self.groups.all.keys().copied().collect();
        for group in groups {
            let breaks = |step: usize| self.schedule.slots[step].breaks;
            let rowless = self.group_rows(group).is_empty() && self.schedule.members(group).any(breaks);
            if !rowless || !self.groups.has_begun(group) {
                continue;
            }
            let exercised = self.exercised(group);
            if exercised == Exercised::No {
                self.ladder(group);
            }
            if exercised != Exercised::Yes {
                let step = self.plan.drill.steps[group].name.clone();
                self.feed(Input::Doubt(Doubt::NotExercised { step }));
            }
        }
    }

    pub(in crate::engine) fn look_for_movers(&mut self, group: usize) {
        let off_sheet = self.bench().off_sheet(group);
        let done = self.done.clone();
        self.tasks.spawn_blocking(move || {
            let _ = done.send(Done::Moved(off_sheet.moved()));
        });
    }

    fn exercised(&self, group: usize) -> Exercised {
        let breaks = |step: usize| self.schedule.slots[step].breaks;
        if !self.plan.purpose.injects() && self.schedule.members(group).any(breaks) {
            return Exercised::No;
        }
        exercised::exercised(&self.schedule, group, |step| {
            let name = &self.plan.drill.steps[step].name;
            let seen = |t: &Track| Seen {
                what: t.intent.what.clone(),
                hits: t.hits,
                vanished: t.vanished,
            };
            self.faults
                .values()
                .filter(|t| &t.intent.step == name)
                .map(seen)
                .collect()
        })
    }

    /// A fault of an earlier group that was still there when this group's windows began to count.
    fn late_fault(&self, group: usize) -> Option<Said> {
        let began = self.groups.all.get(&group)?.began_at?;
        let counts = began + self.plan.drill.window * self.bench().settle(group) as u64;
        let of_group = |name: &StepName| {
            self.plan
                .drill
                .steps
                .iter()
                .position(|s| &s.name == name)
                .map(|i| self.schedule.slots[i].group)
        };
        self.faults
            .values()
            .filter(|t| of_group(&t.intent.step).is_some_and(|other| self.began_before(other, group)))
            .find(|t| t.gone.is_none_or(|gone| gone > counts))
            .map(|t| t.intent.step.as_str())
            .map(|step| {
                said!(
                    "the fault of step {step} was gone too late",
                    "步骤 {step} 的故障清除得太晚"
                )
            })
    }

    fn began_before(&self, other: usize, group: usize) -> bool {
        let began = |g: usize| self.groups.all.get(&g).and_then(|s| s.began_at);
        // Groups that were meant to overlap are the schedule's matter.
        let apart = self.schedule.slots[other].end <= self.schedule.slots[group].start;
        other != group && apart && began(other).is_some()
    }
}
