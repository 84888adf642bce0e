//! The injection points of one instance and the rules in force there.
#![expect(
    clippy::disallowed_types,
    reason = "requests read the rules side by side, and nobody holds them across a wait"
)]

mod refused;

pub use refused::Refused;

use std::{
    cell::RefCell,
    sync::{
        Arc, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use super::{
    headers::Headers,
    hit::{Hit, Outcome},
    live::{Live, Match, RuleState},
    locked::Locked,
    names::nearest,
    rule::{Rule, RuleId, RunId},
};

/// Most rules in force on one instance.
const MAX_RULES: usize = 256;

/// Instances whose rules one thread keeps at hand. More than this still work, but look the rules up each time.
const CACHED: usize = 64;

type Rules = Arc<Vec<Arc<Live>>>;

struct Cached {
    instance: u64,
    epoch: u64,
    rules: Rules,
}

thread_local! {
    static CACHE: RefCell<Vec<Option<Cached>>> = RefCell::new((0..CACHED).map(|_| None).collect());
}

static NEXT_INSTANCE: AtomicU64 = AtomicU64::new(0);

/// The injection points of one instance. Cheap to clone; clones share the rules.
#[derive(Clone)]
pub struct Points {
    inner: Arc<Inner>,
}

struct Inner {
    number: u64,
    service: String,
    instance: String,
    known: Vec<String>,
    /// Hits since the start at each known point, whatever became of the rules.
    hits: Vec<Arc<AtomicU64>>,
    /// The one thing looked at while there is no rule.
    armed: AtomicBool,
    /// Moves with every change of `rules`; threads compare it with their copy's.
    epoch: AtomicU64,
    rules: RwLock<Rules>,
    /// One change at a time.
    change: Locked<()>,
}

/// What [`Points::put`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// The rule is in force.
    Created,
    /// The very same rule was in force already; its expiry is not moved.
    Unchanged,
}

impl Points {
    /// Points of an instance that registers no names: rules for any point are accepted.
    pub fn new(service: impl Into<String>, instance: impl Into<String>) -> Self {
        Self::with_points(service, instance, &[])
    }

    /// Points of an instance with these names; rules for other points are refused.
    pub fn with_points(service: impl Into<String>, instance: impl Into<String>, names: &[&str]) -> Self {
        let inner = Inner {
            number: NEXT_INSTANCE.fetch_add(1, Ordering::Relaxed),
            service: service.into(),
            instance: instance.into(),
            known: names.iter().map(|name| (*name).to_owned()).collect(),
            hits: names.iter().map(|_| Arc::default()).collect(),
            armed: AtomicBool::new(false),
            epoch: AtomicU64::new(0),
            rules: RwLock::default(),
            change: Locked::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The service's name.
    pub fn service(&self) -> &str {
        &self.inner.service
    }

    /// The instance's own name, which rules are compared with.
    pub fn instance(&self) -> &str {
        &self.inner.instance
    }

    /// The registered points.
    pub fn names(&self) -> &[String] {
        &self.inner.known
    }

    /// Whether a rule takes this call. Without any rule: one atomic load.
    #[inline]
    pub fn check<H: Headers + ?Sized>(&self, point: &str, headers: &H) -> Option<Hit> {
        if self.inner.armed.load(Ordering::Acquire) {
            self.inner.look(point, headers)
        } else {
            None
        }
    }

    /// [`Points::check`], and carries the fault out.
    #[inline]
    pub async fn pass<H: Headers + ?Sized>(&self, point: &str, headers: &H) -> Outcome {
        match self.check(point, headers) {
            Some(hit) => hit.act().await,
            None => Outcome::Proceed,
        }
    }

    /// Puts a rule in force. The instance drops it at its ttl by itself, so this must be called in a Tokio
    /// runtime that lives as long as the service.
    ///
    /// # Errors
    /// [`Refused`] if the point is unknown, the id is taken by another content, or there are too many rules.
    pub fn put(&self, rule: Rule) -> Result<Placed, Refused> {
        let inner = &self.inner;
        inner.know(&rule.point)?;
        let rule_point = rule.point.clone();
        let placed = inner.change.with(|()| {
            let rules = inner.current();
            if let Some(other) = rules.iter().find(|live| live.rule.id == rule.id) {
                let same = other.rule == rule;
                let id = rule.id.as_str().to_owned();
                return if same {
                    Ok(None)
                } else {
                    Err(Refused::OtherContent(id))
                };
            }
            if rules.len() >= MAX_RULES {
                return Err(Refused::TooMany);
            }
            let live = Arc::new(Live::new(rule, &inner.instance, inner.hits_at(&rule_point)));
            inner.publish(rules.iter().cloned().chain([Arc::clone(&live)]).collect());
            Ok(Some(live))
        })?;
        let Some(live) = placed else {
            return Ok(Placed::Unchanged);
        };
        let points = Arc::downgrade(inner);
        tokio::spawn(async move {
            tokio::select! {
                () = tokio::time::sleep_until(live.expires) => {}
                () = live.gone.cancelled() => return,
            }
            match points.upgrade() {
                Some(inner) => drop(inner.remove(|other| Arc::ptr_eq(other, &live))),
                None => live.end(),
            }
        });
        Ok(Placed::Created)
    }

    /// Takes one rule out of force; held calls go on at once. False if there was none.
    pub fn delete(&self, id: &RuleId) -> bool {
        self.inner.remove(|live| live.rule.id == *id) > 0
    }

    /// Takes all rules of a run out of force and says how many there were.
    pub fn delete_run(&self, run: &RunId) -> usize {
        self.inner.remove(|live| live.rule.run == *run)
    }

    /// The rules in force, oldest first.
    pub fn rules(&self) -> Vec<RuleState> {
        self.inner.current().iter().map(|live| live.state()).collect()
    }

    /// Calls hit at a registered point since the start, by rules in force and by those that are gone.
    pub fn hits(&self, point: &str) -> u64 {
        self.inner.hits_at(point).load(Ordering::Relaxed)
    }

    /// Memory held by rules, bytes.
    pub fn ballast_bytes(&self) -> u64 {
        self.inner.current().iter().map(|live| live.ballast_bytes()).sum()
    }
}

impl Inner {
    fn know(&self, point: &str) -> Result<(), Refused> {
        if self.known.is_empty() || self.known.iter().any(|name| name == point) {
            return Ok(());
        }
        let nearest = nearest(point, self.known.iter().map(String::as_str));
        Err(Refused::UnknownPoint {
            service: self.service.clone(),
            point: point.to_owned(),
            nearest: nearest.map(str::to_owned),
        })
    }

    fn hits_at(&self, point: &str) -> Arc<AtomicU64> {
        let index = self.known.iter().position(|name| name == point);
        index
            .map(|index| Arc::clone(&self.hits[index]))
            .unwrap_or_default()
    }

    fn current(&self) -> Rules {
        Arc::clone(
            &self
                .rules
                .read()
                .unwrap_or_else(std::sync::PoisonError::into_inner),
        )
    }

    fn publish(&self, rules: Vec<Arc<Live>>) {
        let armed = !rules.is_empty();
        *self
            .rules
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = Arc::new(rules);
        self.epoch.fetch_add(1, Ordering::Release);
        self.armed.store(armed, Ordering::Release);
    }

    fn remove(&self, ends: impl Fn(&Arc<Live>) -> bool) -> usize {
        self.change.with(|()| {
            let rules = self.current();
            let (gone, kept): (Vec<_>, Vec<_>) = rules.iter().cloned().partition(ends);
            if !gone.is_empty() {
                self.publish(kept);
                gone.iter().for_each(|live| live.end());
            }
            gone.len()
        })
    }

    fn look<H: Headers + ?Sized>(&self, point: &str, headers: &H) -> Option<Hit> {
        let epoch = self.epoch.load(Ordering::Acquire);
        CACHE.with(|cache| {
            // A header look-up that itself checks a point finds the cache in use.
            let Ok(mut slots) = cache.try_borrow_mut() else {
                return decide(&self.current(), point, headers);
            };
            let slot = &mut slots[self.number as usize % CACHED];
            match slot {
                Some(cached) if cached.instance == self.number && cached.epoch == epoch => {
                    decide(&cached.rules, point, headers)
                }
                _ => {
                    let cached = Cached {
                        instance: self.number,
                        epoch,
                        rules: self.current(),
                    };
                    decide(&slot.insert(cached).rules, point, headers)
                }
            }
        })
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.current().iter().for_each(|live| live.end());
    }
}

/// The oldest rule that takes the call wins; one that is capped lets it through to the next.
fn decide<H: Headers + ?Sized>(rules: &[Arc<Live>], point: &str, headers: &H) -> Option<Hit> {
    rules
        .iter()
        .filter(|live| live.rule.point == point)
        .find(|live| matches!(live.decide(headers), Match::Hit))
        .map(|live| Hit::new(Arc::clone(live)))
}
