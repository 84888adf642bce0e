//! Step 4 and the end of step 6: breakers half-opened before traffic returns, and seen closed by real calls after.
//!
//! A breaker that was open, forced open, disabled or only measuring before the drill stays as it is.

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
        recovery::{Certainty, Leftover, StepId, StepState},
        snapshot::{BreakerSeen, BreakerState},
        undo::ChangeIntent,
    },
};

use super::{Scene, StepEnd, by_hand, together};

/// Tries to half-open or close one breaker within a step.
const TRIES: usize = 3;

/// What a breaker's state means, given the one before the drill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
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
        (Closed | HalfOpen, Closed) | (Open, Closed | HalfOpen | Open) => Standing::Well,
        (Closed | HalfOpen, HalfOpen) => Standing::Trying,
        (Closed | HalfOpen, Open) => Standing::Stuck,
        (before, now) if before == now => Standing::Well,
        _ => Standing::Altered,
    }
}

/// The breakers of one playbook entry on one instance.
struct Group<'a> {
    instance: &'a InstanceName,
    via: &'a Via,
    /// The actuator's base URL there.
    base: Result<String, DriverError>,
    before: Vec<&'a BreakerSeen>,
}

fn groups(scene: &Scene) -> Vec<Group<'_>> {
    let mut by_place: BTreeMap<(usize, &InstanceName), Vec<&BreakerSeen>> = BTreeMap::new();
    for seen in &scene.snapshot.breakers {
        by_place
            .entry((seen.entry, &seen.instance))
            .or_default()
            .push(seen);
    }
    let entries = &scene.plan.drill.recovery.breakers;
    let groups = by_place.into_iter().filter_map(|((entry, instance), before)| {
        let Breakers::Resilience4j { actuator, via, .. } = entries.get(entry)?;
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
struct Found<'a> {
    before: &'a BreakerSeen,
    now: Result<BreakerState, DriverError>,
}

impl Found<'_> {
    fn standing(&self) -> Option<Standing> {
        let now = self.now.as_ref().ok()?;
        Some(standing(self.before.state, *now))
    }
}

