//! Whether the other pods of a Service can carry its load without the targets.

use crate::{
    drivers::{
        error::DriverError,
        kubernetes::{Kubernetes, Pod, Service},
    },
    model::{
        ids::Namespace,
        said::{Said, said},
    },
};

/// What the Services have to carry their load with.
pub(super) struct Load {
    /// Each Service that has a target in it: how many of its Ready pods are targets, and how many are not.
    services: Vec<(String, usize, usize)>,
}

impl Load {
    pub(super) async fn read(
        cluster: &Kubernetes,
        namespace: &Namespace,
        services: Vec<Service>,
        targets: Vec<String>,
    ) -> Result<Self, DriverError> {
        let mut all = Vec::new();
        for service in services {
            let pods = cluster.pods(namespace, &service.query()).await?;
            let ready = pods.iter().filter(|pod| pod.is_ready);
            let (out, rest): (Vec<&Pod>, Vec<&Pod>) = ready.partition(|pod| targets.contains(&pod.id.uid));
            if !out.is_empty() {
                all.push((service.name, out.len(), rest.len()));
            }
        }
        Ok(Self { services: all })
    }

    /// Says what is left of each Service without the targets, or why that cannot carry the load: each of the rest would get more
    /// than twice its share.
    pub(super) fn rest(&self) -> Result<Said, Said> {
        let mut shown = Vec::new();
        for (name, out, rest) in &self.services {
            let all = out + rest;
            if *rest == 0 {
                return Err(said!(
                    "Service {name}: {out} of {all} Ready pods would go: no other carries its load",
                    "Service {name}：{all} 个 Ready Pod 将摘 {out} 个：无其他 Pod 承载"
                ));
            }
            if rest < out {
                return Err(said!(
                    "Service {name}: {out} of {all} Ready pods would go, and each of the other {rest} would get more than twice its share: the rest cannot carry the load",
                    "Service {name}：{all} 个 Ready Pod 将摘 {out} 个，其余 {rest} 个各自承载将超过两倍：承载不了"
                ));
            }
            shown.push(said!(
                "{rest} of {all} Ready pods stay in Service {name}",
                "Service {name} 留 {rest}/{all} 个 Ready Pod"
            ));
        }
        Ok(Said::list(&shown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(services: &[(&str, usize, usize)]) -> Result<String, String> {
        let services = services
            .iter()
            .map(|(name, out, rest)| ((*name).to_owned(), *out, *rest));
        let load = Load {
            services: services.collect(),
        };
        load.rest()
            .map(|said| said.en().to_owned())
            .map_err(|said| said.en().to_owned())
    }

    #[test]
    fn every_service_must_keep_as_many_ready_pods_as_it_gives() {
        assert_eq!(
            rest(&[("a", 1, 1)]).unwrap(),
            "1 of 2 Ready pods stay in Service a"
        );
        assert_eq!(
            rest(&[("a", 2, 6), ("b", 2, 2)]).unwrap(),
            "6 of 8 Ready pods stay in Service a, 2 of 4 Ready pods stay in Service b"
        );
        assert!(
            rest(&[("a", 1, 7), ("b", 1, 0)])
                .unwrap_err()
                .starts_with("Service b: 1 of 1 Ready pods")
        );
        assert!(
            rest(&[("a", 3, 2)])
                .unwrap_err()
                .contains("the other 2 would get more than twice")
        );
    }
}
