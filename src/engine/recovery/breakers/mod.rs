//! Circuit breakers: what their states mean against the snapshot, how one is brought back, what is typed by hand.
//!
//! A breaker that was open, forced open, disabled or only measuring before the drill stays as it is.

pub(super) mod before;
mod probe;
mod rules;
pub(super) mod steps;

use std::collections::BTreeMap;

use serde_json::json;
use tokio::time::Instant;

use crate::{
    drivers::{
        error::DriverError,
        place::Fill,
        resilience4j::{breaker_url, find},
    },
    model::{
        ids::InstanceName,
        playbook::{Breakers, Via},
        recovery::{Certainty, Leftover, StepId},
        said::{Said, said},
        snapshot::{BreakerSeen, BreakerState},
        undo::ChangeIntent,
    },
};

use super::{Scene, by_hand};

/// What a breaker's state means, given the one before the drill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// As it was, or healed.
    Well,
    /// Half-open: real calls decide.
    Trying,
    /// Open, and it was not: to be brought back.
    Stuck,
    /// In a state that only a person sets, and it was not in it before.
    Altered,
}

fn standing(before: BreakerState, now: BreakerState) -> Standing {
    use BreakerState::{Closed, HalfOpen, Open};
    match (before, now) {
        (Closed | HalfOpen, Closed) | (Open, Closed | HalfOpen | Open) | (HalfOpen, HalfOpen) => {
            Standing::Well
        }
        (Closed, HalfOpen) => Standing::Trying,
        (Closed | HalfOpen, Open) => Standing::Stuck,
        (before, now) if before == now => Standing::Well,
        _ => Standing::Altered,
    }
}

/// The breakers of one playbook entry on one instance.
pub(super) struct Group<'a> {
    pub(super) instance: &'a InstanceName,
    pub(super) via: &'a Via,
    /// The actuator's base URL there.
    base: Result<String, DriverError>,
    before: Vec<&'a BreakerSeen>,
}

pub(super) fn groups(scene: &Scene) -> Vec<Group<'_>> {
    let mut by_place: BTreeMap<(usize, &InstanceName), Vec<&BreakerSeen>> = BTreeMap::new();
    for seen in &scene.snapshot.breakers {
        by_place
            .entry((seen.entry, &seen.instance))
            .or_default()
            .push(seen);
    }
    let entries = &scene.plan.drill.recovery.breakers;
    let groups = by_place.into_iter().filter_map(|((entry, instance), before)| {
        let Breakers::Resilience4j { actuator, via, .. } = entries.get(entry)? else {
            return None;
        };
        Some(Group {
            instance,
            via,
            base: actuator_at(scene, actuator, instance),
            before,
        })
    });
    groups.collect()
}

fn actuator_at(scene: &Scene, actuator: &str, instance: &InstanceName) -> Result<String, DriverError> {
    let fill = Fill {
        instance: Some(instance),
        name: None,
    };
    Ok(scene.drivers.places().fill(actuator, fill)?)
}

/// A breaker as it stands; the error says why that is not known.
pub(super) struct Found<'a> {
    pub(super) before: &'a BreakerSeen,
    pub(super) now: Result<BreakerState, DriverError>,
    /// Whether the instance listed its breakers, this one or not.
    listed: bool,
}

impl Found<'_> {
    pub(super) fn standing(&self) -> Option<Standing> {
        let now = self.now.as_ref().ok()?;
        Some(standing(self.before.state, *now))
    }
}

