//! A group of RocketMQ let go by switching it on and off as its measured progress asks for, and then as it was.
//!
//! RocketMQ has no rate of its own for a group. Switched on, its consumers take what they can; switched off, they ask again only
//! three seconds later. So the rate is kept on the average, in bursts of what the consumers fetch ahead.

use std::{collections::BTreeSet, time::Duration};

use tokio::time::Instant;

use crate::{
    engine::recovery::{Scene, StepEnd, elapsed, queues::count},
    model::{
        recovery::{StepId, StepState},
        time::Span,
    },
};

use super::{COMMIT, Group, LOOK, Position};

/// After it is switched on, how long a consumer may wait before it asks again, and the commit that shows it.
const AWAKE: Duration = Duration::from_secs(3 + COMMIT.as_secs());
/// How far, in seconds of its rate, the group may be ahead or behind before it is switched.
const BAND: f64 = 3.0;

/// Lets the group go at its rate until its backlog is back where it was, then switches it as it stood.
pub(in crate::engine::recovery::queues) async fn release(scene: &Scene, group: &Group<'_>) -> StepEnd {
    // Where no name server answers, the brokers are where the snapshot has them.
    let _ = scene.persist(scene.deadline(), || group.find()).await;
    let first = group.settled(scene).await;
    let mut followed = format!("backlog {}", count(first.backlog()));
    let as_before = first.missing.is_empty() && group.differences(scene, &first).await.0.is_empty();
    if as_before {
        return StepEnd::new(StepState::Nothing, format!("{followed}, as before"));
    }
    if first.backlog() > group.back_at() && !group.switched().is_empty() {
        let (end, detail) = follow(scene, group, first).await;
        followed = detail;
        if end == End::Held {
            let now = group.position(scene).await;
            let (left, _) = group.differences(scene, &now).await;
            return StepEnd::of(StepState::Failed, followed, left);
        }
    }
    // What could not be switched is read again below, and is a leftover there.
    group
        .switch_at(scene, group.switched(), true, scene.deadline())
        .await;
    if group.has_landed(scene).await {
        group
            .switch_at(scene, group.switched(), true, scene.deadline())
            .await;
    }
    let end = awake(scene, group, &followed).await;
    let (left, changed) = group.differences(scene, &end).await;
    if !changed.is_empty() {
        let brokers = changed.join(", ");
        followed += &format!(
            "; its config on {brokers} was changed by somebody meanwhile: only its switch is put back"
        );
    }
    StepEnd::of(StepState::Done, followed, left)
}

/// Consumers that were refused ask again a while later: the backlog grows meanwhile.
async fn awake(scene: &Scene, group: &Group<'_>, followed: &str) -> Position {
    let begin = Instant::now();
    let mut now = group.look().await;
    while now.backlog() > group.back_at() && begin.elapsed() < AWAKE {
        let backlog = count(now.backlog());
        let detail = format!(
            "{followed}; switched on as before, its consumers ask again within 3s: backlog {backlog}"
        );
        scene.waiting(StepId::Release, detail);
        tokio::time::sleep(LOOK).await;
        now = group.look().await;
    }
    now
}

/// How following a backlog ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It is back where it was, or the group could not keep its rate: it may be switched on for good.
    Open,
    /// Out of time with more waiting than may come at once: it stays off.
    Held,
}

