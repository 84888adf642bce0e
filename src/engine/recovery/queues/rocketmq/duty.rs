//! The group's duty cycle: when it is on, when off, so that its rate is kept on the average.

use std::collections::BTreeSet;

use tokio::time::Instant;

use crate::{
    engine::recovery::{Scene, queues::rate::Measured},
    model::said::Said,
};

use super::{AWAKE, COMMIT, Group, Progress, position::Position};

/// How far, in seconds of its rate, the group may be ahead or behind before it is switched.
const BAND: f64 = 3.0;

/// When the group is on, when off, and what came of it.
pub(super) struct Duty {
    rate: f64,
    measured: Measured,
    from: Position,
    pub(super) now: Position,
    on: bool,
    turned: Instant,
    /// Brokers that have not been switched so yet.
    behind: BTreeSet<String>,
    /// Brokers that have answered the last look.
    pub(super) answering: BTreeSet<String>,
}

impl Duty {
    pub(super) fn starting(from: Position, rate: f64) -> Self {
        let now = copy(&from);
        Self {
            rate,
            measured: Measured::starting(),
            from,
            now,
            on: false,
            turned: Instant::now(),
            behind: BTreeSet::new(),
            answering: BTreeSet::new(),
        }
    }

    /// Looks at the group, and switches it where that is still owed.
    pub(super) async fn see(&mut self, scene: &Scene, group: &Group<'_>) {
        let now = group.look().await;
        self.meet(now);
        self.settle(scene, group).await;
    }

    /// A broker that does not answer stands where it was seen last; one that was never seen begins where it is seen first.
    fn meet(&mut self, now: Position) {
        self.answering = now.seen.keys().cloned().collect();
        for (broker, offsets) in now.seen {
            let first = || offsets.clone();
            self.from.seen.entry(broker.clone()).or_insert_with(first);
            self.now.seen.insert(broker, offsets);
        }
    }

    /// Switches the group at the brokers that have not been, and that answer.
    async fn settle(&mut self, scene: &Scene, group: &Group<'_>) {
        let owed = |broker: &String| self.behind.contains(broker) && self.answering.contains(broker);
        let brokers: Vec<_> = group
            .switched()
            .into_iter()
            .filter(|at| owed(&at.broker))
            .collect();
        let failed = group
            .switch_at(scene, brokers.clone(), self.on, Instant::now())
            .await;
        let failed: Vec<&str> = failed.iter().map(|(at, _)| at.broker.as_str()).collect();
        let done = brokers.iter().filter(|at| !failed.contains(&at.broker.as_str()));
        for at in done {
            self.behind.remove(&at.broker);
        }
    }

    /// A new stretch, after one in which the group was held.
    pub(super) fn go_on(&mut self) {
        self.measured.rest(self.moved());
        self.from = copy(&self.now);
        self.measured.go_on();
    }

    fn moved(&self) -> u64 {
        self.now.moved_since(&self.from)
    }

    pub(super) fn measured(&self) -> Said {
        self.measured.told(self.moved(), COMMIT.as_secs_f64())
    }

    /// Messages more than the rate allows by now.
    pub(super) fn ahead(&self) -> f64 {
        self.moved() as f64 - self.rate * self.measured.seconds()
    }

    /// Whether to switch now, and how. What is fetched already is told only by the next commit.
    pub(super) fn wants(&self) -> Option<bool> {
        let ahead = self.ahead();
        match self.on {
            true => (ahead > BAND * self.rate).then_some(false),
            false => (ahead < -BAND * self.rate && self.turned.elapsed() >= COMMIT).then_some(true),
        }
    }

    /// Whether the group may be left on with messages waiting, at the brokers that answer: it was on for so long that its consumers
    /// have shown what they take there, and that is less than the rate. Those that ask again only now may make a storm yet.
    pub(super) fn is_slow(&self) -> bool {
        let switched = !self.answering.is_empty() && self.answering.is_disjoint(&self.behind);
        let shown = self.on && switched && self.turned.elapsed() >= AWAKE;
        shown && self.ahead() < -BAND * self.rate
    }

