//! Step 6: traffic back in stages, each held and watched, until weights and states are those of the snapshot.
//!
//! While a stage is held the weights are watched as well: a load balancer that was reloaded begins again with those of its
//! configuration, and is put back to the stage.

use tokio::time::Instant;

use crate::{
    drivers::haproxy::Server,
    engine::recovery::{
        Scene, StepEnd,
        by_hand::once_guards_hold,
        elapsed,
        gateway::held::{TRIES, Watched, is_calm_again, is_calm_before},
        together, unread,
    },
    model::{
        amount::Share,
        recovery::{Leftover, StepId, StepState},
        said::{Said, said},
        snapshot::GatewayState,
        time::Span,
    },
};

use super::{Door, Look, target::Target, watch::hold};

/// Brings traffic back in stages, each held and watched, until weights and states are the snapshot's.
pub(in crate::engine::recovery::gateway) async fn back(scene: &Scene, door: &Door<'_>) -> StepEnd {
    let begin = Instant::now();
    let mut climb = Climb::default();
    let mut differing = Vec::new();
    let mut rising = Vec::new();
    for look in door.look(scene, scene.deadline()).await {
        climb.begin(look, &mut differing, &mut rising);
    }
    if differing.is_empty() && climb.lost.is_empty() {
        let same = said!("weights and states are as before", "权重与状态与演练前一致");
        return StepEnd::new(StepState::Nothing, same);
    }
    climb.up(scene, door, rising).await;
    differing.retain(|t| !climb.given_up.contains(&t.name()));
    match &climb.stopped {
        Some(why) => {
            let deadline = scene.deadline();
            let partly = differing
                .iter()
                .map(|target| partly(scene, deadline, door, target, why));
            climb.lost.extend(together(partly).await);
        }
        None => climb.lost.extend(restore(scene, &differing).await),
    }
    if climb.lost.is_empty() {
        let weights = differing.iter().map(|t| {
            let weight = t.before.weight;
            said!(name = t.name(); "{name} weight {weight}", "{name} 权重 {weight}")
        });
        let took = Span::seconds(elapsed(begin).0 / 1000);
        let weights = Said::list(&weights.collect::<Vec<_>>());
        climb
            .notes
            .insert(0, said!(weights; "{weights} in {took}", "{weights}，用时 {took}"));
    }
    StepEnd::of(StepState::Done, Said::sentences(&climb.notes), climb.lost)
}

/// The way up.
#[derive(Default)]
pub(super) struct Climb {
    pub(super) notes: Vec<Said>,
    /// What a load balancer did not do.
    pub(super) lost: Vec<Leftover>,
    /// The targets of those.
    given_up: Vec<Said>,
    /// How often a weight was not the one that was set.
    pub(super) corrections: u32,
    /// Why the way up ended before its last stage.
    stopped: Option<Said>,
}

/// A target on its way up, and the weight that it has now.
#[derive(Clone)]
pub(super) struct Rising<'d> {
    pub(super) target: Target<'d>,
    pub(super) at: u32,
}

