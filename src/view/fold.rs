//! The fold itself: one event into the view.

use std::collections::VecDeque;

use super::{
    BaselineView, Deadman, FaultState, FaultView, GuardView, LadderView, LevelView, Line, MAX_LINES,
    MAX_REMARKS, MAX_TEXT, MovedView, PhaseView, RecoveringView, RecoveryView, Remark, RowView, RunView,
    SnapshotView, StepView, Stops, line, tone::tone,
};
use crate::model::{
    amount::Level,
    event::{BaselineRow, Body, Event, GuardState, Header, Health, Period},
    ids::FaultId,
    recovery::{Milestone, StepReport},
    sample::Query,
    sheet::{Moved, RowId, RowState},
    snapshot::{BaselineLevels, BreakerState, Snapshot},
    text::{Lang, harmless},
    time::{Moment, Span},
    undo::FaultIntent,
};

impl RunView {
    /// Folds one event in. An event that was folded in already is ignored, so that a snapshot and the events after it
    /// may overlap.
    pub fn apply(&mut self, event: &Event) {
        if event.seq <= self.seq {
            return;
        }
        self.write_journal(event);
        self.seq = event.seq;
        self.at = self.at.max(event.at);
        self.wall = Some(event.wall);
        self.fold(event);
    }

    fn fold(&mut self, event: &Event) {
        let at = event.at;
        match &event.body {
            Body::Opened(header) => self.open(header),
            Body::TakenOver { pid, cause } => self.taken_over = Some((*pid, cause.clone())),
            Body::DeadmanReady { pid } => self.deadman = Deadman::Ready { pid: *pid },
            Body::DeadmanLost { pid } => self.deadman = Deadman::Lost { pid: *pid },
            Body::Phase { phase, until } => {
                self.phase = PhaseView {
                    phase: *phase,
                    since: at,
                    until: *until,
                }
            }
            Body::Check(check) => match self.checks.iter_mut().find(|c| c.what == check.what) {
                Some(known) => *known = check.clone(),
                None => self.checks.push(check.clone()),
            },
            Body::Reach(lines) => {
                self.reach = lines.clone();
                self.reach.retain(|l| l.share.is_finite() && l.holds.is_finite());
            }
            Body::Stops { tripwire, guard } => {
                self.stops = Some(Stops {
                    tripwire: *tripwire,
                    guard: *guard,
                })
            }
            Body::SnapshotTaken(snapshot) => self.snapshot = Some(SnapshotView::of(snapshot)),
            Body::Refused { reasons } => self.refused = reasons.clone(),
            Body::Baseline(row) => self.baseline_row(row.clone(), at),
            Body::CannotArm { reasons } => self.cannot_arm = reasons.clone(),
            Body::Extended { until } => {
                self.phase.until = Some(*until);
                self.cannot_arm.clear();
            }
            Body::Frozen(levels) => self.levels = frozen(levels),
            Body::StepStarted { step, until, .. } => {
                if let Some(view) = self.steps.get_mut(*step) {
                    view.started = Some(at);
                    view.until = Some(*until);
                }
            }
            Body::StepEnded { step } => {
                if let Some(view) = self.steps.get_mut(*step) {
                    view.ended = Some(at);
                }
            }
            Body::FaultIntended(intent) => self.intended(intent),
            Body::FaultLive { fault, expires } => {
                let fault = self.fault(fault);
                fault.state = FaultState::Live;
                fault.expires = *expires;
                fault.live = Some(at);
                fault.gone = None;
            }
            Body::FaultFailed { fault, why } => {
                self.fault(fault).state = FaultState::Uncertain {
                    why: harmless(why, MAX_TEXT),
                }
            }
            Body::FaultHits { fault, hits } => self.fault(fault).hits = Some((*hits, at)),
            Body::FaultGone { fault } => {
                let fault = self.fault(fault);
                fault.state = FaultState::Gone;
                fault.gone = Some(at);
            }
            Body::Window {
                query,
                period,
                window,
            } => self.window(query, *period, window, at),
            Body::Guard(state) => self.guard(state, at),
            Body::Row(row) => self.sheet_row(row, at),
            Body::Moved(moved) => self.moved(moved, at),
            Body::Ladder { step, rungs } => {
                self.ladders.retain(|l| &l.step != step);
                self.ladders.push(LadderView {
                    step: step.clone(),
                    rungs: rungs.clone(),
                });
            }
            Body::Recovering { cause } => {
                if self.recovering.is_none() {
                    self.recovering = Some(RecoveringView {
                        since: at,
                        cause: cause.clone(),
                    });
                }
            }
            Body::Recovery(report) => self.recovery_step(report, at),
            Body::Reached { milestone, after } => self.reached(*milestone, *after, at),
            Body::MayRemain(leftovers) => self.may_remain = leftovers.clone(),
            Body::Note { by, text } => keep(
                &mut self.notes,
                Remark {
                    wall: event.wall,
                    by: Some(harmless(by, MAX_TEXT)),
                    text: harmless(text, MAX_TEXT),
                },
                MAX_REMARKS,
            ),
            Body::Warning(text) => self.warn(event, harmless(text, MAX_TEXT)),
            Body::Watching { consoles } => self.watching = *consoles,
            Body::Notified {
                whom,
                error: Some(error),
            } => self.warn(event, harmless(&format!("{whom}: {error}"), MAX_TEXT)),
            Body::Closed(outcome) => self.outcome = Some(outcome.clone()),
            Body::Notified { error: None, .. } | Body::ChangeIntended(_) => {}
        }
    }

