//! One target at one load balancer: how its weight and state are set, and read back.

use tokio::time::Instant;

use crate::{
    drivers::{error::DriverError, haproxy::Server},
    engine::recovery::{Scene, by_hand},
    model::{
        said::{Said, said},
        snapshot::{GatewayServer, GatewayState},
        undo::ChangeIntent,
    },
};

use super::{
    Balancer, Door,
    ramp::{stage_weight, stages, takes},
};

/// A target instance's server at a load balancer, and what it was before the drill.
#[derive(Clone, Copy)]
pub(super) struct Target<'d> {
    pub(super) balancer: &'d Balancer<'d>,
    pub(super) before: &'d GatewayServer,
}

impl Target<'_> {
    /// `order-0`, or `order-0 at lb-b` where there are several load balancers.
    pub(super) fn name(&self) -> Said {
        let instance = &self.before.instance;
        match self.balancer.name {
            Some(at) => said!("{instance} at {at}", "{at} 上的 {instance}"),
            None => Said::as_it_is(instance.to_string()),
        }
    }

    /// That it takes less traffic than before.
    pub(super) fn without_all_traffic(&self) -> Said {
        said!(name = self.name(); "{name} has not all of its traffic back", "{name} 流量未全部放回")
    }

    /// `order-0 at the gateway`, or `order-0 at lb-b`.
    pub(super) fn place(&self) -> Said {
        let instance = &self.before.instance;
        match self.balancer.name {
            Some(at) => said!("{instance} at {at}", "{at} 上的 {instance}"),
            None => said!("{instance} at the gateway", "网关上的 {instance}"),
        }
    }

    pub(super) fn now<'s>(&self, servers: &'s [Server]) -> Option<&'s Server> {
        servers.iter().find(|s| s.name == self.before.instance.as_str())
    }

    pub(super) fn is_as_before(&self, servers: &[Server]) -> bool {
        self.is(servers, self.before.weight)
    }

    /// Whether it has this weight and the state that it had before.
    pub(super) fn is(&self, servers: &[Server], weight: u32) -> bool {
        self.now(servers)
            .is_some_and(|s| s.weight == weight && s.state == self.before.state)
    }

    /// Whether it is to serve and the load balancer finds it down. One that was down before is nobody's leftover.
    pub(super) fn is_down(&self, servers: &[Server]) -> bool {
        let to_serve = self.was_serving() && self.before.running;
        to_serve && self.now(servers).is_some_and(|s| !s.running)
    }

    /// Whether it took traffic before the drill.
    pub(super) fn was_serving(&self) -> bool {
        self.before.weight > 0 && self.before.state == GatewayState::Ready
    }

    /// What a person types to have it as before.
    pub(super) fn by_hand(&self) -> String {
        self.set_by_hand(self.before.weight)
    }

    /// What a person types to have it as before where it has less of its traffic: stage by stage, as the playbook does it. All of it
    /// at once may be what the guards did not bear.
    pub(super) fn up_by_hand(&self, now: &Server, door: &Door<'_>) -> String {
        let at = takes(now);
        if !self.was_serving() || at >= self.before.weight {
            return self.by_hand();
        }
        let mut weights: Vec<u32> = stages(door.ramp)
            .map(|share| stage_weight(self.before.weight, share))
            .filter(|weight| *weight > at)
            .collect();
        weights.dedup();
        let lines = weights.into_iter().enumerate().map(|(nth, weight)| {
            let command = self.set_by_hand(weight);
            match nth {
                0 => by_hand::once_guards_hold(&command),
                _ => {
                    let hold = door.hold;
                    let when = said!(
                        "only once the guards have held for {hold}",
                        "守护保持 {hold} 后再执行"
                    );
                    by_hand::only(&when, &command)
                }
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    pub(super) fn set_by_hand(&self, weight: u32) -> String {
        self.balancer.balancing.set_by_hand(self.before, weight)
    }

    /// Sets a weight and then the state of before: in this order, so that it never comes back with more than meant.
    pub(super) async fn admit(&self, scene: &Scene, weight: u32) -> Result<(), DriverError> {
        let deadline = scene.deadline();
        self.weigh(scene, weight, deadline).await?;
        self.place_as_before(scene, deadline).await
    }

    pub(super) async fn weigh(
        &self,
        scene: &Scene,
        weight: u32,
        deadline: Instant,
    ) -> Result<(), DriverError> {
        let wanted = |s: &Server| s.weight == weight;
        if self.reads(scene, deadline, wanted).await? {
            return Ok(());
        }
        self.intend(scene, format!("weight {weight}")).await;
        let set = || self.balancer.balancing.set_weight(&self.before.instance, weight);
        scene.persist(deadline, set).await?;
        self.confirm(scene, deadline, wanted, "weight").await
    }

    async fn place_as_before(&self, scene: &Scene, deadline: Instant) -> Result<(), DriverError> {
        let state = self.before.state;
        let wanted = |s: &Server| s.state == state;
        if self.reads(scene, deadline, wanted).await? {
            return Ok(());
        }
        self.intend(scene, state.as_str().to_owned()).await;
        let set = || self.balancer.balancing.set_state(&self.before.instance, state);
        scene.persist(deadline, set).await?;
        self.confirm(scene, deadline, wanted, "state").await
    }

    async fn intend(&self, scene: &Scene, to: String) {
        let change = ChangeIntent::Gateway {
            at: self.before.at.clone(),
            instance: self.before.instance.clone(),
            weight: self.before.weight,
            state: self.before.state,
            to,
        };
        scene.bus.intend(change).await;
    }

    async fn reads(
        &self,
        scene: &Scene,
        deadline: Instant,
        wanted: impl Fn(&Server) -> bool,
    ) -> Result<bool, DriverError> {
        let servers = scene
            .persist(deadline, || self.balancer.balancing.servers())
            .await?;
        Ok(self.now(&servers).is_some_and(wanted))
    }

    async fn confirm(
        &self,
        scene: &Scene,
        deadline: Instant,
        wanted: impl Fn(&Server) -> bool,
        what: &str,
    ) -> Result<(), DriverError> {
        if self.reads(scene, deadline, wanted).await? {
            return Ok(());
        }
        Err(DriverError::Conflict {
            what: format!(
                "{what} of {}/{}",
                self.balancer.balancing.backend(),
                self.name().en()
            ),
            answer: "accepted, and not so when read back".into(),
        })
    }
}
