//! What the rows of the sheet want of a baseline.

use crate::{
    engine::sheet::rows::{self, Bench},
    judge::{self, Expect, Windows},
    model::sample::Query,
};

/// What a row of the sheet wants of its metric's baseline.
#[derive(Debug)]
pub(super) struct Use {
    pub(super) expect: Expect,
    pub(super) pause: usize,
    pub(super) planned: usize,
    pub(super) settle: usize,
}

pub(super) fn uses(bench: &Bench<'_>, query: &Query) -> Vec<Use> {
    let mut all = Vec::new();
    for (step, s) in bench.drill.steps.iter().enumerate() {
        for expectation in s.expect.iter().filter(|e| &rows::query(e) == query) {
            all.push(Use {
                expect: rows::expect(&expectation.change),
                pause: bench.schedule.slots[step].start.windows(bench.drill.window),
                planned: bench.planned(step),
                settle: bench.settle_of(step, query),
            });
        }
    }
    all
}

/// The smallest change that all uses of a baseline could show.
pub(super) fn detectable(windows: &Windows, uses: &[Use]) -> Option<f64> {
    uses.iter()
        .filter_map(|u| judge::smallest_detectable_after(windows, u.pause, u.planned, Some(u.settle)))
        .reduce(f64::max)
}
