//! Whether a row can be judged at all with the baseline that it has.

use super::uses::{Use, detectable, uses};
use crate::{
    engine::{meters::collected, sheet::rows::Bench},
    judge::{self, Windows},
    model::{
        dashboard::Read,
        event::{BaselineRow, Period, Steadiness},
        said::{Said, said},
        sample::{Gap, Query},
    },
};

/// A baseline row, ready to be judged on another thread.
#[derive(Debug)]
pub struct Prepared {
    query: Query,
    windows: Windows,
    halves: [Windows; 2],
    usable: usize,
    last_gap: Option<Said>,
    uses: Vec<Use>,
    elapsed: bool,
}

/// Takes all that a baseline row is judged from.
pub fn prepare(bench: &Bench<'_>, query: &Query, elapsed: bool) -> Prepared {
    let raw = bench.collected.raw(Period::Baseline, query);
    let edges = bench.collected.edges(query);
    let nothing = Read::Promql { query: String::new() };
    let read = bench
        .drill
        .dashboard
        .metric(&query.metric)
        .map_or(&nothing, |m| &m.read);
    let (first, second) = raw.split_at(raw.len() / 2);
    let of = |part| collected::windows(part, read, edges);
    Prepared {
        query: query.clone(),
        windows: of(raw),
        halves: [of(first), of(second)],
        usable: raw.iter().filter(|w| w.numbers.is_ok()).count(),
        last_gap: raw
            .iter()
            .rev()
            .find_map(|w| w.numbers.as_ref().err())
            .map(Gap::said),
        uses: uses(bench, query),
        elapsed,
    }
}

impl Prepared {
    /// The row as it stands, and why it cannot be armed on, if it cannot.
    pub fn judge(self) -> (BaselineRow, Option<Said>) {
        let can_show = detectable(&self.windows, &self.uses);
        let (state, why) = self.fitness(can_show);
        let blocks = matches!(state, Steadiness::Unsteady | Steadiness::TooThin).then(|| {
            let (query, why) = (&self.query, why.clone().unwrap_or_else(|| Said::as_it_is("")));
            said!(why; "{query}: {why}", "{query}：{why}")
        });
        let [half1, half2] = self
            .halves
            .each_ref()
            .map(|w| judge::level(w).filter(|x| x.is_finite()));
        let row = BaselineRow {
            query: self.query,
            half1,
            half2,
            n: self.usable,
            can_show: can_show.filter(|x| x.is_finite()),
            state,
            why,
        };
        (row, blocks)
    }

    /// A bound below what the baseline can show will mostly end UNDECIDED: said before the start, not after it.
    fn too_coarse(&self, sdc: Option<f64>) -> Option<Said> {
        let level = judge::level(&self.windows)?;
        let smallest = self
            .uses
            .iter()
            .filter_map(|u| u.expect.smallest_bound(level))
            .reduce(f64::min)?;
        (smallest < sdc?).then(|| {
            said!(
                "its bound is smaller than what can be shown: it will mostly end UNDECIDED",
                "其界限小于可分辨的变化：多半会以未定告终"
            )
        })
    }

    fn fitness(&self, sdc: Option<f64>) -> (Steadiness, Option<Said>) {
        if let Some(thin) = judge::too_thin(&self.windows) {
            let thin = thin.said();
            let why = match &self.last_gap {
                Some(gap) => said!(thin, gap; "{thin}; last: {gap}", "{thin}；最近一次：{gap}"),
                None => thin,
            };
            return (
                if self.elapsed {
                    Steadiness::TooThin
                } else {
                    Steadiness::Watching
                },
                Some(why),
            );
        }
        let refused = self
            .uses
            .iter()
            .any(|u| judge::must_refuse(&self.windows, &u.expect, sdc));
        let moving = judge::steadiness(&self.windows).is_some_and(|s| s.is_unsteady());
        match (refused, moving) {
            (true, _) => (
                Steadiness::Unsteady,
                Some(said!(
                    "it moves by itself: drift or step in the baseline",
                    "自身在变动：基线有漂移或台阶"
                )),
            ),
            (false, true) => (
                Steadiness::Moving,
                Some(said!(
                    "it moves, by less than its row cares for",
                    "有变动，但小于该行关注的幅度"
                )),
            ),
            (false, false) => (Steadiness::Steady, self.too_coarse(sdc)),
        }
    }
}
