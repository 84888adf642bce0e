//! One fold from events to what is shown. The TUI, the plain reporter, `show`, `replay` and `export` all read a
//! [`RunView`], so they can never disagree.

mod fold;
mod label;
mod line;
mod parts;
mod phrase;
mod series;
mod tone;
mod words;

use std::collections::VecDeque;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use label::{guard_label, row_label, short_age};
pub use line::line;
pub use parts::*;
pub use phrase::{ending_words, undecided_because};
pub(crate) use phrase::{hits_line, ladder_words, reach_line, snapshot_line};

use crate::model::{
    event::{Check, CheckOutcome, Doubt, Header, Health, Outcome, ReachLine, Steadiness},
    ids::InstanceName,
    phase::{Cause, Phase},
    recovery::{Leftover, Milestone, Recovered},
    said::Said,
    sample::Query,
    sheet::{RowId, Verdict},
    time::{Moment, Span},
};

/// Most points kept of one query's chart.
pub const MAX_POINTS: usize = 600;
/// Most lines kept of the journal.
pub const MAX_LINES: usize = 500;
/// Most notes, and most warnings, kept.
pub const MAX_REMARKS: usize = 200;
/// Longest text from outside that is kept in a line, in characters.
pub const MAX_TEXT: usize = 300;

/// Everything that is shown about a run. Also the snapshot that a keeper sends to a console that has just come.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunView {
    /// What opened the run; nothing before that event.
    pub header: Option<Box<Header>>,
    /// The number of the newest event that was folded in.
    pub seq: u64,
    /// Its time.
    pub at: Moment,
    /// Its wall time.
    pub wall: Option<Timestamp>,
    /// Where the run is.
    pub phase: PhaseView,
    /// The guard, as [`Header::guard`] counts it.
    pub guards: Vec<Option<GuardView>>,
    /// The steps, as [`Header::steps`] counts them.
    pub steps: Vec<StepView>,
    /// Every fault that was ever intended, in that order.
    pub faults: Vec<FaultView>,
    /// Rows of the sheet, in the drill's order.
    pub rows: Vec<RowView>,
    /// Metrics that moved and are not on the sheet.
    pub moved: Vec<MovedView>,
    /// Why a step without effect had none.
    pub ladders: Vec<LadderView>,
    /// Rows of the baseline, in the order in which they first came.
    pub baseline: Vec<BaselineView>,
    /// Levels of the baseline, once frozen.
    pub levels: Vec<LevelView>,
    /// The arithmetic of the blast radius.
    pub reach: Vec<ReachLine>,
    /// The worst time from a bad sample to a stop.
    pub stops: Option<Stops>,
    /// What preflight looked at.
    pub checks: Vec<Check>,
    /// What recovery may change, counted.
    pub snapshot: Option<SnapshotView>,
    /// Why the run was refused.
    #[serde(flatten, with = "crate::model::recorded::refused")]
    pub refused: Vec<Said>,
    /// Why the baseline is not fit to arm on, until it is extended.
    #[serde(flatten, with = "crate::model::recorded::cannot_arm")]
    pub cannot_arm: Vec<Said>,
    /// What stands against HELD, and on no row.
    #[serde(default)]
    pub doubts: Vec<Doubt>,
    /// When recovery began, and why.
    pub recovering: Option<RecoveringView>,
    /// The steps of recovery that have reported, in their fixed order.
    pub recovery: Vec<RecoveryView>,
    /// The three times.
    pub times: Times,
    /// What may remain.
    pub may_remain: Vec<Leftover>,
    /// Notes.
    pub notes: VecDeque<Remark>,
    /// Warnings.
    pub warnings: VecDeque<Remark>,
    /// How many consoles look.
    pub watching: usize,
    /// Who watches the keeper.
    pub deadman: Deadman,
    /// Another keeper goes on with the run, and why.
    pub taken_over: Option<(u32, Cause)>,
    /// Charts, by query.
    pub charts: Vec<Chart>,
    /// Queries whose windows hold a value by themselves.
    pub windowed: Vec<Query>,
    /// The newest lines of the journal, without readings.
    pub journal: VecDeque<Line>,
    /// How many lines the journal has had in all.
    pub lines: u64,
    /// How it ended.
    pub outcome: Option<Outcome>,
}

impl RunView {
    /// How many rows have each verdict, in the order of [`Verdict::ALL`]. Rows without one are not counted.
    pub fn verdict_counts(&self) -> [(Verdict, usize); 6] {
        Verdict::ALL.map(|verdict| {
            let of_it = |row: &&RowView| row.state.as_ref().is_some_and(|s| s.verdict == verdict);
            (verdict, self.rows.iter().filter(of_it).count())
        })
    }

    /// Faults that are live, or of which nobody knows that they are not.
    pub fn live_faults(&self) -> impl Iterator<Item = &FaultView> {
        self.faults.iter().filter(|f| f.may_be_live())
    }

