//! Brokers with quotas, and consumers, to the hundredth of a second: what the tests let a release run against.
//!
//! The rules are those of Kafka 4.4 as observed from outside and documented by its classes `SampledStat`, `Rate` and
//! `ClientQuotaManager`: samples of a second, eleven of them; a window that is never taken for shorter than ten seconds; a fetch of
//! at most ten seconds of the quota, but of one batch at least; a fetch over the quota is answered with nothing, and its
//! connection muted for what went over, divided by the quota. Calibrated against a real broker: see `tests.rs`.

use super::{Pace, Weight};

const SAMPLES: i64 = 11;
const SAMPLE: i64 = 1000;
const TICK: i64 = 10;

#[derive(Debug, Clone, Copy)]
struct Sample {
    start: i64,
    last: i64,
    bytes: f64,
}

impl Sample {
    fn at(now: i64) -> Self {
        Self {
            start: now,
            last: now,
            bytes: 0.0,
        }
    }
}

/// What a broker knows of one client id.
#[derive(Debug, Clone, Default)]
struct Sensor {
    samples: Vec<Sample>,
    current: usize,
}

impl Sensor {
    fn record(&mut self, bytes: f64, now: i64) {
        match self.samples.get(self.current) {
            None => self.samples.push(Sample::at(now)),
            Some(sample) if now - sample.start >= SAMPLE => {
                self.current = (self.current + 1) % (SAMPLES as usize + 1);
                match self.samples.get_mut(self.current) {
                    Some(oldest) => *oldest = Sample::at(now),
                    None => self.samples.push(Sample::at(now)),
                }
            }
            Some(_) => {}
        }
        let sample = &mut self.samples[self.current];
        sample.bytes += bytes;
        sample.last = now;
    }

    /// For how many milliseconds a fetch of so many bytes is muted; 0: it passes.
    fn fetch(&mut self, bytes: f64, quota: f64, now: i64) -> i64 {
        self.record(bytes, now);
        for sample in &mut self.samples {
            if now - sample.last >= SAMPLES * SAMPLE {
                *sample = Sample::at(now);
            }
        }
        let sum: f64 = self.samples.iter().map(|s| s.bytes).sum();
        let since = now - self.samples.iter().map(|s| s.start).min().unwrap_or(now);
        let missing = (SAMPLES - 1 - since / SAMPLE).max(0) * SAMPLE;
        let window = (since + missing) as f64 / 1000.0;
        if sum <= quota * window {
            return 0;
        }
        self.record(-bytes, now);
        (((sum / quota - window) * 1000.0).round() as i64).max(1)
    }
}

/// A topic, its brokers and its consumers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stand {
    pub(super) rate: f64,
    /// Bytes, as they are and as the release thinks.
    pub(super) message: f64,
    pub(super) thought: f64,
    /// Messages a batch.
    pub(super) batch: u32,
    pub(super) partitions: usize,
    pub(super) brokers: usize,
    pub(super) consumers: usize,
    /// Whether each consumer has a client id of its own.
    pub(super) own_ids: bool,
    /// `max.partition.fetch.bytes` and `fetch.max.bytes`.
    pub(super) fetch: [f64; 2],
    /// Milliseconds between commits; 0: after each poll.
    pub(super) commit: i64,
    /// Messages a second that a consumer can work off.
    pub(super) works: f64,
    /// For how many milliseconds the hold still mutes them when the release begins.
    pub(super) muted: i64,
    /// Seconds in which the first broker leads all partitions.
    pub(super) alone: [i64; 2],
    /// Seconds in which no consumer runs.
    pub(super) down: [i64; 2],
    pub(super) seconds: i64,
    /// A quota that stays, instead of the release's.
    pub(super) fixed: Option<f64>,
}

impl Default for Stand {
    fn default() -> Self {
        Self {
            rate: 200.0,
            message: 220.0,
            thought: 220.0,
            batch: 74,
            partitions: 3,
            brokers: 1,
            consumers: 1,
            own_ids: false,
            fetch: [1_048_576.0, 52_428_800.0],
            commit: 5000,
            works: 1e6,
            muted: 4000,
            alone: [0, 0],
            down: [0, 0],
            seconds: 300,
            fixed: None,
        }
    }
}

struct Consumer {
    partitions: Vec<usize>,
    /// By broker, until when it may not ask again.
    muted: Vec<i64>,
    next: usize,
    working_on: Vec<(usize, u32)>,
    until: i64,
    committed: i64,
}

/// Messages worked off by the end of each second.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) rate: f64,
    pub(super) moved: Vec<f64>,
    pub(super) changes: usize,
}

impl Ran {
    /// The least and the most of any minute that begins in these seconds, as multiples of the rate.
    pub(super) fn minutes(&self, from: usize) -> (f64, f64) {
        let pairs = self.moved.iter().zip(self.moved.iter().skip(60)).skip(from);
        let minutes = pairs.map(|(from, to)| (to - from) / 60.0 / self.rate);
        minutes.fold((f64::MAX, 0.0), |(least, most), m| (least.min(m), most.max(m)))
    }

    pub(super) fn whole(&self) -> f64 {
        let seconds = self.moved.len() - 1;
        self.moved[seconds] / seconds as f64 / self.rate
    }
}