    fn open(&mut self, header: &Header) {
        self.guards = vec![None; header.guard.len()];
        self.steps = vec![StepView::default(); header.steps.len()];
        self.rows = header
            .steps
            .iter()
            .enumerate()
            .flat_map(|(step, s)| (0..s.rows.len()).map(move |row| RowId { step, row }))
            .map(|id| RowView {
                id,
                state: None,
                at: Moment::default(),
            })
            .collect();
        self.header = Some(Box::new(header.clone()));
    }

    fn intended(&mut self, intent: &FaultIntent) {
        let fault = self.fault(&intent.id);
        fault.place = Some((intent.step.clone(), intent.instance.clone()));
        fault.what = harmless(&intent.what, MAX_TEXT);
        fault.state = FaultState::Intended;
    }

    /// The fault of that id. One that was never announced is kept as well: it may be there.
    fn fault(&mut self, id: &FaultId) -> &mut FaultView {
        let place = self.faults.iter().position(|f| &f.id == id).unwrap_or_else(|| {
            self.faults.push(FaultView {
                id: id.clone(),
                place: None,
                what: String::new(),
                state: FaultState::Intended,
                hits: None,
                expires: None,
                live: None,
                gone: None,
            });
            self.faults.len() - 1
        });
        &mut self.faults[place]
    }

    fn guard(&mut self, state: &GuardState, at: Moment) {
        let Some(slot) = self.guards.get_mut(state.index) else {
            return;
        };
        let mut state = state.clone();
        state.room = finite(state.room);
        *slot = Some(GuardView {
            state: state.clone(),
            at,
        });
        let header = self.header.as_ref().and_then(|h| h.guard.get(state.index));
        if let Some(guard) = header.filter(|g| g.instance.is_none()) {
            let query = Query {
                metric: guard.metric.clone(),
                scope: guard.scope.clone(),
            };
            if !self.has_windows(&query) {
                let value = state.reading.value.clone().ok();
                self.point(&query, self.period(), value, at);
            }
        }
    }

    fn sheet_row(&mut self, row: &RowState, at: Moment) {
        let Some(known) = self.rows.iter_mut().find(|r| r.id == row.row) else {
            return;
        };
        if known.state.as_ref().is_some_and(|s| s.last) && !row.last {
            return;
        }
        known.state = Some(row.clone());
        known.at = at;
        let query = self.header.as_ref().and_then(|h| h.row(row.row)).map(|r| Query {
            metric: r.metric.clone(),
            scope: r.scope.clone(),
        });
        if let Some(query) = query.filter(|q| !self.has_windows(q)) {
            self.point(&query, Period::Step(row.row.step), row.now, at);
        }
    }

    fn moved(&mut self, moved: &[Moved], at: Moment) {
        let steps: Vec<_> = match moved {
            [] => self.running_steps(),
            some => some.iter().map(|m| m.step.clone()).collect(),
        };
        let (mut earlier, mut kept) = (Vec::new(), Vec::new());
        for known in std::mem::take(&mut self.moved) {
            if steps.contains(&known.moved.step) {
                earlier.push(known);
            } else {
                kept.push(known);
            }
        }
        for new in moved.iter().filter(|m| m.before.is_finite() && m.now.is_finite()) {
            let same = |k: &&MovedView| k.moved.metric == new.metric && k.moved.step == new.step;
            let since = earlier.iter().find(same).map_or(at, |k| k.since);
            kept.push(MovedView {
                moved: new.clone(),
                since,
            });
        }
        self.moved = kept;
    }

    fn running_steps(&self) -> Vec<crate::model::ids::StepName> {
        let Some(header) = &self.header else {
            return Vec::new();
        };
        let both = header.steps.iter().zip(&self.steps);
        both.filter(|(_, view)| view.runs())
            .map(|(h, _)| h.name.clone())
            .collect()
    }

