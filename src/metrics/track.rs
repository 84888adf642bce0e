//! The samples of one series, as far back as they are needed.

use std::collections::VecDeque;

use super::fetch::TargetId;
use crate::model::sample::SourceMs;

/// Values at times, oldest first; several values a time for a histogram.
#[derive(Debug)]
pub(super) struct Track {
    target: Option<TargetId>,
    width: usize,
    times: VecDeque<SourceMs>,
    values: VecDeque<f64>,
    resets: VecDeque<SourceMs>,
    last_raw: Vec<f64>,
    not_a_number: Option<SourceMs>,
}

impl Track {
    pub(super) fn new(target: Option<TargetId>, width: usize) -> Self {
        Self {
            target,
            width,
            times: VecDeque::new(),
            values: VecDeque::new(),
            resets: VecDeque::new(),
            last_raw: Vec::new(),
            not_a_number: None,
        }
    }

    /// Adds the next sample of counters that move together. What is kept is the sum of the increments since the first
    /// sample, so that a reset and a vanished series never make it fall. Samples not newer than the newest are
    /// known already. Gives the time since the sample before.
    ///
    /// When any of them falls the process has started anew, and all of them count from zero.
    pub(super) fn count(&mut self, time: SourceMs, raw: &[f64]) -> Option<i64> {
        if self.newest().is_some_and(|newest| time <= newest) {
            return None;
        }
        if raw.iter().any(|x| !x.is_finite()) {
            self.not_a_number = Some(time);
            return None;
        }
        let Some(since) = self.newest().map(|newest| time - newest) else {
            self.push(time, raw.iter().map(|_| 0.0));
            self.last_raw = raw.to_vec();
            return None;
        };
        let reset = raw.iter().zip(&self.last_raw).any(|(now, before)| now < before);
        if reset {
            self.resets.push_back(time);
        }
        let newest_row = self.values.len() - self.width;
        for (i, now) in raw.iter().enumerate() {
            let before = if reset { 0.0 } else { self.last_raw[i] };
            let total = self.values[newest_row + i] + (now - before).max(0.0);
            self.values.push_back(total);
        }
        self.times.push_back(time);
        self.last_raw.copy_from_slice(raw);
        Some(since)
    }

    /// Says that counters stood at zero at that time: a new label set of a target that was alive without it.
    pub(super) fn count_from_zero(&mut self, time: SourceMs) {
        self.count(time, &vec![0.0; self.width]);
    }

    /// Adds the next sample of a gauge; what is not finite is kept as NaN. Gives the time since the sample before.
    pub(super) fn gauge(&mut self, time: SourceMs, value: f64) -> Option<i64> {
        let since = match self.newest() {
            Some(newest) if time <= newest => return None,
            newest => newest.map(|newest| time - newest),
        };
        if !value.is_finite() {
            self.not_a_number = Some(time);
        }
        self.push(
            time,
            [if value.is_finite() { value } else { f64::NAN }].into_iter(),
        );
        since
    }

    fn push(&mut self, time: SourceMs, row: impl Iterator<Item = f64>) {
        self.times.push_back(time);
        self.values.extend(row);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.times.len()
    }

    pub(super) fn target(&self) -> Option<TargetId> {
        self.target
    }

    pub(super) fn newest(&self) -> Option<SourceMs> {
        self.times.back().copied()
    }

    pub(super) fn oldest(&self) -> Option<SourceMs> {
        self.times.front().copied()
    }

    /// When it last was NaN or infinite.
    pub(super) fn not_a_number(&self) -> Option<SourceMs> {
        self.not_a_number
    }

    /// The place of the last sample at or before `edge`.
    pub(super) fn last_at(&self, edge: SourceMs) -> Option<usize> {
        self.times.partition_point(|t| *t <= edge).checked_sub(1)
    }

    pub(super) fn time(&self, place: usize) -> SourceMs {
        self.times[place]
    }

    /// The `i`th value at a place.
    pub(super) fn value(&self, place: usize, i: usize) -> f64 {
        self.values[place * self.width + i]
    }

    /// The samples after `start` and up to `end`, one value a time.
    pub(super) fn inside(
        &self,
        start: SourceMs,
        end: SourceMs,
    ) -> impl Iterator<Item = (SourceMs, f64)> + '_ {
        let from = self.times.partition_point(|t| *t <= start);
        let to = self.times.partition_point(|t| *t <= end).max(from);
        (from..to).map(|place| (self.times[place], self.value(place, 0)))
    }

    /// The times of resets after `start` and up to `end`.
    pub(super) fn resets(&self, start: SourceMs, end: SourceMs) -> impl Iterator<Item = SourceMs> + '_ {
        self.resets
            .iter()
            .copied()
            .filter(move |t| *t > start && *t <= end)
    }

    /// Drops what lies before `edge`, except the last sample there: the edge of a window stands on it.
    pub(super) fn forget_before(&mut self, edge: SourceMs) {
        let drop = self.last_at(edge).unwrap_or(0);
        self.times.drain(..drop);
        self.values.drain(..drop * self.width);
        while self.resets.front().is_some_and(|t| *t <= edge) {
            self.resets.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(samples: &[(SourceMs, f64)]) -> Track {
        let mut track = Track::new(None, 1);
        for (time, value) in samples {
            track.count(*time, &[*value]);
        }
        track
    }

    fn total(track: &Track) -> f64 {
        track.value(track.last_at(SourceMs::MAX).unwrap(), 0)
    }

    #[test]
    fn the_first_value_of_a_counter_is_no_increment() {
        assert_eq!(total(&counted(&[(1, 500.0)])), 0.0);
        assert_eq!(total(&counted(&[(1, 500.0), (2, 503.0)])), 3.0);
    }

    #[test]
    fn after_a_reset_the_new_value_is_the_increment() {
        let track = counted(&[(1, 500.0), (2, 510.0), (3, 4.0), (4, 6.0)]);
        assert_eq!(total(&track), 16.0);
        assert_eq!(track.resets(0, 9).collect::<Vec<_>>(), [3]);
        assert_eq!(
            track.resets(3, 9).count(),
            0,
            "the start edge belongs to the window before"
        );
    }

    #[test]
    fn when_one_bucket_falls_all_count_from_zero() {
        let mut track = Track::new(None, 2);
        track.count(1, &[5.0, 10.0]);
        track.count(2, &[6.0, 7.0]);
        assert_eq!((track.value(1, 0), track.value(1, 1)), (6.0, 7.0));
    }

    #[test]
    fn a_sample_seen_twice_counts_once() {
        let track = counted(&[(1, 5.0), (2, 7.0), (2, 7.0), (1, 5.0), (3, 8.0)]);
        assert_eq!(total(&track), 3.0);
    }

    #[test]
    fn nan_is_no_observation_of_a_counter() {
        let track = counted(&[(1, 5.0), (2, f64::NAN), (3, 8.0)]);
        assert_eq!(total(&track), 3.0);
        assert_eq!(track.last_at(2), Some(0));
        assert_eq!(track.not_a_number(), Some(2));
    }

    #[test]
    fn what_is_forgotten_leaves_the_sample_that_an_edge_stands_on() {
        let mut track = counted(&[(1, 5.0), (2, 7.0), (4, 9.0), (6, 10.0)]);
        track.forget_before(3);
        assert_eq!(track.oldest(), Some(2));
        assert_eq!(total(&track), 5.0);
    }
}
