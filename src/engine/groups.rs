//! The groups of steps that are judged together: when each is over, when its rows are final.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Done, Engine,
    injecting::Track,
    rows::{self, Bench, Exercised, Seen},
};
use crate::{
    drill::{Input, schedule::Schedule},
    journal::Facts,
    model::{
        amount::Level,
        drill::Drill,
        event::{Body, Hits, Period},
        ids::StepName,
        phase::Phase,
        sample::Query,
        sheet::{RowId, RowState, Verdict},
        time::{Moment, Span},
        undo::UndoFault,
    },
};

/// How often live rows are judged again, and how often movers are looked for.
const JUDGE_EVERY: Span = Span::seconds(1);
const MOVERS_EVERY: Span = Span::seconds(5);

/// How long after the end of a group its last windows are waited for, beyond twice the spacing of samples.
const LATE: Span = Span::seconds(2);

#[derive(Debug)]
pub(super) struct Groups {
    all: BTreeMap<usize, Group>,
    finals: BTreeMap<RowId, RowState>,
    /// Rows that another keeper left open: nothing more is known of them.
    orphaned: bool,
    judging: bool,
    last_judged: Moment,
    last_moved: Moment,
    reported: bool,
}

#[derive(Debug, Default)]
struct Group {
    begun: BTreeSet<usize>,
    began_at: Option<Moment>,
    /// When its last step ended, or recovery began.
    over_at: Option<Moment>,
    finishing: bool,
    last: bool,
}

impl Groups {
    pub fn new(schedule: &Schedule) -> Self {
        Self {
            all: schedule
                .groups()
                .into_iter()
                .map(|g| (g, Group::default()))
                .collect(),
            finals: BTreeMap::new(),
            orphaned: false,
            judging: false,
            last_judged: Moment::default(),
            last_moved: Moment::default(),
            reported: false,
        }
    }

    /// Takes over what another keeper judged.
    pub fn inherit(&mut self, facts: &Facts) {
        self.finals = facts.rows.clone();
        self.orphaned = true;
    }

    pub fn began(&mut self, group: usize, step: usize, now: Moment) {
        if let Some(g) = self.all.get_mut(&group) {
            g.begun.insert(step);
            g.began_at.get_or_insert(now);
        }
    }

    /// Whether a step has begun and its group is not over.
    pub fn is_running(&self, drill: &Drill, step: &StepName) -> bool {
        let Some(index) = drill.steps.iter().position(|s| &s.name == step) else {
            return false;
        };
        self.all
            .values()
            .any(|g| g.begun.contains(&index) && g.over_at.is_none())
    }
}

