//! A rule that is in force: its counters, its deadline, the calls it holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::headers::{Headers, Mark};
use super::locked::Locked;
use super::rule::{Fault, Rule};

/// What became of a call at a rule.
pub(super) enum Match {
    Hit,
    Passed,
    Capped,
}

/// A rule in force on this instance.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) rule: Rule,
    /// Cancelled when the rule is deleted or has expired: held calls go on at once.
    pub(super) gone: CancellationToken,
    pub(super) expires: Instant,
    created: Instant,
    mine: bool,
    marks: Vec<Mark>,
    hits: AtomicU64,
    point_hits: Arc<AtomicU64>,
    misses: AtomicU64,
    capped: AtomicU64,
    pub(super) failed: AtomicU64,
    held: AtomicU32,
    draws: AtomicU64,
    ballast: Locked<Vec<u8>>,
}

/// A rule and what it has done so far, as `GET /chaos/rules` shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuleState {
    /// The rule as it was put.
    #[serde(flatten)]
    pub rule: Rule,
    /// Calls that were hit.
    pub hits: u64,
    /// Calls that came by the point and did not match (header, instance, percent, window).
    pub misses: u64,
    /// Hits whose fault could not be carried out, such as a tampered value that is not there.
    pub failed: u64,
    /// Calls that matched and were let through because `max_concurrent` were held.
    pub capped: u64,
    /// Calls held now.
    pub held: u32,
    /// Ms until the instance drops the rule.
    pub expires_in_ms: u64,
}

impl Live {
    pub(super) fn new(rule: Rule, instance: &str, point_hits: Arc<AtomicU64>) -> Self {
        let created = Instant::now();
        let mine = rule.instance.as_deref().is_none_or(|named| named == instance);
        let ballast = match rule.fault {
            // Not zero: untouched zero pages would not be resident.
            Fault::Memory { mib } if mine => vec![0xA5; mib as usize * 1024 * 1024],
            _ => Vec::new(),
        };
        Self {
            expires: created + rule.ttl_ms.duration(),
            created,
            mine,
            marks: rule
                .header
                .iter()
                .map(|(name, value)| Mark::new(name, value))
                .collect(),
            draws: AtomicU64::new(seed_of(&rule)),
            ballast: Locked::new(ballast),
            gone: CancellationToken::new(),
            hits: AtomicU64::new(0),
            point_hits,
            misses: AtomicU64::new(0),
            capped: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            held: AtomicU32::new(0),
            rule,
        }
    }

    /// Decides about one call at this rule's point; a hit is counted as held until [`Live::release`].
    pub(super) fn decide<H: Headers + ?Sized>(&self, headers: &H) -> Match {
        let fits = self.mine
            && self.marks.iter().all(|mark| headers.carries(mark))
            && self.in_time()
            && self.draw() < self.rule.percent.share();
        if !fits {
            self.misses.fetch_add(1, Relaxed);
            return Match::Passed;
        }
        if !self.hold() {
            self.capped.fetch_add(1, Relaxed);
            return Match::Capped;
        }
        self.hits.fetch_add(1, Relaxed);
        self.point_hits.fetch_add(1, Relaxed);
        Match::Hit
    }

    /// Not gone, not past its deadline (the timer may be late), and inside its window.
    fn in_time(&self) -> bool {
        let now = Instant::now();
        let age = (now - self.created).as_millis();
        now < self.expires
            && !self.gone.is_cancelled()
            && self
                .rule
                .window_ms
                .is_none_or(|window| age < u128::from(window.get()))
    }

    fn hold(&self) -> bool {
        let cap = self
            .rule
            .max_concurrent
            .map_or(u32::MAX, std::num::NonZeroU32::get);
        self.held
            .fetch_update(Relaxed, Relaxed, |held| (held < cap).then(|| held + 1))
            .is_ok()
    }

    pub(super) fn release(&self) {
        self.held.fetch_sub(1, Relaxed);
    }

    /// A number in [0, 1), uniform; the same sequence for the same rule id.
    pub(super) fn draw(&self) -> f64 {
        let drawn = mix(self.draws.fetch_add(0x9E37_79B9_7F4A_7C15, Relaxed));
        (drawn >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Ends the rule: lets held calls go and frees the ballast, also while copies of it are still cached.
    pub(super) fn end(&self) {
        self.gone.cancel();
        self.ballast.with(|ballast| *ballast = Vec::new());
    }

    /// Bytes of ballast held.
    pub(super) fn ballast_bytes(&self) -> u64 {
        self.ballast.with(|ballast| ballast.len() as u64)
    }

    pub(super) fn state(&self) -> RuleState {
        let left: Duration = self.expires.saturating_duration_since(Instant::now());
        RuleState {
            rule: self.rule.clone(),
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            failed: self.failed.load(Relaxed),
            capped: self.capped.load(Relaxed),
            held: self.held.load(Relaxed),
            expires_in_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// FNV-1a over the id, so that a repeated drill hits the same calls.
fn seed_of(rule: &Rule) -> u64 {
    rule.id
        .as_str()
        .bytes()
        .fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        })
}

/// SplitMix64's output function (Steele, Lea, Flood 2014).
fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