/// Follows the backlog down; holds again while a guard is bad. Tells the measured rate.
async fn follow(scene: &Scene, group: &Group<'_>, first: Position) -> (End, String) {
    let begin = Instant::now();
    let deadline = begin + group.queue.within.into();
    let waiting = count(first.backlog());
    let mut duty = Duty::starting(first, group.queue.rate);
    duty.turn(scene, group, true).await;
    loop {
        duty.see(scene, group).await;
        let backlog = duty.now.backlog();
        let measured = duty.measured();
        let detail = format!(
            "backlog {waiting} → {} at {measured} of {}/s, by switching it on and off",
            count(backlog),
            group.queue.rate
        );
        if backlog <= group.back_at() {
            let took = Span::seconds(elapsed(begin).0 / 1000);
            return (End::Open, format!("{detail} in {took}"));
        }
        if Instant::now() >= deadline {
            let (back, within) = (count(group.back_at()), group.queue.within);
            let detail = format!("{detail}; not back at {back} within {within}");
            // Consumers that are slower than the rate make no storm, on or off.
            if duty.is_on() && duty.ahead() < 0.0 {
                return (End::Open, detail);
            }
            duty.turn(scene, group, false).await;
            return (
                End::Held,
                format!("{detail}; it stays switched off: on, all of it would come at once"),
            );
        }
        if let Some(which) = scene.bus.guard_holds() {
            duty.turn(scene, group, false).await;
            while scene.bus.guard_holds().is_some() && Instant::now() < deadline {
                scene.waiting(StepId::Release, format!("held again, the guard is bad: {which}"));
                scene.pause().await;
                duty.see(scene, group).await;
            }
            duty.go_on();
            duty.turn(scene, group, true).await;
            continue;
        }
        scene.waiting(StepId::Release, detail);
        if let Some(on) = duty.wants() {
            duty.turn(scene, group, on).await;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// When the group is on, when off, and what came of it.
struct Duty {
    rate: f64,
    since: Instant,
    from: Position,
    now: Position,
    earlier: (f64, u64),
    on: bool,
    turned: Instant,
    /// Brokers that have not been switched so yet.
    behind: BTreeSet<String>,
}

impl Duty {
    fn starting(from: Position, rate: f64) -> Self {
        let now = copy(&from);
        Self {
            rate,
            since: Instant::now(),
            from,
            now,
            earlier: (0.0, 0),
            on: false,
            turned: Instant::now(),
            behind: BTreeSet::new(),
        }
    }

    fn is_on(&self) -> bool {
        self.on
    }

    /// Looks at the group, and switches it where that is still owed.
    async fn see(&mut self, scene: &Scene, group: &Group<'_>) {
        let now = group.look().await;
        let answers: BTreeSet<String> = now.seen.keys().cloned().collect();
        self.meet(now);
        self.settle(scene, group, &answers).await;
    }

    /// A broker that does not answer stands where it was seen last; one that was never seen begins where it is seen first.
    fn meet(&mut self, now: Position) {
        for (broker, offsets) in now.seen {
            let first = || offsets.clone();
            self.from.seen.entry(broker.clone()).or_insert_with(first);
            self.now.seen.insert(broker, offsets);
        }
    }

    /// Switches the group at the brokers that have not been, and that answer.
    async fn settle(&mut self, scene: &Scene, group: &Group<'_>, answers: &BTreeSet<String>) {
        let owed = |broker: &String| self.behind.contains(broker) && answers.contains(broker);
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
    fn go_on(&mut self) {
        self.earlier = self.total();
        self.from = copy(&self.now);
        self.since = Instant::now();
    }

    fn moved(&self) -> u64 {
        self.now.moved_since(&self.from)
    }

    fn total(&self) -> (f64, u64) {
        let (seconds, moved) = self.earlier;
        (seconds + self.since.elapsed().as_secs_f64(), moved + self.moved())
    }

    fn measured(&self) -> String {
        match self.total() {
            (seconds, moved) if seconds >= COMMIT.as_secs_f64() => {
                format!("{:.1}/s measured", moved as f64 / seconds)
            }
            _ => "--/s measured".to_owned(),
        }
    }

    /// Messages more than the rate allows by now.
    fn ahead(&self) -> f64 {
        self.moved() as f64 - self.rate * self.since.elapsed().as_secs_f64()
    }

    /// Whether to switch now, and how. What is fetched already is told only by the next commit.
    fn wants(&self) -> Option<bool> {
        let ahead = self.ahead();
        match self.on {
            true => (ahead > BAND * self.rate).then_some(false),
            false => (ahead < -BAND * self.rate && self.turned.elapsed() >= COMMIT).then_some(true),
        }
    }

    /// Switches the group everywhere. A broker that does not answer is switched when it does.
    async fn turn(&mut self, scene: &Scene, group: &Group<'_>, on: bool) {
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
    use super::*;
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