impl Climb {
    fn begin<'d>(
        &mut self,
        (balancer, look): Look<'d>,
        differing: &mut Vec<Target<'d>>,
        rising: &mut Vec<Rising<'d>>,
    ) {
        let servers = match look {
            Ok(servers) => servers,
            Err(error) => {
                self.notes.push(error.said());
                self.lost.extend(balancer.unread(StepId::Traffic, &error));
                return;
            }
        };
        for target in balancer.targets().filter(|t| !t.is_as_before(&servers)) {
            differing.push(target);
            let now = target.now(&servers);
            let (before, initial) = (target.before, now.map(|s| s.initial_weight));
            if let Some(initial) = initial.filter(|i| *i != before.initial_weight) {
                let was = before.initial_weight;
                self.notes.push(said!(
                    name = target.name();
                    "{name} was configured with weight {was} and is now with {initial}",
                    "{name} 的配置权重原为 {was}，现为 {initial}"
                ));
            }
            // Servers that took no traffic before the drill are only put back as they were, at the end.
            let at = now.map_or(0, takes);
            if before.state == GatewayState::Ready && at < before.weight {
                rising.push(Rising { target, at });
            }
        }
    }

    async fn up(&mut self, scene: &Scene, door: &Door<'_>, mut rising: Vec<Rising<'_>>) {
        if rising.is_empty() {
            return;
        }
        let is_calm = is_calm_before(scene, &mut self.notes).await;
        for share in stages(door.ramp) {
            let mut tries = 0;
            loop {
                tries += 1;
                let lower = rising.clone();
                if !self.raise(scene, &mut rising, share).await {
                    break;
                }
                let watched = hold(scene, door.hold, share, self, &mut rising).await;
                let Watched::Bad(which) = watched else { break };
                if !is_calm {
                    break;
                }
                self.notes.push(said!(
                    which;
                    "at {share} the guard was bad: {which}",
                    "{share} 时守护越限：{which}"
                ));
                self.step_back(scene, &mut rising, &lower).await;
                if tries == TRIES || !is_calm_again(scene).await {
                    self.stopped = Some(said!(
                        which;
                        "the guard is bad at {share}: {which}",
                        "{share} 时守护越限：{which}"
                    ));
                    return;
                }
            }
        }
    }

    /// Raises all to a stage, at the same time; tells whether one was raised.
    async fn raise(&mut self, scene: &Scene, rising: &mut Vec<Rising<'_>>, share: Share) -> bool {
        let to = |r: &Rising<'_>| stage_weight(r.target.before.weight, share);
        let lower = rising.iter().filter(|r| r.at < to(r));
        let raised = together(lower.map(async |r| (r.target, r.target.admit(scene, to(r)).await))).await;
        for (target, ended) in &raised {
            if let Err(error) = ended {
                let what = target.without_all_traffic();
                self.give_up(
                    rising,
                    target,
                    unread(StepId::Traffic, what, error, Some(target.by_hand())),
                );
            }
        }
        for r in rising.iter_mut() {
            r.at = r.at.max(to(r));
        }
        raised.iter().any(|(_, ended)| ended.is_ok())
    }

    async fn step_back(&mut self, scene: &Scene, rising: &mut [Rising<'_>], lower: &[Rising<'_>]) {
        for r in rising {
            let below = lower.iter().find(|l| l.target.name() == r.target.name());
            r.at = below.map_or(r.at, |l| l.at);
            // The weight below is safer than none: if it cannot be set, the final read shows it.
            if r.target.weigh(scene, r.at, scene.deadline()).await.is_err() {
                self.notes.push(said!(
                    name = r.target.name();
                    "{name} could not be lowered",
                    "{name} 的权重未能调低"
                ));
            }
        }
    }

    /// A target whose load balancer does not do as asked: the others go on.
    pub(super) fn give_up(&mut self, rising: &mut Vec<Rising<'_>>, target: &Target<'_>, left: Leftover) {
        let name = target.name();
        rising.retain(|r| r.target.name() != name);
        self.notes
            .push(said!(what = left.what, why = left.why; "{what}: {why}", "{what}：{why}"));
        self.given_up.push(name);
        self.lost.push(left);
    }
}

/// The weight that takes traffic now.
pub(super) fn takes(server: &Server) -> u32 {
    match server.state {
        GatewayState::Ready => server.weight,
        GatewayState::Drain | GatewayState::Maint => 0,
    }
}

/// The stages of the ramp; the last is always everything.
pub(super) fn stages(ramp: &[Share]) -> impl Iterator<Item = Share> {
    let below = ramp.iter().copied().filter(|s| s.0 < 1.0);
    below.chain([Share::ALL])
}

/// Never 0 for a server that had a weight: 10 % of 1 is 1.
pub(super) fn stage_weight(weight: u32, share: Share) -> u32 {
    let scaled = (f64::from(weight) * share.0).round() as u32;
    scaled.clamp(1.min(weight), weight)
}

/// The snapshot's weights and states exactly.
async fn restore(scene: &Scene, differing: &[Target<'_>]) -> Vec<Leftover> {
    let put_back = differing.iter().map(async |target| {
        let error = target.admit(scene, target.before.weight).await.err()?;
        let what = said!(place = target.place(); "weight and state of {place}", "{place} 的权重与状态");
        Some(unread(StepId::Traffic, what, &error, Some(target.by_hand())))
    });
    together(put_back).await.into_iter().flatten().collect()
}

/// The way up ended below its last stage.
async fn partly(
    scene: &Scene,
    deadline: Instant,
    door: &Door<'_>,
    target: &Target<'_>,
    why: &Said,
) -> Leftover {
    let look = || target.balancer.balancing.servers();
    let servers = scene.persist(deadline, look).await.unwrap_or_default();
    let hand = match target.now(&servers) {
        Some(now) => target.up_by_hand(now, door),
        None => once_guards_hold(&target.by_hand()),
    };
    Leftover::seen(
        StepId::Traffic,
        target.without_all_traffic(),
        why.clone(),
        Some(hand),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_never_rounds_a_weight_down_to_nothing() {
        assert_eq!(stage_weight(1, Share(0.1)), 1);
        assert_eq!(stage_weight(0, Share(0.5)), 0);
        assert_eq!(
            [0.1, 0.3, 1.0].map(|s| stage_weight(100, Share(s))),
            [10, 30, 100]
        );
    }
}