    /// The row of that id.
    pub fn row(&self, id: RowId) -> Option<&RowView> {
        self.rows.iter().find(|r| r.id == id)
    }

    /// Rows that contradict the drill's hypothesis.
    pub fn findings(&self) -> impl Iterator<Item = &RowView> {
        let unexpected = |s: &crate::model::sheet::RowState| s.verdict == Verdict::Unexpected;
        self.rows
            .iter()
            .filter(move |r| r.state.as_ref().is_some_and(unexpected))
    }

    /// Checks that refuse the start.
    pub fn refusing_checks(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|c| c.outcome == CheckOutcome::Refused)
    }

    /// Baseline rows that forbid arming.
    pub fn unfit_baseline(&self) -> usize {
        let unfit = |b: &&BaselineView| matches!(b.row.state, Steadiness::Unsteady | Steadiness::TooThin);
        self.baseline.iter().filter(unfit).count()
    }

    /// The guard that stands worst, with its index, if any does not hold. One that only waits for the baseline is not
    /// counted: nothing can be wrong with it yet.
    pub fn worst_guard(&self) -> Option<(usize, &GuardView)> {
        let standing = self
            .guards
            .iter()
            .enumerate()
            .filter_map(|(i, g)| g.as_ref().map(|g| (i, g)));
        standing
            .filter(|(_, g)| g.state.health != Health::Holds && !self.awaits_baseline(g))
            .max_by_key(|(i, g)| (severity(g.state.health), g.state.bad, usize::MAX - i))
    }

    /// Whether a limit relative to the baseline is read well and has nothing yet to be compared with.
    fn awaits_baseline(&self, guard: &GuardView) -> bool {
        let (state, phase) = (&guard.state, self.phase.phase);
        let read = state.health == Health::Blind && state.reading.value.is_ok();
        read && state.room.is_none() && phase == Phase::Baseline
    }

    /// How long recovery has taken by `now`, or took in all.
    pub fn recovering_for(&self, now: Moment) -> Option<Span> {
        let since = self.recovering.as_ref()?.since;
        Some(match (self.times.all_clear, self.phase.phase) {
            (Some(all), _) => all,
            (None, Phase::Closed) => self.phase.since.since(since),
            _ => now.since(since),
        })
    }

    /// Faults on one instance that may be live.
    pub fn live_on<'a>(&'a self, instance: &'a InstanceName) -> impl Iterator<Item = &'a FaultView> {
        self.live_faults().filter(move |f| f.instance() == Some(instance))
    }

    /// What may be said about the end; `None` while the run goes on. ALL CLEAR needs more than the keeper's word: the
    /// events themselves must show that no fault is live and nothing is listed as left.
    pub fn ending(&self) -> Option<Ending> {
        let outcome = self.outcome.as_ref()?;
        let live = self.live_faults().count();
        Some(match outcome.recovered {
            _ if live > 0 => Ending::Contradicted { live },
            _ if outcome.refused => Ending::Refused,
            Recovered::Leftover => Ending::Leftover,
            Recovered::Unknown => Ending::Unknown,
            Recovered::Recovered if !self.may_remain.is_empty() => Ending::Leftover,
            Recovered::Recovered if self.times.all_clear.is_none() => Ending::Untouched,
            Recovered::Recovered => Ending::AllClear,
        })
    }

    /// One of the three times, if nothing that is known stands against it: FAULTS GONE only if no fault may be live, ALL
    /// CLEAR only if nothing may remain either.
    pub fn time_of(&self, milestone: Milestone) -> Option<Span> {
        let time = self.times.of(milestone)?;
        let live = self.live_faults().next().is_some();
        let clear = matches!(self.ending(), None | Some(Ending::AllClear)) && self.may_remain.is_empty();
        let stands = match milestone {
            Milestone::UsersOk => true,
            Milestone::FaultsGone => !live,
            Milestone::AllClear => !live && clear,
        };
        stands.then_some(time)
    }

    /// Wall time at `now`: that of the newest event, and what has passed since.
    pub fn wall_at(&self, moment: Moment) -> Option<Timestamp> {
        let wall = self.wall?;
        let (later, earlier) = (moment.since(self.at).0, self.at.since(moment).0);
        let later = i64::try_from(later).ok()?;
        let earlier = i64::try_from(earlier).ok()?;
        let shift = jiff::SignedDuration::from_millis(later.checked_sub(earlier)?);
        wall.checked_add(shift).ok()
    }

    /// Applies a whole history, for `replay` and tests.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a crate::model::event::Event>) -> Self {
        let mut view = Self::default();
        for event in events {
            view.apply(event);
        }
        view
    }
}

fn severity(health: Health) -> u8 {
    match health {
        Health::Holds => 0,
        Health::Blind => 1,
        Health::Bad => 2,
        Health::BlindTooLong => 3,
        Health::Broken => 4,
    }
}
