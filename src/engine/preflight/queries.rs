//! Every query has a number, and those of the guard have a fresh and whole one.

use super::Inspector;
use crate::{
    engine::meters::Meters,
    model::{
        event::CheckOutcome,
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
            let what = format!("query {query}");
            let stale = reading.value.is_ok() && reading.age > oldest;
            match (&reading.value, guarded.contains(query)) {
                (Ok(_), true) if reading.partial => {
                    let next = Some("the guard needs whole answers");
                    self.say(
                        &what,
                        CheckOutcome::Refused,
                        "the source calls its answer incomplete",
                        next,
                    );
                }
                (Ok(_), true) if stale => {
                    let found = format!("the newest sample is {} old", reading.age);
                    let next = Some("look at the target and at its scrape: is it still there?");
                    self.say(&what, CheckOutcome::Refused, found, next);
                }
                (Ok(_), false) if stale => {
                    let found = format!("the newest sample is {} old", reading.age);
                    self.say(&what, CheckOutcome::Warned, found, None);
                }
                (Ok(_), _) => answered += 1,
                (Err(gap), true) => {
                    let next = Some("a guard that cannot be answered now guards nothing");
                    self.say(&what, CheckOutcome::Refused, gap.to_string(), next);
                }
                (Err(Gap::NoTraffic | Gap::NoSample), false) => answered += 1,
                (Err(gap), false) => self.say(&what, CheckOutcome::Warned, gap.to_string(), None),
            }
        }
        let found = format!("{answered} of {} answered", meters.queries.len());
        self.say("queries", CheckOutcome::Passed, found, None);
    }
}
