//! The statistics that decide a row of the sheet. Pure. docs/judge.md explains them; comments in this module name its
//! sections.
//!
//! A row compares a declared interval with the 98 % interval of the measured change. How far two means may
//! differ by chance depends on how strongly neighbouring windows resemble each other and on whether the
//! baseline drifts; the judge does not estimate either, but weighs 24 fixed answers by how well they explain
//! the windows. What cannot be computed never narrows an interval.

mod case;
mod change;
mod constants;
mod expect;
mod judgement;
mod model;
mod movers;
mod noise;
mod predict;
mod quantile;
mod root;
mod series;
mod sparse;
mod steady;
mod student;
mod verdict;
mod windows;

pub use crate::model::sheet::Verdict;
pub use case::{CaseError, parse_case};
pub use change::{Change, Interval, change};
pub use expect::{Bounds, Case, Expect, Unit};
pub use judgement::{End, Judgement, Period, Reason, Straddled};
pub use movers::{Moved, moved, movers};
pub use predict::{level, smallest_detectable, smallest_detectable_after, too_thin};
pub use steady::{Steadiness, must_refuse, steadiness};
pub use verdict::verdict;
pub use windows::{MAX_WINDOWS, Periods, PeriodsError, Windows, settle_windows};