impl Stand {
    fn payers(&self) -> usize {
        if self.own_ids { self.consumers } else { 1 }
    }

    /// A fetch of these partitions: its bytes, and the whole messages for each.
    fn fetched(&self, quota: f64, wanted: impl Iterator<Item = usize>) -> (f64, Vec<(usize, u32)>) {
        let batch = self.message * f64::from(self.batch);
        let most = self.fetch[1].min(quota * 10.0);
        let (mut bytes, mut got) = (0.0, Vec::new());
        for partition in wanted {
            let mut part = self.fetch[0].min(most - bytes);
            if bytes == 0.0 {
                part = part.max(batch);
            }
            if part <= 0.0 {
                break;
            }
            bytes += part;
            // The last batch may be cut off: it counts, and is fetched again.
            got.push((partition, (part / batch) as u32 * self.batch));
        }
        (bytes, got)
    }

    fn flows(&self, now: i64) -> usize {
        let brokers = if self.leads_alone(now) { 1 } else { self.brokers };
        (self.payers() * brokers).min(self.partitions)
    }

    fn leads_alone(&self, now: i64) -> bool {
        (self.alone[0] * 1000..self.alone[1] * 1000).contains(&now)
    }

    fn leader(&self, partition: usize, now: i64) -> usize {
        if self.leads_alone(now) {
            0
        } else {
            partition % self.brokers
        }
    }

    pub(super) fn run(&self) -> Ran {
        let weight = Weight {
            message: self.thought,
            batch: self.thought * f64::from(self.batch),
        };
        let mut pace = Pace::new(self.rate, weight, self.flows(0));
        let mut sensors = vec![vec![Sensor::default(); self.payers()]; self.brokers];
        let (mut waiting, mut done, mut committed) = (
            vec![0_u32; self.partitions],
            vec![0_u64; self.partitions],
            vec![0_u64; self.partitions],
        );
        let mut consumers: Vec<Consumer> = (0..self.consumers).map(|c| self.consumer(c)).collect();
        let (mut quota, mut set, mut changes) = (1.0, i64::MIN / 2, 0);
        let mut moved = Vec::new();
        for now in (0..=self.seconds * 1000).step_by(TICK as usize) {
            if now % 500 == 0 {
                pace.flows(self.flows(now));
                let to = pace.quota(now as f64 / 1000.0, &committed).ceil();
                let to = self.fixed.unwrap_or(to);
                if now - set >= 1000 && (to / quota - 1.0).abs() >= 0.05 {
                    (quota, set, changes) = (to, now, changes + 1);
                }
            }
            if now % 1000 == 0 {
                moved.push(done.iter().sum::<u64>() as f64);
            }
            if (self.down[0] * 1000..self.down[1] * 1000).contains(&now) {
                continue;
            }
            for (c, consumer) in consumers.iter_mut().enumerate() {
                for (broker, sensors) in sensors.iter_mut().enumerate() {
                    let asks = |p: &usize| self.leader(*p, now) == broker && waiting[*p] == 0;
                    let mine: Vec<usize> = consumer.partitions.iter().copied().filter(asks).collect();
                    if mine.is_empty() || now < consumer.muted[broker] {
                        continue;
                    }
                    let turn = (0..mine.len()).map(|n| mine[(n + consumer.next) % mine.len()]);
                    let (bytes, got) = self.fetched(quota, turn);
                    let payer = if self.own_ids { c } else { 0 };
                    let mute = sensors[payer].fetch(bytes, quota, now);
                    consumer.muted[broker] = now + mute.max(TICK);
                    if mute == 0 {
                        consumer.next += 1;
                        got.into_iter().for_each(|(p, n)| waiting[p] += n);
                    }
                }
                if now >= consumer.until {
                    consumer.polls(now, self, [&mut done, &mut committed], &mut waiting);
                }
            }
        }
        Ran {
            rate: self.rate,
            moved,
            changes,
        }
    }

    fn consumer(&self, c: usize) -> Consumer {
        let share = |b: usize| self.muted * (1 + (c * 7 + b * 3) as i64 % 5) / 5;
        Consumer {
            partitions: (0..self.partitions)
                .filter(|p| p * self.consumers / self.partitions == c)
                .collect(),
            muted: (0..self.brokers).map(share).collect(),
            next: 0,
            working_on: Vec::new(),
            until: 0,
            committed: c as i64 * 1300 % 5000,
        }
    }
}

impl Consumer {
    /// What it had is worked off, and committed if it is time; up to 500 more are taken up.
    fn polls(&mut self, now: i64, stand: &Stand, [done, committed]: [&mut [u64]; 2], waiting: &mut [u32]) {
        for (partition, messages) in self.working_on.drain(..) {
            done[partition] += u64::from(messages);
        }
        if now - self.committed >= stand.commit {
            self.committed = now;
            self.partitions.iter().for_each(|p| committed[*p] = done[*p]);
        }
        let mut room = 500;
        for partition in &self.partitions {
            let messages = waiting[*partition].min(room);
            if messages > 0 {
                waiting[*partition] -= messages;
                room -= messages;
                self.working_on.push((*partition, messages));
            }
        }
        let takes = f64::from(500 - room) / stand.works * 1000.0;
        self.until = now + (takes as i64).max(TICK);
    }
}
