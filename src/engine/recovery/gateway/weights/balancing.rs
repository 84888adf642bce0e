//! What spreads traffic by weights: an HAProxy, or an HTTPRoute of Kubernetes.

use tokio::time::Instant;

use crate::{
    drivers::{
        error::DriverError,
        haproxy::{Haproxy, Server},
    },
    engine::recovery::{Scene, by_hand},
    model::{
        ids::InstanceName,
        said::Said,
        snapshot::{GatewayServer, GatewayState},
    },
};

use super::{load::can_carry, route::Route};

/// One of the playbook's load balancers.
pub(super) enum Balancing<'a> {
    Haproxy(Haproxy),
    Route(Route<'a>),
}

impl Balancing<'_> {
    /// The backend of the load balancer, for people.
    pub(super) fn backend(&self) -> String {
        match self {
            Balancing::Haproxy(haproxy) => haproxy.backend().to_owned(),
            Balancing::Route(route) => route.shown(),
        }
    }

    /// The targets as they stand, and for an HAProxy all others as well.
    pub(super) async fn servers(&self) -> Result<Vec<Server>, DriverError> {
        match self {
            Balancing::Haproxy(haproxy) => haproxy.servers().await,
            Balancing::Route(route) => route.servers().await,
        }
    }

    /// What is left without the targets, or why that cannot carry the load.
    pub(super) async fn rest(
        &self,
        scene: &Scene,
        deadline: Instant,
        before: &[&GatewayServer],
        servers: &[Server],
    ) -> Result<Said, Said> {
        match self {
            Balancing::Haproxy(haproxy) => {
                // Without its sessions the weights decide.
                let carries = scene.persist(deadline, || haproxy.carries()).await.ok();
                can_carry(before, servers, carries.as_deref())
            }
            Balancing::Route(route) => {
                let rest = scene.persist(deadline, || route.rest(before)).await;
                rest.unwrap_or_else(|error| Err(error.said()))
            }
        }
    }

    /// What of the targets is not where it was, beside their weights and states.
    pub(super) async fn displaced(&self) -> Result<Vec<Said>, DriverError> {
        match self {
            Balancing::Haproxy(_) => Ok(Vec::new()),
            Balancing::Route(route) => route.displaced().await,
        }
    }

    pub(super) async fn set_weight(&self, instance: &InstanceName, weight: u32) -> Result<(), DriverError> {
        match self {
            Balancing::Haproxy(haproxy) => haproxy.set_weight(instance, weight).await,
            Balancing::Route(route) => route.set_weight(instance, weight).await,
        }
    }

    /// A route has no state beside its weights.
    pub(super) async fn set_state(
        &self,
        instance: &InstanceName,
        state: GatewayState,
    ) -> Result<(), DriverError> {
        match self {
            Balancing::Haproxy(haproxy) => haproxy.set_state(instance, state).await,
            Balancing::Route(_) => Ok(()),
        }
    }

    /// What a person types to give a target this weight, and the state of before.
    pub(super) fn set_by_hand(&self, before: &GatewayServer, weight: u32) -> String {
        let GatewayServer { instance, state, .. } = before;
        match self {
            Balancing::Haproxy(haproxy) => {
                by_hand::set_server(haproxy.socket(), haproxy.backend(), instance, weight, *state)
            }
            Balancing::Route(route) => route.set_by_hand(instance, weight),
        }
    }
}
