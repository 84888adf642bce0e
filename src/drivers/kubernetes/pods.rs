//! Pods: which match, what each is, and the two changes that are made to one.

use std::{collections::BTreeMap, fmt};

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::model::{ids::Namespace, kubernetes::PodId, text::harmless};

use super::{
    Kubernetes, Meta, Write,
    ask::Ask,
    doubt::{Base, Doubt},
};
use crate::drivers::error::DriverError;

/// A pod, as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// Which.
    pub id: PodId,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// What keeps it: makes another when it is gone.
    pub owner: Option<Owner>,
    /// Whether it is being deleted.
    pub is_going: bool,
    /// Whether it is Running, Ready, and not being deleted.
    pub is_ready: bool,
    /// Its phase, for people.
    pub phase: String,
    /// What a change that builds on this must name.
    version: String,
}

/// What keeps a pod.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Owner {
    /// Its API group and version.
    #[serde(rename = "apiVersion")]
    pub api: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Whether it is the one that makes another pod.
    #[serde(default)]
    controller: bool,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", harmless(&self.kind, 64), harmless(&self.name, 64))
    }
}

impl Pod {
    /// Whether all of its containers have ended for good. Such a pod stays listed (one that was evicted, say) and does nothing any
    /// more.
    pub fn has_ended(&self) -> bool {
        matches!(self.phase.as_str(), "Succeeded" | "Failed")
    }

    /// `Running, not Ready`.
    pub fn state(&self) -> String {
        match (self.is_going, self.is_ready) {
            (true, _) => "being deleted".into(),
            (false, true) => "Ready".into(),
            (false, false) => format!("{}, not Ready", self.phase),
        }
    }
}

#[derive(Debug, Deserialize)]
struct RawPod {
    metadata: Meta,
    #[serde(default)]
    status: RawStatus,
}

#[derive(Debug, Default, Deserialize)]
struct RawStatus {
    #[serde(default)]
    phase: String,
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Debug, Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

impl RawPod {
    fn in_namespace(self, namespace: &Namespace) -> Pod {
        let RawPod { metadata, status } = self;
        let is_going = metadata.deletion_timestamp.is_some();
        let ready = status
            .conditions
            .iter()
            .any(|c| c.kind == "Ready" && c.status == "True");
        Pod {
            id: PodId {
                namespace: namespace.clone(),
                name: harmless(&metadata.name, 253),
                uid: harmless(&metadata.uid, 64),
            },
            labels: metadata.labels,
            owner: metadata.owner_references.into_iter().find(|o| o.controller),
            is_going,
            is_ready: ready && status.phase == "Running" && !is_going,
            phase: harmless(&status.phase, 32),
            version: metadata.resource_version,
        }
    }
}

pub(super) fn place(id: &PodId) -> Vec<&str> {
    vec!["api", "v1", "namespaces", id.namespace.as_str(), "pods", &id.name]
}

impl Kubernetes {
    /// The pods that a selector matches, those that are being deleted as well.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn pods(&self, namespace: &Namespace, selector: &str) -> Result<Vec<Pod>, DriverError> {
        let path = vec!["api", "v1", "namespaces", namespace.as_str(), "pods"];
        let pods: Vec<RawPod> = self.list("PodList", path, Some(selector)).await?;
        Ok(pods.into_iter().map(|pod| pod.in_namespace(namespace)).collect())
    }

    /// Deletes this pod, and never another that has its name by now. One that is gone already is no error.
    ///
    /// # Errors
    /// [`DriverError`]; [`DriverError::Conflict`] if another pod has its name.
    pub async fn delete_pod(&self, id: &PodId, write: Write) -> Result<(), DriverError> {
        // A deletion with a body goes by its body alone: a dry run that only the query asks for would delete.
        let options = json!({
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "preconditions": {"uid": id.uid},
            "dryRun": write.stages(),
        });
        let ask = Ask::new(Method::DELETE, place(id))
            .writing(write)
            .saying("application/json", options);
        let doubt = Doubt::of_deletion("Pod", &place(id), &id.uid);
        match self.ask_for::<Value>(ask, "Pod", &doubt, write).await {
            Ok(_) => Ok(()),
            Err(DriverError::NotThere { .. }) if write == Write::Store => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Sets one label of a pod that was read just now, or removes it.
    ///
    /// # Errors
    /// [`DriverError`]; [`DriverError::Conflict`] if the pod has changed since it was read.
    pub async fn set_label(
        &self,
        pod: &Pod,
        key: &str,
        value: Option<&str>,
        write: Write,
    ) -> Result<(), DriverError> {
        let base = Base {
            uid: &pod.id.uid,
            version: &pod.version,
        };
        let patch = json!({"metadata": {"labels": {key: value}}});
        self.patch::<Value>(("Pod", place(&pod.id)), base, patch, write)
            .await
            .map(drop)
    }
}
