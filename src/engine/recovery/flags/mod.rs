//! Step 4: the degrade flags that the drill caused are deleted; those that were there before are kept.

pub(super) mod before;
pub(super) mod kept;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use tokio::time::Instant;

use crate::{
    drivers::{
        error::DriverError,
        redis::{Found, Glob, Key, RedisServer},
    },
    model::{
        ids::ServerName,
        playbook::Flags,
        recovery::{Certainty, Leftover, StepId, StepState},
        said::{Said, said},
        snapshot::FlagsSeen,
        undo::ChangeIntent,
    },
};

use super::{Scene, StepEnd, by_hand, together};

/// How often flags are deleted that were written again meanwhile.
const ROUNDS: usize = 5;

/// One entry of the playbook, and the flags that were there before.
struct Entry<'a> {
    server: &'a ServerName,
    pattern: &'a str,
    at_most: u32,
    /// `None`: the snapshot was never taken, so nothing may be deleted.
    before: Option<&'a FlagsSeen>,
}

fn entries(scene: &Scene) -> Vec<Entry<'_>> {
    let playbook = scene.plan.drill.recovery.flags.iter().enumerate();
    playbook
        .map(|(index, flags)| {
            let Flags::Redis {
                server,
                pattern,
                at_most,
            } = flags;
            Entry {
                server,
                pattern,
                at_most: *at_most,
                before: scene.snapshot.flags.iter().find(|f| f.entry == index),
            }
        })
        .collect()
}

impl Entry<'_> {
    fn open(&self, scene: &Scene) -> Result<(RedisServer, Glob), DriverError> {
        Ok((scene.drivers.redis(self.server)?, Glob::new(self.pattern)?))
    }

    /// The flags that match now and were not there before, and why there may be others.
    async fn look(
        &self,
        scene: &Scene,
        (redis, glob): &(RedisServer, Glob),
        deadline: Instant,
    ) -> Result<Found, DriverError> {
        let kept: BTreeSet<Key> = self.kept().iter().map(|key| Key::shown_as(key)).collect();
        let mut found = scene
            .persist(deadline, || redis.matching(glob, self.at_most))
            .await?;
        found.keys.retain(|key| !kept.contains(key));
        match self.before {
            None if !found.keys.is_empty() => Err(DriverError::Conflict {
                what: format!("flags {} at {}", self.pattern, self.server),
                answer: format!(
                    "{} match, but which of them are older than the drill is not known",
                    found.keys.len()
                ),
            }),
            _ => Ok(found),
        }
    }

    /// All flags that match now and were not there before; waits until that can be known.
    async fn caused(&self, scene: &Scene) -> Result<BTreeSet<Key>, DriverError> {
        let (place, deadline) = (self.open(scene)?, scene.deadline());
        let look = async || self.look(scene, &place, deadline).await?.all();
        scene.persist(deadline, look).await
    }

    /// Flags that were there before and are not what they were.
    async fn kept_differs(&self, scene: &Scene) -> Vec<Leftover> {
        match (self.open(scene), self.before) {
            (Ok((redis, _)), Some(before)) => kept::not_as_before(scene, (self.server, &redis), before).await,
            // Without a client nothing can be read: the look at the drill's own flags says so.
            _ => Vec::new(),
        }
    }

    fn kept(&self) -> &[String] {
        self.before.map_or(&[], |before| &before.keys)
    }

    fn leftover(&self, scene: &Scene, caused: Result<&BTreeSet<Key>, &DriverError>, why: Said) -> Leftover {
        let (pattern, server) = (self.pattern, self.server);
        let what = match caused.map(BTreeSet::len) {
            Ok(count) => said!(
                "{count} flags {pattern} in Redis {server}",
                "Redis {server} 中的 {count} 个降级开关 {pattern}"
            ),
            Err(_) => said!(
                "flags {pattern} in Redis {server}",
                "Redis {server} 中的降级开关 {pattern}"
            ),
        };
        Leftover {
            step: StepId::Flags,
            what,
            why,
            by_hand: self.by_hand(scene, caused),
            certainty: if caused.is_ok() {
                Certainty::Seen
            } else {
                Certainty::Unknown
            },
        }
    }

    fn by_hand(&self, scene: &Scene, caused: Result<&BTreeSet<Key>, &DriverError>) -> Option<String> {
        let server = scene.plan.environment.redis.get(self.server)?;
        let before = self.before?;
        Some(match caused {
            // The bound stands for people as well: they decide once they know how many there are.
            Err(DriverError::TooMany { count, at_most, .. }) => {
                by_hand::redis::look_then_delete(server, self.pattern, (*count, *at_most), before)
            }
            Err(_) => by_hand::redis::delete_if_few(server, self.pattern, self.at_most, before),
            Ok(caused) => by_hand::redis::delete_flags(server, self.pattern, caused, before),
        })
    }
}