impl<'a> Group<'a> {
    pub(super) async fn look(&self, scene: &Scene, deadline: Instant) -> Vec<Found<'a>> {
        let listed = match &self.base {
            Ok(base) => {
                scene
                    .persist(deadline, || scene.drivers.resilience4j().list(base))
                    .await
            }
            Err(error) => Err(error.clone()),
        };
        let base = self.base.as_deref().unwrap_or_default();
        let state_of = |before: &BreakerSeen| match &listed {
            Ok(breakers) => find(breakers, base, &before.name),
            Err(error) => Err(error.clone()),
        };
        let found = self.before.iter().map(|before| Found {
            before,
            now: state_of(before),
            listed: listed.is_ok(),
        });
        found.collect()
    }

    /// Half-opens or closes one breaker, written down first.
    pub(super) async fn bring_back(&self, scene: &Scene, before: &BreakerSeen) -> Result<(), DriverError> {
        let base = self.base.clone()?;
        let to = match self.via {
            Via::App { .. } => "HALF_OPEN",
            Via::Close => "CLOSE",
            Via::Wait | Via::Probe { .. } => return Ok(()),
        };
        let change = ChangeIntent::Breaker {
            instance: self.instance.clone(),
            name: before.name.clone(),
            to: to.to_owned(),
        };
        scene.bus.intend(change).await;
        match self.via {
            Via::App { url } => {
                let asked = scene
                    .drivers
                    .resilience4j()
                    .half_open(&self.filled(scene, url, before)?)
                    .await;
                // It moved on by itself in between: the next look tells.
                asked.or_else(|e| {
                    if matches!(e, DriverError::Conflict { .. }) {
                        Ok(())
                    } else {
                        Err(e)
                    }
                })
            }
            Via::Close => scene.drivers.resilience4j().close(&base, &before.name).await,
            Via::Wait | Via::Probe { .. } => Ok(()),
        }
    }

    /// Sends one call through a breaker. What it does to the breaker, the next look tells.
    pub(super) async fn probe(&self, scene: &Scene, url: &str, before: &BreakerSeen) {
        if let Ok(url) = self.filled(scene, url, before) {
            let _ = scene.drivers.resilience4j().probe(&url).await;
        }
    }

    fn filled(&self, scene: &Scene, url: &str, before: &BreakerSeen) -> Result<String, DriverError> {
        let fill = Fill {
            instance: Some(self.instance),
            name: Some(&before.name),
        };
        Ok(scene.drivers.places().fill(url, fill)?)
    }

    pub(super) fn leftover(&self, scene: &Scene, step: StepId, found: &Found<'_>, why: Said) -> Leftover {
        let (name, instance) = (&found.before.name, self.instance);
        let (shown, certainty) = match &found.now {
            Ok(now) => (Said::as_it_is(state_word(*now)), Certainty::Seen),
            Err(_) => (said!("state unknown", "状态不明"), Certainty::Unknown),
        };
        Leftover {
            step,
            what: said!(shown; "breaker {name} on {instance} ({shown})", "{instance} 的熔断器 {name}（{shown}）"),
            why,
            by_hand: self.by_hand(scene, found),
            certainty,
        }
    }

    /// The command that puts it back, given what it is now. Nothing sets OPEN or METRICS_ONLY.
    fn by_hand(&self, scene: &Scene, found: &Found<'_>) -> Option<String> {
        let base = self.base.as_ref().ok()?;
        // The actuator would create what it does not list: a breaker that nobody calls.
        if found.listed && found.now.is_err() {
            return None;
        }
        let actuator = |update: &str| {
            let url = breaker_url(base, &found.before.name);
            Some(by_hand::curl_json(
                "POST",
                &url,
                &json!({ "updateState": update }),
            ))
        };
        match (found.before.state, self.via, found.standing()) {
            (
                BreakerState::Closed | BreakerState::HalfOpen,
                Via::App { url },
                Some(Standing::Stuck) | None,
            ) => Some(by_hand::curl(
                "POST",
                &self.filled(scene, url, found.before).ok()?,
            )),
            (BreakerState::Closed | BreakerState::HalfOpen, ..) => actuator("CLOSE"),
            (BreakerState::ForcedOpen, ..) => actuator("FORCE_OPEN"),
            (BreakerState::Disabled, ..) => actuator("DISABLE"),
            (BreakerState::Open | BreakerState::MetricsOnly, ..) => None,
        }
    }
}

/// The name that Resilience4j gives a state.
pub(super) fn state_word(state: BreakerState) -> &'static str {
    match state {
        BreakerState::Closed => "CLOSED",
        BreakerState::Open => "OPEN",
        BreakerState::HalfOpen => "HALF_OPEN",
        BreakerState::ForcedOpen => "FORCED_OPEN",
        BreakerState::Disabled => "DISABLED",
        BreakerState::MetricsOnly => "METRICS_ONLY",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_breaker_that_was_held_open_by_a_person_stays_so() {
        use BreakerState::*;
        for held in [Open, ForcedOpen, Disabled, MetricsOnly] {
            assert_eq!(standing(held, held), Standing::Well);
        }
        assert_eq!(standing(ForcedOpen, Closed), Standing::Altered);
        assert_eq!(standing(Closed, ForcedOpen), Standing::Altered);
        assert_eq!(standing(Closed, Open), Standing::Stuck);
        assert_eq!(standing(Open, Closed), Standing::Well);
    }
}
