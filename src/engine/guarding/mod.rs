//! Watching while a run goes on: the guard, what it looks at, when, and how a finding is told; beside it the pinned targets,
//! and what is not yet back while recovery is being verified.

mod settling;
mod watching;

use super::{Engine, header};
use crate::{
    drill::{
        Input,
        guard::{self, Watch},
    },
    metrics::Fetch,
    model::{
        event::{GuardState, Health},
        phase::Phase,
        plan::{Plan, Purpose},
        said::{Said, said},
        time::{Moment, Span},
    },
};

/// All that the guard looks at: hypotheses, then tripwires.
pub(super) fn watches(plan: &Plan) -> Vec<Watch> {
    let mut all = guard::hypotheses(&plan.drill.guard);
    if plan.purpose == Purpose::Restore {
        all.retain(|watch| !watch.needs_baseline());
    }
    all.extend(guard::tripwires(&plan.drill.guard, &plan.drill.targets.instances));
    all
}

/// The limits as people read them, with the samples that abort, by index.
pub(super) fn limits(plan: &Plan) -> Vec<(String, u32)> {
    header::header(plan, 0)
        .guard
        .into_iter()
        .map(|g| (g.limit, g.samples))
        .collect()
}

impl Engine {
    /// Evaluates the hypotheses, at the guard's own rhythm.
    pub(super) fn guard(&mut self, now: Moment) {
        let guarded = !matches!(self.machine.phase(), Phase::Preflight | Phase::Closed);
        if !guarded || now.since(self.last_guard) < self.plan.drill.guard.every {
            return;
        }
        self.last_guard = now;
        let mut states = Vec::new();
        if let Some(meters) = &self.meters {
            for watch in self.watches.iter_mut().filter(|w| w.instance.is_none()) {
                let reading = meters.store.reading(&watch.query, watch.window);
                states.push(watch.observe(reading, Some(&self.baseline), now));
            }
        }
        let unread = self
            .meters
            .is_none()
            .then(|| said!("metrics cannot be read", "指标无法读取"));
        let bad = states
            .iter()
            .find(|s| s.health != Health::Holds)
            .map(|s| self.guard_text(s))
            .or(unread);
        self.shared.set_bad_guard(bad);
        for state in states {
            self.guard_seen(state);
        }
    }

    /// A direct reading of a target: its tripwires are evaluated at once.
    pub(super) fn tripped(&mut self, meter: usize, fetch: Fetch) {
        let now = self.clock.now();
        let Some(trip) = self.meters.as_mut().and_then(|m| m.trips.get_mut(meter)) else {
            return;
        };
        trip.store.add(fetch);
        let mut states = Vec::new();
        for watch in self
            .watches
            .iter_mut()
            .filter(|w| w.instance.as_ref() == Some(&trip.instance))
        {
            let reading = trip.store.reading(&watch.query, Span::ZERO);
            states.push(watch.observe(reading, Some(&self.baseline), now));
        }
        for state in states {
            self.guard_seen(state);
        }
    }

    fn guard_seen(&mut self, state: GuardState) {
        if matches!(self.machine.phase(), Phase::Preflight | Phase::Closed) {
            return;
        }
        let text = self.guard_text(&state);
        self.guard_states.insert(state.index, state.clone());
        self.feed(Input::Guard(state, text));
    }

    /// `order_threads_busy order-0 46 (≤ 40), 3 of 3`.
    pub(super) fn guard_text(&self, state: &GuardState) -> Said {
        let Some(watch) = self.watches.iter().find(|w| w.index == state.index) else {
            return Said::as_it_is("");
        };
        let metric = &watch.query.metric;
        let unit = self.plan.drill.dashboard.metric(metric).map(|m| m.unit);
        let value = match (&state.reading.value, unit) {
            (Ok(value), Some(unit)) => Said::as_it_is(unit.show(value.0)),
            (Ok(value), None) => Said::as_it_is(value.0.to_string()),
            (Err(gap), _) => gap.said(),
        };
        let place = watch.instance.as_ref().map(ToString::to_string);
        let place = place
            .or_else(|| watch.query.scope.as_ref().map(ToString::to_string))
            .unwrap_or_default();
        let (limit, samples) = self.limits.get(state.index).cloned().unwrap_or_default();
        let bad = state.bad.min(samples);
        said!(
            value;
            "{metric} {place} {value} ({limit}), {bad} of {samples}",
            "{metric} {place} {value}（{limit}），连续 {bad}/{samples} 次"
        )
    }

    pub(super) fn restart_guard(&mut self) {
        let now = self.clock.now();
        for watch in &mut self.watches {
            watch.restart(now);
        }
    }
}