/// Deletes the flags that the drill caused; those written again meanwhile are deleted again, and that is said.
pub async fn flags(scene: &Scene) -> StepEnd {
    let entries = entries(scene);
    if entries.is_empty() {
        return StepEnd::absent();
    }
    scene.working(StepId::Flags, said!("looking", "查找中"));
    let ended = together(entries.iter().map(|e| flush(scene, e))).await;
    ended
        .into_iter()
        .fold(StepEnd::absent(), |all, one| match all.state {
            StepState::Absent => one,
            _ => all.and(one),
        })
}

async fn flush(scene: &Scene, entry: &Entry<'_>) -> StepEnd {
    let deadline = scene.deadline();
    let failed = |caused: Result<&BTreeSet<Key>, &DriverError>, why: Said| {
        let leftover = entry.leftover(scene, caused, why);
        StepEnd::of(StepState::Failed, leftover.why.clone(), vec![leftover])
    };
    let place = match entry.open(scene) {
        Ok(place) => place,
        Err(error) => return failed(Err(&error), error.said()),
    };
    let mut gone = Gone::default();
    loop {
        let look = match entry.look(scene, &place, deadline).await {
            Ok(look) => look,
            Err(error) => return failed(Err(&error), error.said()),
        };
        match (look.keys.is_empty(), look.moving) {
            (true, None) => return StepEnd::new(gone.state(), gone.told(entry)),
            (true, Some(error)) if Instant::now() >= deadline => {
                return failed(Err(&error), error.said());
            }
            (true, Some(_)) => {
                scene.pause().await;
                continue;
            }
            (false, _) if gone.rounds_again >= ROUNDS || Instant::now() >= deadline => {
                let removed = gone.count();
                let why = said!(
                    "written again each time: {removed} removed so far",
                    "每次删除后又被写入：已删 {removed} 个"
                );
                return failed(Ok(&look.keys), why);
            }
            (false, _) => {}
        }
        let change = ChangeIntent::Flags {
            pattern: entry.pattern.to_owned(),
            count: look.keys.len(),
        };
        scene.bus.intend(change).await;
        let removing = || place.0.remove(&look.keys, &gone.removed);
        if let Err(error) = scene.persist(deadline, removing).await {
            return failed(Ok(&look.keys), error.said());
        }
        gone.add(look.keys);
        // The service gets the time to write them again: what is seen at once proves little.
        scene.pause().await;
    }
}

/// What a step has removed so far.
#[derive(Default)]
struct Gone {
    keys: BTreeSet<Key>,
    /// How many were removed more than once, and in how many rounds.
    again: usize,
    rounds_again: usize,
    removed: AtomicU64,
}

impl Gone {
    fn add(&mut self, keys: BTreeSet<Key>) {
        let again = keys.intersection(&self.keys).count();
        self.again += again;
        self.rounds_again += usize::from(again > 0);
        self.keys.extend(keys);
    }

    fn count(&self) -> u64 {
        self.removed.load(Relaxed)
    }

    fn state(&self) -> StepState {
        match self.keys.is_empty() {
            true => StepState::Nothing,
            false => StepState::Done,
        }
    }

    fn told(&self, entry: &Entry<'_>) -> Said {
        let (removed, again, kept) = (self.count(), self.again, entry.kept().len());
        let mut told = said!("{removed} removed", "已删 {removed} 个");
        if again > 0 {
            told = told.and(&said!(
                "{again} of them written again meanwhile",
                "其中 {again} 个期间又被写入"
            ));
        }
        if kept > 0 {
            told = told.and(&said!(
                "{kept} kept, older than the drill",
                "保留演练前已有的 {kept} 个"
            ));
        }
        told
    }
}

/// The flags that are there now and were not before, by playbook entry; or why that is not known.
pub(super) async fn caused(scene: &Scene) -> BTreeMap<usize, Result<(usize, Option<Leftover>), DriverError>> {
    let entries = entries(scene);
    let look = async |entry: &Entry<'_>| {
        let keys = entry.caused(scene).await?;
        let why = said!("written after the drill began", "演练开始后写入");
        let leftover = (!keys.is_empty()).then(|| entry.leftover(scene, Ok(&keys), why));
        Ok((keys.len(), leftover))
    };
    together(entries.iter().map(look))
        .await
        .into_iter()
        .enumerate()
        .collect()
}

/// Flags that the drill caused and that are still there, those older than it that are not what they were, and what cannot be
/// read.
pub(super) async fn still_there(scene: &Scene) -> Vec<Leftover> {
    let entries = entries(scene);
    let found = caused(scene).await.into_iter();
    let left = found.filter_map(|(index, found)| match found {
        Ok((_, leftover)) => leftover,
        Err(error) => entries
            .get(index)
            .map(|e| e.leftover(scene, Err(&error), error.said())),
    });
    let mut left: Vec<Leftover> = left.collect();
    let kept = async |entry: &Entry<'_>| entry.kept_differs(scene).await;
    left.extend(together(entries.iter().map(kept)).await.into_iter().flatten());
    left
}
