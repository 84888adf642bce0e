//! The fold itself: one event into the view.

mod faults;
mod journal;
mod measured;

use std::collections::VecDeque;

use self::measured::frozen;
use super::{
    Deadman, FaultState, LadderView, MAX_REMARKS, MAX_TEXT, PhaseView, RecoveringView, RecoveryView, Remark,
    RowView, RunView, SnapshotView, StepView, Stops,
};
use crate::model::{
    event::{Body, Event, Header},
    recovery::StepReport,
    said::{Said, said},
    sheet::RowId,
    snapshot::{BreakerState, Changed, Snapshot},
    text::harmless,
    time::Moment,
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
            Body::ChangedMeanwhile(changed) => {
                for Changed { what, before, now } in changed {
                    let text = said!(
                        what, before, now;
                        "changed during the baseline: {what}: {before} → {now}",
                        "静默观察期间有改动：{what}：{before} → {now}"
                    );
                    self.warn(event, &text);
                }
            }
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
                    why: why.map(|text| harmless(text, MAX_TEXT)),
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
            Body::Doubted(doubt) if self.doubts.len() < MAX_REMARKS => self.doubts.push(doubt.clone()),
            Body::Doubted(_) => {}
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
                    text: Said::as_it_is(harmless(text, MAX_TEXT)),
                },
                MAX_REMARKS,
            ),
            Body::Warning(text) => self.warn(event, text),
            Body::Watching { consoles } => self.watching = *consoles,
            Body::Notified {
                whom,
                error: Some(error),
            } => self.warn(event, &Said::as_it_is(format!("{whom}: {error}"))),
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

    fn recovery_step(&mut self, report: &StepReport, at: Moment) {
        let mut report = report.clone();
        report.detail = report.detail.map(|text| harmless(text, MAX_TEXT));
        let view = RecoveryView { report, at };
        match self
            .recovery
            .binary_search_by_key(&view.report.step, |r| r.report.step)
        {
            Ok(known) => self.recovery[known] = view,
            Err(place) => self.recovery.insert(place, view),
        }
    }

    fn warn(&mut self, event: &Event, text: &Said) {
        let remark = Remark {
            wall: event.wall,
            by: None,
            text: text.map(|text| harmless(text, MAX_TEXT)),
        };
        keep(&mut self.warnings, remark, MAX_REMARKS);
    }
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