    fn baseline_row(&mut self, mut row: BaselineRow, at: Moment) {
        for number in [&mut row.half1, &mut row.half2, &mut row.can_show] {
            *number = finite(*number);
        }
        if !self.has_windows(&row.query) {
            self.point(&row.query, Period::Baseline, row.half2.map(Level), at);
        }
        match self.baseline.iter_mut().find(|b| b.row.query == row.query) {
            Some(known) => *known = BaselineView { row, at },
            None => self.baseline.push(BaselineView { row, at }),
        }
    }

    fn recovery_step(&mut self, report: &StepReport, at: Moment) {
        let mut report = report.clone();
        report.detail = harmless(&report.detail, MAX_TEXT);
        let view = RecoveryView { report, at };
        match self
            .recovery
            .binary_search_by_key(&view.report.step, |r| r.report.step)
        {
            Ok(known) => self.recovery[known] = view,
            Err(place) => self.recovery.insert(place, view),
        }
    }

    /// FAULTS GONE says that every fault was read back. That settles those that may never have been made; one that was
    /// seen live needs a read-back of its own.
    fn reached(&mut self, milestone: Milestone, after: Span, at: Moment) {
        match milestone {
            Milestone::FaultsGone => {
                self.times.faults_gone = Some(after);
                for fault in self
                    .faults
                    .iter_mut()
                    .filter(|f| f.may_be_live() && f.live.is_none())
                {
                    fault.state = FaultState::Gone;
                    fault.gone = Some(at);
                }
            }
            Milestone::UsersOk => self.times.users_ok = Some(after),
            Milestone::AllClear => self.times.all_clear = Some(after),
        }
    }

    fn warn(&mut self, event: &Event, text: String) {
        let remark = Remark {
            wall: event.wall,
            by: None,
            text,
        };
        keep(&mut self.warnings, remark, MAX_REMARKS);
    }

    fn write_journal(&mut self, event: &Event) {
        let header = match &event.body {
            Body::Opened(header) => Some(header.as_ref()),
            _ => self.header.as_deref(),
        };
        let Some(header) = header.filter(|_| self.worth_a_line(&event.body)) else {
            return;
        };
        let line = Line {
            wall: event.wall,
            tone: tone(&event.body),
            en: line::line(event, header, Lang::En),
            zh: line::line(event, header, Lang::Zh),
        };
        keep(&mut self.journal, line, MAX_LINES);
        self.lines += 1;
    }

    /// Readings are not in the journal, but a guard whose health has changed is, and a recovery step that begins.
    fn worth_a_line(&self, body: &Body) -> bool {
        match body {
            Body::Guard(state) => self.health(state.index) != state.health,
            Body::Recovery(report) => {
                let known = self.recovery.iter().find(|r| r.report.step == report.step);
                known.is_none_or(|r| r.report.state != report.state)
            }
            other => !other.is_reading(),
        }
    }

    fn health(&self, index: usize) -> Health {
        match self.guards.get(index) {
            Some(Some(guard)) => guard.state.health,
            _ => Health::Holds,
        }
    }
}

/// JSON has no infinity, so that a view sent over the wire would show something else.
fn finite(number: Option<f64>) -> Option<f64> {
    number.filter(|n| n.is_finite())
}

pub(super) fn keep<T>(queue: &mut VecDeque<T>, item: T, most: usize) {
    while queue.len() >= most {
        queue.pop_front();
    }
    queue.push_back(item);
}

impl SnapshotView {
    /// Counts what was read.
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        Self {
            servers: snapshot.gateway.len(),
            breakers: snapshot.breakers.len(),
            not_closed: snapshot
                .breakers
                .iter()
                .filter(|b| b.state != BreakerState::Closed)
                .count(),
            flags: snapshot.flags.iter().map(|f| f.keys.len()).sum(),
            retry_queues: snapshot.retry_queues.len(),
            backlog: snapshot
                .retry_queues
                .iter()
                .fold(0, |sum, q| q.backlog.saturating_add(sum)),
            foreign: snapshot
                .foreign
                .iter()
                .take(MAX_REMARKS)
                .map(|f| harmless(f, MAX_TEXT))
                .collect(),
        }
    }
}

fn frozen(levels: &BaselineLevels) -> Vec<LevelView> {
    let view = |(query, level): (&Query, &crate::model::snapshot::BaselineLevel)| LevelView {
        query: query.clone(),
        level: Level(level.level),
        seen: (Level(level.lowest), Level(level.highest)),
    };
    levels.levels.iter().map(view).collect()
}