impl<'a> Group<'a> {
    async fn look(&self, scene: &Scene, deadline: Instant) -> Vec<Found<'a>> {
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
        });
        found.collect()
    }

    /// Half-opens or closes one breaker, written down first.
    async fn bring_back(&self, scene: &Scene, before: &BreakerSeen) -> Result<(), DriverError> {
        let base = self.base.clone()?;
        let to = match self.via {
            Via::App { .. } => "HALF_OPEN",
            Via::Close => "CLOSE",
            Via::Wait => return Ok(()),
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
            Via::Wait => Ok(()),
        }
    }

    fn filled(&self, scene: &Scene, url: &str, before: &BreakerSeen) -> Result<String, DriverError> {
        let fill = Fill {
            instance: Some(self.instance),
            name: Some(&before.name),
        };
        Ok(scene.drivers.places().fill(url, fill)?)
    }

    fn leftover(&self, scene: &Scene, step: StepId, found: &Found<'_>, why: &str) -> Leftover {
        let (name, instance) = (&found.before.name, self.instance);
        let (shown, certainty) = match &found.now {
            Ok(now) => (state_word(*now), Certainty::Seen),
            Err(_) => ("state unknown", Certainty::Unknown),
        };
        Leftover {
            step,
            what: format!("breaker {name} on {instance} ({shown})"),
            why: scene.drivers.mask(why),
            by_hand: self.by_hand(scene, found.before),
            certainty,
        }
    }

    fn by_hand(&self, scene: &Scene, before: &BreakerSeen) -> Option<String> {
        let base = self.base.as_ref().ok()?;
        let update = match before.state {
            BreakerState::ForcedOpen => "FORCE_OPEN",
            BreakerState::Disabled => "DISABLE",
            _ => "CLOSE",
        };
        match (self.via, before.state) {
            (Via::App { url }, BreakerState::Closed | BreakerState::HalfOpen) => {
                let url = self.filled(scene, url, before).ok()?;
                Some(by_hand::curl("POST", &url))
            }
            _ => {
                let url = breaker_url(base, &before.name);
                Some(by_hand::curl_json(
                    "POST",
                    &url,
                    &json!({ "updateState": update }),
                ))
            }
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

/// Half-opens (or closes, as the playbook says) every breaker that the drill opened.
pub async fn breakers_open(scene: &Scene) -> StepEnd {
    if scene.plan.drill.recovery.breakers.is_empty() {
        return StepEnd::absent();
    }
    let groups = groups(scene);
    if groups.is_empty() {
        return StepEnd::new(StepState::Nothing, "the snapshot has no breaker");
    }
    scene.working(
        StepId::Breakers,
        format!("{} on {} instances", scene.snapshot.breakers.len(), groups.len()),
    );
    let opened = together(groups.iter().map(|g| open_group(scene, g))).await;
    let total = scene.snapshot.breakers.len();
    let (mut brought, mut left_to_itself, mut leftovers) = (0, 0, Vec::new());
    for one in opened {
        brought += one.brought;
        left_to_itself += one.left_to_itself;
        leftovers.extend(one.leftovers);
    }
    let mut detail = format!("{brought} of {total} brought back");
    if brought == 0 {
        detail = format!("{total} are as before");
    }
    if left_to_itself > 0 {
        detail = format!("{detail}; {left_to_itself} open, to close by themselves");
    }
    if let Some(first) = leftovers.first() {
        detail = format!(
            "{} of {total} well; {}: {}",
            total - leftovers.len(),
            first.what,
            first.why
        );
    }
    let well = if brought + left_to_itself == 0 {
        StepState::Nothing
    } else {
        StepState::Done
    };
    StepEnd::of(well, detail, leftovers)
}

#[derive(Default)]
struct Opened {
    brought: usize,
    left_to_itself: usize,
    leftovers: Vec<Leftover>,
}

async fn open_group(scene: &Scene, group: &Group<'_>) -> Opened {
    let (step, deadline) = (StepId::Breakers, scene.deadline());
    let mut opened = Opened::default();
    let mut found = group.look(scene, deadline).await;
    let mut refusals: BTreeMap<&str, DriverError> = BTreeMap::new();
    let to_bring = |f: &Found<'_>| match (f.standing(), group.via) {
        (Some(Standing::Stuck), _) => true,
        // Closing is the one thing that also takes a breaker out of a state that a person sets.
        (Some(Standing::Altered), Via::Close) => {
            matches!(f.before.state, BreakerState::Closed | BreakerState::HalfOpen)
        }
        _ => false,
    };
    let stuck = found.iter().filter(|f| to_bring(f)).count();
    if *group.via == Via::Wait {
        opened.left_to_itself = stuck;
    } else if stuck > 0 {
        for _ in 0..TRIES {
            refusals.clear();
            for one in found.iter().filter(|f| to_bring(f)) {
                if let Err(error) = group.bring_back(scene, one.before).await {
                    refusals.insert(&one.before.name, error);
                }
            }
            found = group.look(scene, deadline).await;
            if !found.iter().any(to_bring) || Instant::now() >= deadline {
                break;
            }
            scene.pause().await;
        }
        opened.brought = stuck.saturating_sub(found.iter().filter(|f| to_bring(f) || f.now.is_err()).count());
    }
    for one in &found {
        let why = match (&one.now, one.standing()) {
            (Err(error), _) => error.to_string(),
            (_, Some(Standing::Stuck)) if *group.via == Via::Wait => continue,
            (_, Some(Standing::Stuck)) => match refusals.get(one.before.name.as_str()) {
                Some(error) => error.to_string(),
                None => "asked to half-open or close, and still open".to_owned(),
            },
            (_, Some(Standing::Altered)) => altered(one.before),
            _ => continue,
        };
        opened.leftovers.push(group.leftover(scene, step, one, &why));
    }
    opened
}

fn altered(before: &BreakerSeen) -> String {
    format!(
        "it was {} before the drill, and allclear did not change it",
        state_word(before.state)
    )
}

/// Sees every breaker closed by real calls. One that falls open again is half-opened again.
pub(super) async fn confirm(scene: &Scene) -> StepEnd {
    let groups = groups(scene);
    if groups.is_empty() {
        return StepEnd::absent();
    }
    let deadline = Instant::now() + scene.drivers.patience().confirm.into();
    let confirmed = together(groups.iter().map(|g| confirm_group(scene, g, deadline))).await;
    let total = scene.snapshot.breakers.len();
    let leftovers: Vec<Leftover> = confirmed.into_iter().flatten().collect();
    let detail = format!("breakers: {} of {total} as before", total - leftovers.len());
    StepEnd::of(StepState::Nothing, detail, leftovers)
}

async fn confirm_group(scene: &Scene, group: &Group<'_>, deadline: Instant) -> Vec<Leftover> {
    loop {
        let found = group.look(scene, Instant::now()).await;
        // An instance that was just restarted lists a breaker again with its first call.
        let undecided = |f: &&Found<'_>| match (&f.now, f.standing()) {
            (Err(e), _) => e.may_pass() || matches!(e, DriverError::NotThere { .. }),
            (_, Some(Standing::Stuck | Standing::Trying)) => true,
            _ => false,
        };
        let open = found.iter().filter(undecided).count();
        if open == 0 || Instant::now() >= deadline {
            return still_open(scene, group, &found);
        }
        scene.waiting(
            StepId::Traffic,
            format!("{open} breakers on {} to be closed by calls", group.instance),
        );
        for stuck in found.iter().filter(|f| f.standing() == Some(Standing::Stuck)) {
            // The refusal, if it stays, is seen as a state that stays.
            let _ = group.bring_back(scene, stuck.before).await;
        }
        scene.pause().await;
    }
}

fn still_open(scene: &Scene, group: &Group<'_>, found: &[Found<'_>]) -> Vec<Leftover> {
    let left = found.iter().filter_map(|f| {
        let why = match (&f.now, f.standing()) {
            (Err(error), _) => error.to_string(),
            (_, Some(Standing::Trying)) => "half-open: too few real calls have closed it yet".to_owned(),
            (_, Some(Standing::Stuck)) => "real calls did not close it".to_owned(),
            (_, Some(Standing::Altered)) => altered(f.before),
            _ => return None,
        };
        Some(group.leftover(scene, StepId::Breakers, f, &why))
    });
    left.collect()
}

/// Breakers that are not as before now, or cannot be read.
pub(super) async fn not_as_before(scene: &Scene) -> Vec<Leftover> {
    let groups = groups(scene);
    let look = async |group: &Group<'_>| {
        let found = group.look(scene, scene.deadline()).await;
        still_open(scene, group, &found)
    };
    together(groups.iter().map(look))
        .await
        .into_iter()
        .flatten()
        .collect()
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
