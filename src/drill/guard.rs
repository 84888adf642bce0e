//! The guard: absolute limits, consecutive *fresh* bad samples, and blindness. Separate from the judge: it never waits
//! for statistics.

use crate::model::{
    drill::{Guard, Hypothesis, Limit, Tripwire},
    event::{GuardState, Health},
    ids::InstanceName,
    sample::{Query, Reading, SourceMs},
    snapshot::BaselineLevels,
    time::{Moment, Span},
};

/// One thing the guard looks at, and what it has seen of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Watch {
    /// Its index in the run's guard list.
    pub index: usize,
    /// What is read.
    pub query: Query,
    /// Over how long; zero reads the newest sample.
    pub window: Span,
    /// The instance, for a tripwire.
    pub instance: Option<InstanceName>,
    limit: Limit,
    samples: u32,
    patience: Span,
    bad: u32,
    last_sample: Option<SourceMs>,
    last_fresh: Option<Moment>,
}

/// The hypotheses as watches; `first` is the index of the first one.
pub fn hypotheses(guard: &Guard) -> Vec<Watch> {
    let of = |(index, h): (usize, &Hypothesis)| Watch {
        index,
        query: Query::new(&h.metric, h.scope.as_ref()),
        window: h.window,
        instance: None,
        limit: h.limit,
        samples: guard.samples,
        patience: guard.every * u64::from(guard.samples),
        bad: 0,
        last_sample: None,
        last_fresh: None,
    };
    guard.steady_state.iter().enumerate().map(of).collect()
}

/// How often tripwires are read.
pub const TRIPWIRE_EVERY: Span = Span::seconds(1);

/// The shortest blindness of a tripwire that aborts: one slow answer of a loaded target is no blindness.
const TRIPWIRE_PATIENCE: Span = Span::seconds(5);

/// The tripwires as watches, one an instance; indices follow those of the hypotheses.
pub fn tripwires(guard: &Guard, targets: &[InstanceName]) -> Vec<Watch> {
    let mut index = guard.steady_state.len();
    let mut all = Vec::new();
    for tripwire in &guard.tripwires {
        for instance in targets {
            all.push(tripwire_watch(index, tripwire, instance));
            index += 1;
        }
    }
    all
}

fn tripwire_watch(index: usize, tripwire: &Tripwire, instance: &InstanceName) -> Watch {
    Watch {
        index,
        query: Query::new(&tripwire.metric, tripwire.scope.as_ref()),
        window: Span::ZERO,
        instance: Some(instance.clone()),
        limit: tripwire.limit,
        samples: tripwire.samples,
        patience: (TRIPWIRE_EVERY * u64::from(tripwire.samples)).max(TRIPWIRE_PATIENCE),
        bad: 0,
        last_sample: None,
        last_fresh: None,
    }
}

impl Watch {
    /// Whether it says nothing without a baseline.
    pub fn needs_baseline(&self) -> bool {
        self.limit.needs_baseline()
    }

    /// Forgets what was seen: a new phase begins its own count.
    pub fn restart(&mut self, now: Moment) {
        self.bad = 0;
        self.last_fresh = Some(now);
    }

    /// Takes a reading. A reading is fresh only if its newest sample is newer than any before; only fresh ones count,
    /// for good or bad, and a gap is never a pass.
    pub fn observe(
        &mut self,
        reading: Reading,
        baseline: Option<&BaselineLevels>,
        now: Moment,
    ) -> GuardState {
        let since = *self.last_fresh.get_or_insert(now);
        let fresh = reading.value.is_ok()
            && !reading.partial
            && self.last_sample.is_none_or(|last| reading.sampled > last);
        let room = reading.value.as_ref().ok().map(|v| self.room(v.0, baseline));
        if fresh {
            self.last_sample = Some(reading.sampled);
            self.last_fresh = Some(now);
            // A NaN room (no baseline yet for a relative limit) is neither good nor bad: nothing is established.
            match room {
                Some(r) if r < 0.0 => self.bad += 1,
                _ => self.bad = 0,
            }
        }
        let health = match () {
            () if self.bad >= self.samples => Health::Broken,
            () if !fresh && now.since(since) >= self.patience => Health::BlindTooLong,
            // A relative limit without a baseline level says nothing: that is no guard that holds.
            () if reading.value.is_err() || room.is_some_and(f64::is_nan) => Health::Blind,
            () if self.bad > 0 => Health::Bad,
            () => Health::Holds,
        };
        GuardState {
            index: self.index,
            reading,
            room: room.filter(|r| r.is_finite()),
            bad: self.bad,
            health,
        }
    }