impl Engine {
    pub(super) fn bench(&self) -> Bench<'_> {
        Bench {
            drill: &self.plan.drill,
            schedule: &self.schedule,
            collected: &self.collected,
            baseline: &self.baseline,
            spacing: self.spacing(),
        }
    }

    fn group_rows(&self, group: usize) -> Vec<RowId> {
        let rows =
            |step: usize| (0..self.plan.drill.steps[step].expect.len()).map(move |row| RowId { step, row });
        self.schedule.members(group).flat_map(rows).collect()
    }

    fn group_queries(&self, group: usize) -> Vec<Query> {
        let row = |id: RowId| rows::query(&self.plan.drill.steps[id.step].expect[id.row]);
        self.group_rows(group).into_iter().map(row).collect()
    }

    /// Looks for groups that are over and have all their windows, and for rows to judge again.
    pub(super) fn finish_groups(&mut self, now: Moment) {
        self.end_groups(now);
        let due = now.since(self.groups.last_judged) >= JUDGE_EVERY;
        if due {
            self.groups.last_judged = now;
        }
        let moved_due = now.since(self.groups.last_moved) >= MOVERS_EVERY;
        if moved_due {
            self.groups.last_moved = now;
        }
        let groups: Vec<usize> = self.groups.all.keys().copied().collect();
        for group in groups {
            let state = &self.groups.all[&group];
            if state.last || state.begun.is_empty() {
                continue;
            }
            let late = self.spacing() * 2 + LATE + self.plan.drill.window;
            let complete = self
                .collected
                .is_complete(Period::Step(group), &self.group_queries(group));
            let given_up = state.over_at.is_some_and(|over| now.since(over) > late);
            if state.over_at.is_some() && (complete || given_up) {
                self.finish_group(group);
            } else if due {
                self.judge_group(group, false);
                if moved_due {
                    self.look_for_movers(group);
                }
            }
        }
        self.report_rows();
    }

    /// Ends the period of each group whose steps have all run their time.
    fn end_groups(&mut self, now: Moment) {
        if self.machine.phase() != Phase::Running {
            return;
        }
        let window = self.plan.drill.window;
        let Some(began) = self.machine.running_since() else {
            return;
        };
        for (group, state) in &mut self.groups.all {
            let end = self
                .schedule
                .members(*group)
                .map(|s| self.schedule.slots[s].end)
                .max();
            let start = self.schedule.slots[*group].start;
            let Some(end) = end else { continue };
            if state.over_at.is_none() && now >= began + end {
                state.over_at = Some(now);
                self.collected
                    .end(Period::Step(*group), Span(end.0 - start.0).windows(window));
            }
        }
    }

    /// Recovery has begun: every group ends here, and what never began is said not to have.
    pub(super) fn finish_rows(&mut self) {
        let now = self.clock.now();
        let source = self.source_now();
        let window = self.plan.drill.window.0.max(1);
        let orphaned = self.groups.orphaned;
        let groups: Vec<usize> = self.groups.all.keys().copied().collect();
        for group in groups {
            let begun = self.groups.all.get(&group).is_some_and(|g| !g.begun.is_empty());
            if !begun {
                let reason = if orphaned {
                    "the keeper was lost: judge it again from the samples"
                } else {
                    "not begun"
                };
                for id in self.group_rows(group) {
                    self.final_row(no_data(id, reason));
                }
                if let Some(state) = self.groups.all.get_mut(&group) {
                    state.last = true;
                }
                continue;
            }
            // A group that has run its time keeps all its windows; one that is cut short ends here.
            let Some(state) = self.groups.all.get_mut(&group).filter(|g| g.over_at.is_none()) else {
                continue;
            };
            state.over_at = Some(now);
            let period = Period::Step(group);
            let so_far = self
                .collected
                .start(period)
                .map_or(0, |start| (source - start).max(0) as u64 / window);
            self.collected.end(period, so_far as usize);
        }
        self.report_rows();
    }

    fn finish_group(&mut self, group: usize) {
        let Some(state) = self.groups.all.get_mut(&group).filter(|g| !g.finishing) else {
            return;
        };
        state.finishing = true;
        self.look_for_movers(group);
        self.judge_group(group, true);
    }

    /// Judges the rows of a group beside the engine.
    fn judge_group(&mut self, group: usize, last: bool) {
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
            let rows = prepared.into_iter().map(rows::Prepared::judge).collect();
            let _ = done.send(Done::Judged { group, rows, last });
        });
    }

    pub(super) fn judged(&mut self, group: usize, rows: Vec<RowState>, last: bool) {
        self.groups.judging = false;
        if !last {
            let over = self.groups.all.get(&group).is_none_or(|g| g.last);
            for row in rows.into_iter().filter(|_| !over) {
                self.ledger.emit(Body::Row(row));
            }
            return;
        }
        if rows.iter().any(|r| r.verdict == Verdict::NotExercised) {
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
    fn final_row(&mut self, row: RowState) {
        if self.groups.finals.contains_key(&row.row) {
            return;
        }
        self.groups.finals.insert(row.row, row.clone());
        self.ledger.emit(Body::Row(RowState { last: true, ..row }));
    }

    fn report_rows(&mut self) {
        let over = matches!(self.machine.phase(), Phase::Recovering | Phase::Verifying);
        if over && !self.groups.reported && self.groups.all.values().all(|g| g.last) {
            self.groups.reported = true;
            let verdicts = rows::verdicts(&self.groups.finals);
            self.feed(Input::RowsFinal(verdicts));
        }
    }

    fn look_for_movers(&mut self, group: usize) {
        let off_sheet = self.bench().off_sheet(group);
        let done = self.done.clone();
        self.tasks.spawn_blocking(move || {
            let _ = done.send(Done::Moved(off_sheet.moved()));
        });
    }

    fn exercised(&self, group: usize) -> Exercised {
        rows::exercised(&self.schedule, group, |step| {
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
    fn late_fault(&self, group: usize) -> Option<String> {
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
            .map(|t| format!("the fault of step {} was gone too late", t.intent.step))
    }

    fn began_before(&self, other: usize, group: usize) -> bool {
        let began = |g: usize| self.groups.all.get(&g).and_then(|s| s.began_at);
        // Groups that were meant to overlap are the schedule's matter.
        let apart = self.schedule.slots[other].end <= self.schedule.slots[group].start;
        other != group && apart && began(other).is_some()
    }

    /// Why a fault without effect had none: injector, hits, requests, cache.
    fn ladder(&mut self, group: usize) {
        for step in self
            .schedule
            .members(group)
            .filter(|s| self.schedule.slots[*s].breaks)
            .collect::<Vec<_>>()
        {
            let name = self.plan.drill.steps[step].name.clone();
            let mine: Vec<_> = self.faults.values().filter(|t| t.intent.step == name).collect();
            let read: Vec<Hits> = mine.iter().filter_map(|t| t.hits).collect();
            let sum = |f: fn(&Hits) -> u64| read.iter().map(f).sum::<u64>();
            let (hits, misses, capped) = (sum(|h| h.hits), sum(|h| h.misses), sum(|h| h.capped));
            let rule = mine
                .iter()
                .any(|t| matches!(t.intent.undo, UndoFault::Rule { .. }));
            let at_injector = format!("{} of {} were seen there", read.len(), mine.len());
            let came_by = match (rule, misses, capped) {
                (false, ..) => "the load sent nothing".into(),
                (true, 0, 0) => "no call came by the point at all".to_owned(),
                (true, m, 0) => format!("{m} calls came by, and none matched header, instance and share"),
                (true, m, c) => format!("{m} calls came by, and the cap let {c} of them pass"),
            };
            let cache = if misses == 0 {
                "a cache may have answered before the point: look at its hit metric, and at the mark on the traffic"
            } else {
                "not the cause: calls reached the point"
            };
            let rungs = vec![
                ("fault state at the injector".to_owned(), at_injector),
                ("hits".to_owned(), hits.to_string()),
                ("did the request come by".to_owned(), came_by),
                ("did a cache answer".to_owned(), cache.to_owned()),
            ];
            self.ledger.emit(Body::Ladder { step: name, rungs });
        }
    }
}

fn no_data(row: RowId, reason: &str) -> RowState {
    let none: Option<Level> = None;
    RowState {
        row,
        verdict: Verdict::NoData,
        reason: reason.to_owned(),
        before: none,
        now: none,
        low: none,
        high: none,
        windows: 0,
        last: true,
        age: Span::ZERO,
        partial: false,
    }
}
