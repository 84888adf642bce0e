//! Where a group was, and when: between two commits nobody is told.

use std::collections::VecDeque;

/// How far a group has come, as its commits tell.
#[derive(Debug)]
pub(super) struct Track {
    remembered: f64,
    /// When it was seen to have come how far. The first is not younger than what is remembered, and never gone.
    marks: VecDeque<(f64, f64)>,
}

impl Track {
    pub(super) fn new(remembered: f64) -> Self {
        Self {
            remembered,
            marks: VecDeque::from([(0.0, 0.0)]),
        }
    }

    pub(super) fn sees(&mut self, now: f64, moved: f64) {
        if moved > self.moved() {
            self.marks.push_back((now, moved));
        }
        while self
            .marks
            .get(1)
            .is_some_and(|(at, _)| now - at > self.remembered)
        {
            self.marks.pop_front();
        }
    }

    /// How far it has come, as far as is known.
    pub(super) fn moved(&self) -> f64 {
        self.marks.back().map_or(0.0, |(_, moved)| *moved)
    }

    /// When it was last seen to move.
    pub(super) fn when(&self) -> f64 {
        self.marks.back().map_or(0.0, |(at, _)| *at)
    }

    /// How far it was at a moment. What a commit tells has come evenly since the last one, and in its last `commits` seconds.
    pub(super) fn at(&self, then: f64, commits: f64) -> f64 {
        let next = self.marks.iter().position(|(at, _)| *at > then);
        let Some(next) = next else { return self.moved() };
        let (to, high) = self.marks[next];
        let Some((from, low)) = next.checked_sub(1).map(|before| self.marks[before]) else {
            return high;
        };
        let from = from.max(to - commits);
        low + (high - low) * ((then - from) / (to - from)).clamp(0.0, 1.0)
    }

    /// The most that one commit has told.
    pub(super) fn largest_step(&self) -> f64 {
        let steps = self.marks.iter().zip(self.marks.iter().skip(1));
        steps.map(|((_, from), (_, to))| to - from).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_commits_a_group_moves_evenly_and_after_a_pause_only_at_its_end() {
        let mut track = Track::new(60.0);
        track.sees(5.0, 100.0);
        track.sees(10.0, 200.0);
        track.sees(30.0, 300.0);
        assert_eq!(track.at(7.5, 5.0), 150.0);
        assert_eq!(track.at(20.0, 5.0), 200.0, "nothing is known of the pause");
        assert_eq!(track.at(27.5, 5.0), 250.0);
        assert_eq!(track.at(31.0, 5.0), 300.0);
        assert_eq!(
            (track.moved(), track.when(), track.largest_step()),
            (300.0, 30.0, 100.0)
        );
    }

    #[test]
    fn what_is_forgotten_leaves_the_last_mark_before_it() {
        let mut track = Track::new(10.0);
        for second in 1..=30 {
            track.sees(f64::from(second), f64::from(second));
        }
        assert_eq!(track.at(20.0, 1.0), 20.0);
        assert_eq!(track.at(1.0, 1.0), 19.0, "older than what is remembered");
    }
}
