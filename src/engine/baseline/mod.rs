//! The silent baseline: whether each row can be judged at all, and what "back inside its baseline" will mean.

mod fitness;
mod levels;
mod silence;
mod uses;

pub use fitness::{Prepared, prepare};
pub use levels::{PreparedLevels, Ranges, is_inside, prepare_levels};

use super::sheet::rows;
use crate::model::{drill::Drill, sample::Query, time::Span};

/// Over how long a reading is taken that is compared with the baseline while verifying.
pub fn settling_window(drill: &Drill) -> Span {
    drill.recovery.hold.max(drill.window * 5)
}

/// Every query that a row of the sheet looks at, once.
pub fn row_queries(drill: &Drill) -> Vec<Query> {
    let mut all: Vec<Query> = Vec::new();
    for expectation in drill.steps.iter().flat_map(|s| &s.expect) {
        let query = rows::query(expectation);
        if !all.contains(&query) {
            all.push(query);
        }
    }
    all
}
