//! An HTTPRoute as a load balancer: each target is a Service of its own, with the same weight in every rule that has it.

use crate::{
    drivers::{
        Drivers,
        error::DriverError,
        haproxy::Server,
        kubernetes::{Backend, HttpRoute, Kubernetes, Write},
    },
    engine::recovery::{by_hand, snapshot::kubernetes::TRIES},
    model::{
        ids::{InstanceName, Namespace},
        kubernetes::{BackendSeen, RouteSeen},
        playbook::RouteGateway,
        said::{Said, said},
        snapshot::{GatewayServer, GatewayState},
    },
};

use super::load::can_carry;

/// The route of the playbook.
pub(super) struct Route<'a> {
    cluster: &'a Kubernetes,
    namespace: &'a Namespace,
    gateway: &'a RouteGateway,
    targets: &'a [InstanceName],
    /// How it was before the drill.
    before: Option<&'a RouteSeen>,
}

impl<'a> Route<'a> {
    /// # Errors
    /// [`DriverError`] if the environment has no Kubernetes, or does not allow the namespace.
    pub(super) fn of(
        drivers: &'a Drivers,
        gateway: &'a RouteGateway,
        targets: &'a [InstanceName],
        before: Option<&'a RouteSeen>,
    ) -> Result<Self, DriverError> {
        let cluster = drivers.kubernetes()?;
        Ok(Self {
            namespace: cluster.namespace(gateway.namespace.as_ref())?,
            cluster,
            gateway,
            targets,
            before,
        })
    }

    /// `HTTPRoute shop/order`.
    pub(super) fn shown(&self) -> String {
        format!("HTTPRoute {}/{}", self.namespace, self.gateway.route)
    }

    fn service(&self, instance: &InstanceName) -> String {
        self.gateway.backend.replace("{target}", instance.as_str())
    }

    fn conflict(&self, answer: String) -> DriverError {
        let what = self.shown();
        DriverError::Conflict { what, answer }
    }

    /// The route, and none that has taken its name since.
    async fn read(&self) -> Result<HttpRoute, DriverError> {
        let route = self
            .cluster
            .http_route(self.namespace, &self.gateway.route)
            .await?;
        match self.before {
            Some(before) if before.uid != route.uid => {
                Err(self.conflict("it is another one than before the drill, of the same name".into()))
            }
            _ => Ok(route),
        }
    }

    /// How it stands, for the snapshot.
    pub(super) async fn seen(&self) -> Result<RouteSeen, DriverError> {
        let route = self.read().await?;
        let backends = self.targets.iter().flat_map(|instance| {
            let service = self.service(instance);
            let places: Vec<_> = route.places(&service).collect();
            places.into_iter().map(move |(rule, backend, _)| BackendSeen {
                instance: instance.clone(),
                service: service.clone(),
                rule,
                backend,
            })
        });
        Ok(RouteSeen {
            namespace: self.namespace.clone(),
            route: self.gateway.route.clone(),
            backends: backends.collect(),
            uid: route.uid,
        })
    }

    /// The targets that a rule sends to.
    pub(super) async fn servers(&self) -> Result<Vec<Server>, DriverError> {
        let route = self.read().await?;
        let servers = self.targets.iter().filter_map(|instance| {
            let service = self.service(instance);
            let mut weights = route.places(&service).map(|(_, _, weight)| weight);
            let weight = weights.next()?;
            Some(match weights.find(|other| *other != weight) {
                None => Ok(server(instance.to_string(), weight)),
                Some(other) => Err(self.conflict(format!(
                    "Service {service} has weight {weight} in one rule and {other} in another: one in all of them is needed"
                ))),
            })
        });
        servers.collect()
    }

