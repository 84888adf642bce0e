//! Services and what keeps pods: which labels each goes by.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use serde::Deserialize;

use crate::model::{ids::Namespace, text::harmless};

use super::{Kubernetes, Meta, Owner, ask::Ask};
use crate::drivers::error::DriverError;

/// A Service that finds its pods by labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// The labels that its pods have.
    pub selector: BTreeMap<String, String>,
}

impl Service {
    /// Whether it sends to pods with these labels.
    pub fn has(&self, labels: &BTreeMap<String, String>) -> bool {
        self.selector
            .iter()
            .all(|(key, value)| labels.get(key) == Some(value))
    }

    /// Whether it sends to such pods, or would with another value of this label.
    pub fn has_but(&self, labels: &BTreeMap<String, String>, key: &str) -> bool {
        let mut others = self.selector.iter().filter(|(k, _)| *k != key);
        others.all(|(k, value)| labels.get(k) == Some(value))
    }

    /// Its selector as a query.
    pub fn query(&self) -> String {
        let pairs: Vec<String> = self.selector.iter().map(|(k, v)| format!("{k}={v}")).collect();
        pairs.join(",")
    }
}

#[derive(Debug, Deserialize)]
struct RawService {
    metadata: Meta,
    #[serde(default)]
    spec: RawSpec,
}

#[derive(Debug, Default, Deserialize)]
struct RawSpec {
    #[serde(default)]
    selector: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
struct RawKeeper {
    spec: RawKeeperSpec,
}

#[derive(Debug, Deserialize)]
struct RawKeeperSpec {
    #[serde(default)]
    selector: RawSelector,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawSelector {
    #[serde(default)]
    match_labels: BTreeMap<String, String>,
    #[serde(default)]
    match_expressions: Vec<Expression>,
}

#[derive(Debug, Deserialize)]
struct Expression {
    key: String,
}

impl Kubernetes {
    /// The Services of a namespace that find their pods by labels.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn services(&self, namespace: &Namespace) -> Result<Vec<Service>, DriverError> {
        let path = vec!["api", "v1", "namespaces", namespace.as_str(), "services"];
        let services: Vec<RawService> = self.list("ServiceList", path, None).await?;
        let services = services.into_iter().map(|s| Service {
            name: harmless(&s.metadata.name, 64),
            selector: s.spec.selector,
        });
        Ok(services.filter(|s| !s.selector.is_empty()).collect())
    }

    /// The labels by which a pod is kept: a pod without them is let go and replaced. `None` for what keeps pods in a way that is
    /// not known here.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn keeps_by(
        &self,
        namespace: &Namespace,
        owner: &Owner,
    ) -> Result<Option<BTreeSet<String>>, DriverError> {
        let (plural, kind) = match (owner.api.as_str(), owner.kind.as_str()) {
            ("apps/v1", "ReplicaSet") => ("replicasets", "ReplicaSet"),
            ("apps/v1", "StatefulSet") => ("statefulsets", "StatefulSet"),
            ("apps/v1", "DaemonSet") => ("daemonsets", "DaemonSet"),
            _ => return Ok(None),
        };
        let path = vec![
            "apis",
            "apps",
            "v1",
            "namespaces",
            namespace.as_str(),
            plural,
            &owner.name,
        ];
        let keeper: RawKeeper = self.ask(Ask::new(Method::GET, path), kind).await?;
        let selector = keeper.spec.selector;
        let keys = selector.match_labels.into_keys();
        Ok(Some(
            keys.chain(selector.match_expressions.into_iter().map(|e| e.key))
                .collect(),
        ))
    }
}