    /// What is left to the limit; negative when over.
    fn room(&self, value: f64, baseline: Option<&BaselineLevels>) -> f64 {
        match self.limit {
            Limit::AtLeast(limit) => value - limit,
            Limit::AtMost(limit) => limit - value,
            Limit::Within(fraction) => match baseline.and_then(|b| b.levels.get(&self.query)) {
                Some(base) => fraction * base.level.abs() - (value - base.level).abs(),
                None => f64::NAN,
            },
        }
    }
}

/// The shortest and the longest time from the first bad state to an abort: the samples' spacing, and the averaging
/// window that must first fill with bad.
pub fn worst_stop(guard: &Guard) -> (Span, Span) {
    let counted = guard.every * u64::from(guard.samples.saturating_sub(1));
    let widest = guard
        .steady_state
        .iter()
        .map(|h| h.window)
        .max()
        .unwrap_or(Span::ZERO);
    (counted, guard.every * u64::from(guard.samples) + widest)
}

/// The slowest tripwire's time to an abort.
pub fn tripwire_stop(guard: &Guard) -> Option<Span> {
    guard
        .tripwires
        .iter()
        .map(|t| TRIPWIRE_EVERY * u64::from(t.samples))
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{amount::Level, ids::MetricId, sample::Gap};

    fn watch(limit: Limit) -> Watch {
        let guard = Guard {
            every: Span::seconds(10),
            samples: 3,
            steady_state: vec![Hypothesis {
                metric: MetricId::new("m").unwrap(),
                scope: None,
                window: Span::seconds(60),
                limit,
            }],
            tripwires: vec![],
        };
        hypotheses(&guard).remove(0)
    }

    fn read(value: f64, sampled: SourceMs) -> Reading {
        Reading {
            value: Ok(Level(value)),
            age: Span::ZERO,
            sampled,
            partial: false,
        }
    }

    fn gap() -> Reading {
        Reading {
            value: Err(Gap::NoSample),
            age: Span::ZERO,
            sampled: 0,
            partial: false,
        }
    }

    #[test]
    fn three_fresh_bad_samples_in_a_row_break_it() {
        let mut w = watch(Limit::AtMost(10.0));
        let healths: Vec<_> = (1..=3)
            .map(|i| w.observe(read(11.0, i), None, Moment(i as u64 * 1000)).health)
            .collect();
        assert_eq!(healths, [Health::Bad, Health::Bad, Health::Broken]);
    }

    #[test]
    fn the_same_sample_read_three_times_counts_once() {
        let mut w = watch(Limit::AtMost(10.0));
        for i in 1..=5 {
            assert_eq!(w.observe(read(11.0, 7), None, Moment(i * 1000)).bad, 1);
        }
    }

    #[test]
    fn one_good_sample_between_starts_the_count_again() {
        let mut w = watch(Limit::AtLeast(0.99));
        for (i, value) in [0.5, 0.5, 0.995, 0.5].into_iter().enumerate() {
            w.observe(read(value, i as i64 + 1), None, Moment(i as u64));
        }
        assert_eq!(w.observe(read(0.5, 9), None, Moment(9)).bad, 2);
    }

    #[test]
    fn no_data_is_never_a_pass_and_blindness_breaks_it() {
        let mut w = watch(Limit::AtMost(10.0));
        assert_eq!(w.observe(read(1.0, 1), None, Moment(0)).health, Health::Holds);
        assert_eq!(w.observe(gap(), None, Moment(10_000)).health, Health::Blind);
        assert_eq!(
            w.observe(gap(), None, Moment(30_000)).health,
            Health::BlindTooLong
        );
    }

    #[test]
    fn a_stale_good_sample_turns_blind_too() {
        let mut w = watch(Limit::AtMost(10.0));
        w.observe(read(1.0, 1), None, Moment(0));
        assert_eq!(
            w.observe(read(1.0, 1), None, Moment(30_000)).health,
            Health::BlindTooLong
        );
    }

    #[test]
    fn a_gap_does_not_forgive_bad_samples() {
        let mut w = watch(Limit::AtMost(10.0));
        w.observe(read(11.0, 1), None, Moment(0));
        w.observe(read(11.0, 2), None, Moment(1000));
        w.observe(gap(), None, Moment(2000));
        assert_eq!(
            w.observe(read(11.0, 3), None, Moment(3000)).health,
            Health::Broken
        );
    }
}
