//! Step 4: the degrade flags that the drill caused are deleted; those that were there before are kept.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

use crate::{
    drivers::{
        error::DriverError,
        redis::{Glob, Key, RedisServer},
    },
    model::{
        environment::Redis,
        ids::ServerName,
        playbook::Flags,
        recovery::{Certainty, Leftover, StepId, StepState},
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
    kept: Option<&'a [String]>,
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
            let seen = scene.snapshot.flags.iter().find(|f| f.entry == index);
            Entry {
                server,
                pattern,
                at_most: *at_most,
                kept: seen.map(|f| f.keys.as_slice()),
            }
        })
        .collect()
}

impl Entry<'_> {
    fn open(&self, scene: &Scene) -> Result<(RedisServer, Glob), DriverError> {
        Ok((scene.drivers.redis(self.server)?, Glob::new(self.pattern)?))
    }

    /// The flags that match and were not there before.
    async fn caused(
        &self,
        scene: &Scene,
        (redis, glob): &(RedisServer, Glob),
        deadline: Instant,
    ) -> Result<BTreeSet<Key>, DriverError> {
        let kept: BTreeSet<&str> = self.kept.unwrap_or_default().iter().map(String::as_str).collect();
        let mut keys = scene
            .persist(deadline, || redis.matching(glob, self.at_most))
            .await?;
        keys.retain(|key| !kept.contains(key.to_string().as_str()));
        match self.kept {
            None if !keys.is_empty() => Err(DriverError::Conflict {
                what: format!("flags {} at {}", self.pattern, self.server),
                answer: format!(
                    "{} match, but which of them are older than the drill is not known",
                    keys.len()
                ),
            }),
            _ => Ok(keys),
        }
    }

    fn leftover(&self, scene: &Scene, caused: Result<&BTreeSet<Key>, &DriverError>, why: String) -> Leftover {
        let none = BTreeSet::new();
        let keys = *caused.as_ref().unwrap_or(&&none);
        let count = match caused {
            Ok(keys) => format!("{} flags", keys.len()),
            Err(_) => "flags".to_owned(),
        };
        Leftover {
            step: StepId::Flags,
            what: format!("{count} {} in Redis {}", self.pattern, self.server),
            why,
            by_hand: self.by_hand(scene, keys),
            certainty: if caused.is_ok() {
                Certainty::Seen
            } else {
                Certainty::Unknown
            },
        }
    }

    fn by_hand(&self, scene: &Scene, caused: &BTreeSet<Key>) -> Option<String> {
        let server: &Redis = scene.plan.environment.redis.get(self.server)?;
        let kept = self.kept?;
        Some(by_hand::delete_flags(server, self.pattern, caused.iter(), kept))
    }
}

/// Deletes the flags that the drill caused; those written again meanwhile are deleted again, and that is said.
pub async fn flags(scene: &Scene) -> StepEnd {
    let entries = entries(scene);
    if entries.is_empty() {
        return StepEnd::absent();
    }
    scene.working(StepId::Flags, "looking");
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
    let failed = |caused: Result<&BTreeSet<Key>, &DriverError>, why: String| {
        let leftover = entry.leftover(scene, caused, why);
        StepEnd::of(StepState::Failed, leftover.why.clone(), vec![leftover])
    };
    let place = match entry.open(scene) {
        Ok(place) => place,
        Err(error) => return failed(Err(&error), error.to_string()),
    };
    let kept = match entry.kept {
        Some([]) | None => String::new(),
        Some(keys) => format!("; {} kept, older than the drill", keys.len()),
    };
    let (mut removed, mut again) = (0, 0);
    for round in 0..=ROUNDS {
        let caused = match entry.caused(scene, &place, deadline).await {
            Ok(caused) => caused,
            Err(error) => return failed(Err(&error), error.to_string()),
        };
        let rewritten = match again {
            0 => String::new(),
            n => format!("; {n} of them written again meanwhile"),
        };
        if caused.is_empty() {
            let state = if removed == 0 {
                StepState::Nothing
            } else {
                StepState::Done
            };
            return StepEnd::new(state, format!("{removed} removed{rewritten}{kept}"));
        }
        if round == ROUNDS || Instant::now() >= deadline {
            return failed(
                Ok(&caused),
                format!("written again each time: {removed} removed so far"),
            );
        }
        if round > 0 {
            again += caused.len();
        }
        let change = ChangeIntent::Flags {
            pattern: entry.pattern.to_owned(),
            count: caused.len(),
        };
        scene.bus.intend(change).await;
        match scene.persist(deadline, || place.0.remove(&caused)).await {
            Ok(count) => removed += count,
            Err(error) => return failed(Ok(&caused), error.to_string()),
        }
        // The service gets the time to write them again: what is seen at once proves little.
        scene.pause().await;
    }
    StepEnd::new(StepState::Failed, "not decided")
}

/// The flags that are there now and were not before, by playbook entry; or why that is not known.
pub(super) async fn caused(scene: &Scene) -> BTreeMap<usize, Result<(usize, Option<Leftover>), DriverError>> {
    let entries = entries(scene);
    let look = async |entry: &Entry<'_>| {
        let keys = entry.caused(scene, &entry.open(scene)?, scene.deadline()).await?;
        let why = "written after the drill began".to_owned();
        let leftover = (!keys.is_empty()).then(|| entry.leftover(scene, Ok(&keys), why));
        Ok((keys.len(), leftover))
    };
    together(entries.iter().map(look))
        .await
        .into_iter()
        .enumerate()
        .collect()
}

/// Flags that the drill caused and that are still there, or that cannot be read.
pub(super) async fn still_there(scene: &Scene) -> Vec<Leftover> {
    let entries = entries(scene);
    let found = caused(scene).await.into_iter();
    let left = found.filter_map(|(index, found)| match found {
        Ok((_, leftover)) => leftover,
        Err(error) => entries
            .get(index)
            .map(|e| e.leftover(scene, Err(&error), error.to_string())),
    });
    left.collect()
}