    /// Targets that fewer rules send to than before the drill: a weight as before in the others is not all of their traffic.
    pub(super) async fn displaced(&self) -> Result<Vec<Said>, DriverError> {
        let Some(before) = self.before else {
            return Ok(Vec::new());
        };
        let route = self.read().await?;
        let displaced = self.targets.iter().filter_map(|instance| {
            let service = self.service(instance);
            let was = before.backends.iter().filter(|b| b.instance == *instance).count();
            let is = route.places(&service).count();
            (is < was).then(|| {
                let route = self.shown();
                said!(
                    "{is} rules of {route} send to Service {service}, {was} before the drill",
                    "{route} 有 {is} 条规则指向 Service {service}，演练前 {was} 条"
                )
            })
        });
        Ok(displaced.collect())
    }

    /// What is left of each rule that sends to a target. A Service without a Ready pod carries nothing.
    pub(super) async fn rest(&self, before: &[&GatewayServer]) -> Result<Result<Said, Said>, DriverError> {
        let route = self.read().await?;
        let services: Vec<(String, &InstanceName)> =
            self.targets.iter().map(|i| (self.service(i), i)).collect();
        let target = |b: &Backend| {
            let service = b.service.as_ref()?;
            services.iter().find(|(s, _)| s == service).map(|(_, i)| *i)
        };
        let mut shown = Vec::new();
        for rule in route
            .rules
            .iter()
            .filter(|r| r.iter().any(|b| target(b).is_some()))
        {
            let mut servers = Vec::new();
            for backend in rule {
                servers.push(match (target(backend), &backend.service) {
                    (Some(instance), _) => server(instance.to_string(), backend.weight),
                    (None, Some(service)) => Server {
                        running: self.has_ready_pods(service).await?,
                        ..server(service.clone(), backend.weight)
                    },
                    // What is behind it cannot be seen.
                    (None, None) => Server {
                        running: false,
                        ..server(String::new(), backend.weight)
                    },
                });
            }
            match can_carry(before, &servers, None) {
                Ok(rest) if shown.contains(&rest) => {}
                Ok(rest) => shown.push(rest),
                Err(why) => return Ok(Err(why)),
            }
        }
        Ok(Ok(Said::list(&shown)))
    }

    async fn has_ready_pods(&self, service: &str) -> Result<bool, DriverError> {
        let services = self.cluster.services(self.namespace).await?;
        let Some(service) = services.iter().find(|s| s.name == service) else {
            return Ok(false);
        };
        let pods = self.cluster.pods(self.namespace, &service.query()).await?;
        Ok(pods.iter().any(|pod| pod.is_ready))
    }

    /// Proves the right to change it. Its controller writes to it as well: read and tried again.
    pub(super) async fn proves_right(&self) -> Result<(), DriverError> {
        let Some(instance) = self.targets.first() else {
            return Ok(());
        };
        self.try_to_set(instance, 0, Write::DryRun).await
    }

    pub(super) async fn set_weight(&self, instance: &InstanceName, weight: u32) -> Result<(), DriverError> {
        self.try_to_set(instance, weight, Write::Store).await
    }

    async fn try_to_set(
        &self,
        instance: &InstanceName,
        weight: u32,
        write: Write,
    ) -> Result<(), DriverError> {
        let place = (self.namespace, &self.gateway.route);
        let service = self.service(instance);
        for _ in 1..TRIES {
            let route = self.read().await?;
            let set = self
                .cluster
                .set_backend_weight(place, &route, &service, weight, write);
            match set.await {
                Err(DriverError::Conflict { .. }) => {}
                ended => return ended,
            }
        }
        let route = self.read().await?;
        self.cluster
            .set_backend_weight(place, &route, &service, weight, write)
            .await
    }

    /// It fails, rather than changing another backend, if the route has been rewritten meanwhile.
    pub(super) fn set_by_hand(&self, instance: &InstanceName, weight: u32) -> String {
        let seen = self
            .before
            .map(|before| before.backends.as_slice())
            .unwrap_or_default();
        let places = seen.iter().filter(|b| b.instance == *instance);
        by_hand::kubernetes::set_backend_weight(
            self.cluster,
            self.namespace,
            &self.gateway.route,
            places,
            weight,
        )
    }
}

fn server(name: String, weight: u32) -> Server {
    Server {
        name,
        weight,
        initial_weight: weight,
        state: GatewayState::Ready,
        running: true,
    }
}
