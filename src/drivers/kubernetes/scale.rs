//! The scale of a Deployment, and what else would change it.

use http::Method;
use serde::Deserialize;
use serde_json::json;

use crate::model::{
    ids::{DeploymentName, Namespace},
    text::harmless,
};

use super::{Kubernetes, Meta, Write, ask::Ask, doubt::Base};
use crate::drivers::error::DriverError;

/// How a Deployment is scaled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scaled {
    /// This Deployment, and no other that may have its name later.
    pub uid: String,
    /// How many replicas it is to have.
    pub replicas: u32,
    /// How many it has, as its controller says.
    pub running: u32,
    /// The selector of its pods.
    pub selector: String,
    /// What a change that builds on this must name.
    version: String,
}

#[derive(Debug, Deserialize)]
struct RawScale {
    metadata: Meta,
    #[serde(default)]
    spec: Replicas,
    #[serde(default)]
    status: Replicas,
}

/// Go leaves a zero out.
#[derive(Debug, Default, Deserialize)]
struct Replicas {
    #[serde(default)]
    replicas: u32,
    #[serde(default)]
    selector: String,
}

impl From<RawScale> for Scaled {
    fn from(raw: RawScale) -> Self {
        Scaled {
            uid: harmless(&raw.metadata.uid, 64),
            replicas: raw.spec.replicas,
            running: raw.status.replicas,
            selector: raw.status.selector,
            version: raw.metadata.resource_version,
        }
    }
}

#[derive(Debug, Deserialize)]
struct RawAutoscaler {
    metadata: Meta,
    spec: RawAutoscalerSpec,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawAutoscalerSpec {
    scale_target_ref: TargetRef,
}

#[derive(Debug, Deserialize)]
struct TargetRef {
    kind: String,
    name: String,
}

pub(super) fn place<'a>(namespace: &'a Namespace, deployment: &'a DeploymentName) -> Vec<&'a str> {
    let namespace = namespace.as_str();
    vec![
        "apis",
        "apps",
        "v1",
        "namespaces",
        namespace,
        "deployments",
        deployment.as_str(),
        "scale",
    ]
}

impl Kubernetes {
    /// How a Deployment is scaled.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn scale(
        &self,
        namespace: &Namespace,
        deployment: &DeploymentName,
    ) -> Result<Scaled, DriverError> {
        let ask = Ask::new(Method::GET, place(namespace, deployment));
        let scale: RawScale = self.ask(ask, "Scale").await?;
        Ok(scale.into())
    }

    /// Scales a Deployment whose scale was read just now.
    ///
    /// # Errors
    /// [`DriverError`]; [`DriverError::Conflict`] if it has changed since it was read.
    pub async fn set_scale(
        &self,
        namespace: &Namespace,
        deployment: &DeploymentName,
        seen: &Scaled,
        replicas: u32,
        write: Write,
    ) -> Result<Scaled, DriverError> {
        let base = Base {
            uid: &seen.uid,
            version: &seen.version,
        };
        let patch = json!({"spec": {"replicas": replicas}});
        let place = ("Scale", place(namespace, deployment));
        let scale: RawScale = self.patch(place, base, patch, write).await?;
        Ok(scale.into())
    }

    /// The autoscalers that scale a Deployment.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn autoscalers(
        &self,
        namespace: &Namespace,
        deployment: &DeploymentName,
    ) -> Result<Vec<String>, DriverError> {
        let group = ["apis", "autoscaling", "v2", "namespaces", namespace.as_str()];
        let path = [group.as_slice(), &["horizontalpodautoscalers"]].concat();
        let all: Vec<RawAutoscaler> = self.list("HorizontalPodAutoscalerList", path, None).await?;
        let scales = |a: &RawAutoscaler| {
            let target = &a.spec.scale_target_ref;
            target.kind == "Deployment" && target.name == deployment.as_str()
        };
        Ok(all
            .into_iter()
            .filter(scales)
            .map(|a| harmless(&a.metadata.name, 64))
            .collect())
    }
}
