//! Every query has a number, and those of the guard have a fresh and whole one.

use super::Inspector;
use crate::{
    engine::meters::Meters,
    model::{
        event::CheckOutcome,
        said::said,
        sample::{Gap, Query},
        time::Span,
    },
};

/// A newest sample that is older, at any spacing of samples, says nothing about now.
const STALE: Span = Span::seconds(5);

impl Inspector {
    pub(super) fn queries(&mut self, meters: &Meters) {
        let plan = self.plan.clone();
        let guarded: Vec<Query> = plan
            .drill
            .guard
            .steady_state
            .iter()
            .map(|h| Query::new(&h.metric, h.scope.as_ref()))
            .collect();
        let mut answered = 0;
        let oldest = (meters.spacing() * 3).max(STALE);
        for query in &meters.queries {
            let reading = meters.store.reading(query, Span::seconds(60));
            let what = said!("query {query}", "查询 {query}");
            let age = reading.age;
            let old = || said!("the newest sample is {age} old", "最新样本已过 {age}");
            let stale = reading.value.is_ok() && reading.age > oldest;
            match (&reading.value, guarded.contains(query)) {
                (Ok(_), true) if reading.partial => {
                    let next = Some(said!("the guard needs whole answers", "守护需要完整的应答"));
                    let found = said!("the source calls its answer incomplete", "来源称其应答不完整");
                    self.say(what, CheckOutcome::Refused, found, next);
                }
                (Ok(_), true) if stale => {
                    let next = Some(said!(
                        "look at the target and at its scrape: is it still there?",
                        "请查看目标及其采集：是否还在？"
                    ));
                    self.say(what, CheckOutcome::Refused, old(), next);
                }
                (Ok(_), false) if stale => {
                    self.say(what, CheckOutcome::Warned, old(), None);
                }
                (Ok(_), _) => answered += 1,
                (Err(gap), true) => {
                    let next = Some(said!(
                        "a guard that cannot be answered now guards nothing",
                        "此刻答不上来的守护，什么也守不住"
                    ));
                    self.say(what, CheckOutcome::Refused, gap.said(), next);
                }
                (Err(Gap::NoTraffic | Gap::NoSample), false) => answered += 1,
                (Err(gap), false) => self.say(what, CheckOutcome::Warned, gap.said(), None),
            }
        }
        let all = meters.queries.len();
        let found = said!("{answered} of {all} answered", "已应答 {answered}/{all} 条");
        self.say(said!("queries", "查询"), CheckOutcome::Passed, found, None);
    }
}