    /// Switches the group everywhere. A broker that does not answer is switched when it does.
    pub(super) async fn turn(&mut self, scene: &Scene, group: &Group<'_>, on: bool) {
        (self.on, self.turned) = (on, Instant::now());
        self.behind = group.switched().iter().map(|at| at.broker.clone()).collect();
        self.see(scene, group).await;
    }
}

fn copy(position: &Position) -> Position {
    Position {
        seen: position.seen.clone(),
        missing: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::LOOK, *};
    use crate::drivers::rocketmq::{Offsets, QueueSeen};

    fn at(broker: &str, offset: i64) -> Position {
        let queue = QueueSeen {
            topic: "t".into(),
            queue: 0,
            at: offset,
            end: 1_000_000,
        };
        Position {
            seen: [(broker.to_owned(), Offsets(vec![queue]))].into(),
            missing: Vec::new(),
        }
    }

    /// Consumers of this speed, which wait three seconds after they have been refused and tell their offsets every five.
    #[tokio::test(start_paused = true)]
    async fn on_the_average_a_burst_a_pause_and_late_offsets_come_to_the_rate() {
        for speed in [500.0, 5000.0] {
            let mut duty = Duty::starting(at("a", 0), 200.0);
            duty.on = true;
            let (mut done, mut told, mut refused) = (0.0, 0.0, 0);
            for step in 0..2400 {
                refused = if duty.on { refused - 1 } else { 12 };
                if refused <= 0 {
                    done += speed * LOOK.as_secs_f64();
                }
                if duty.on || step % 20 == 0 {
                    told = done;
                }
                duty.meet(at("a", told as i64));
                if let Some(on) = duty.wants() {
                    (duty.on, duty.turned) = (on, Instant::now());
                }
                tokio::time::advance(LOOK).await;
            }
            let rate = done / (2400.0 * LOOK.as_secs_f64());
            assert!((rate / 200.0 - 1.0).abs() < 0.03, "{rate}/s at {speed}/s");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn consumers_are_slow_only_once_they_were_on_for_long_enough_to_show_it() {
        let second = std::time::Duration::from_secs(1);
        let mut duty = Duty::starting(at("a", 0), 200.0);
        duty.meet(at("a", 0));
        (duty.on, duty.turned) = (true, Instant::now());
        // Just switched on: nothing has moved, and nobody knows what will.
        assert!(!duty.is_slow());
        tokio::time::advance(AWAKE - second).await;
        assert!(duty.ahead() < 0.0 && !duty.is_slow());
        tokio::time::advance(second).await;
        assert!(duty.is_slow());
        let away = Position {
            missing: vec![("a".into(), nothing())],
            ..Position::default()
        };
        duty.meet(away);
        assert!(!duty.is_slow(), "nobody sees how fast it goes");
        duty.meet(at("a", 0));
        duty.behind.insert("a".into());
        assert!(!duty.is_slow(), "it is not switched on there yet");
        duty.behind.clear();
        (duty.on, duty.turned) = (true, Instant::now());
        assert!(!duty.is_slow(), "switched on anew");
        tokio::time::advance(AWAKE).await;
        duty.meet(at("a", (200.0 * duty.measured.seconds()) as i64));
        assert!(
            !duty.is_slow(),
            "at its rate it is not slow: what is left may come faster"
        );
        duty.on = false;
        duty.meet(at("a", 0));
        assert!(!duty.is_slow(), "off");
    }

    fn nothing() -> crate::drivers::error::DriverError {
        crate::drivers::error::DriverError::Lost {
            what: "a".into(),
            why: "it hung up".into(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_broker_that_is_away_has_not_gone_back() {
        let mut duty = Duty::starting(at("a", 100), 200.0);
        duty.meet(at("b", 5000));
        assert_eq!(duty.moved(), 0, "what is seen first is where it began");
        duty.meet(at("a", 150));
        duty.meet(at("b", 5010));
        assert_eq!(duty.moved(), 60);
        duty.meet(at("b", 5020));
        assert_eq!(duty.moved(), 70);
    }
}
