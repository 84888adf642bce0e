//! The groups of steps that are judged together: when each is over, when its rows are final.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    drill::schedule::Schedule,
    engine::Engine,
    journal::Facts,
    model::{
        amount::Level,
        drill::Drill,
        event::Period,
        ids::StepName,
        phase::Phase,
        said::{Said, said},
        sheet::{RowId, RowState, Verdict},
        time::{Moment, Span},
    },
};

/// How often live rows are judged again, and how often movers are looked for.
const JUDGE_EVERY: Span = Span::seconds(1);

const MOVERS_EVERY: Span = Span::seconds(5);

/// How long after the end of a group its last windows are waited for, beyond twice the spacing of samples.
const LATE: Span = Span::seconds(2);

#[derive(Debug)]
pub(in crate::engine) struct Groups {
    pub all: BTreeMap<usize, Group>,
    pub finals: BTreeMap<RowId, RowState>,
    /// Rows that another keeper left open: nothing more is known of them.
    orphaned: bool,
    pub judging: bool,
    last_judged: Moment,
    last_moved: Moment,
    pub reported: bool,
}

#[derive(Debug, Default)]
pub(in crate::engine) struct Group {
    pub begun: BTreeSet<usize>,
    pub began_at: Option<Moment>,
    /// When its last step ended, or recovery began.
    pub over_at: Option<Moment>,
    finishing: bool,
    pub last: bool,
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

    /// Whether it has begun, in this keeper's time or perhaps in that of one before.
    pub fn has_begun(&self, group: usize) -> bool {
        self.orphaned || self.all.get(&group).is_some_and(|g| !g.begun.is_empty())
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
    /// Looks for groups that are over and have all their windows, and for rows to judge again.
    pub(in crate::engine) fn finish_groups(&mut self, now: Moment) {
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
    pub(in crate::engine) fn finish_rows(&mut self) {
        let now = self.clock.now();
        let source = self.source_now();
        let window = self.plan.drill.window.0.max(1);
        let orphaned = self.groups.orphaned;
        let groups: Vec<usize> = self.groups.all.keys().copied().collect();
        for group in groups {
            let begun = self.groups.all.get(&group).is_some_and(|g| !g.begun.is_empty());
            if !begun {
                let reason = if orphaned {
                    said!(
                        "the keeper was lost: judge it again from the samples",
                        "守护进程已丢失：请用采样重新判定"
                    )
                } else {
                    said!("not begun", "未开始")
                };
                for id in self.group_rows(group) {
                    self.final_row(no_data(id, reason.clone()));
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
}

fn no_data(row: RowId, reason: Said) -> RowState {
    let none: Option<Level> = None;
    RowState {
        row,
        verdict: Verdict::NoData,
        reason,
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
