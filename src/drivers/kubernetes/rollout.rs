//! The rollout of a Deployment or a StatefulSet: how far it is, and its restart.
//!
//! A restart is what `kubectl rollout restart` does: the pod template gets an annotation with the time, so that the controller
//! makes new pods and lets the old ones go. When it is over is told by the status, as `kubectl rollout status` reads it.

use std::collections::BTreeMap;

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::model::{
    kubernetes::{Workload, WorkloadKind},
    text::harmless,
};

use super::{Kubernetes, Meta, Write, ask::Ask, doubt::Base};
use crate::drivers::error::DriverError;

/// What `kubectl rollout restart` writes.
const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";

/// How a workload stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollout {
    /// This workload, and no other that may have its name later.
    pub uid: String,
    /// When its pods were restarted last, as whoever did so wrote it.
    pub restarted_at: Option<String>,
    /// Why a restart would hit more than one pod, or none.
    pub obstacle: Option<String>,
    /// What of its last change is not carried out, or not available.
    pub unfinished: Option<String>,
    /// Whether the new pod is Ready before the old one goes.
    pub new_first: bool,
    /// What a change that builds on this must name.
    version: String,
}

#[derive(Debug, Deserialize)]
struct Raw {
    metadata: Meta,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    replicas: Option<u32>,
    #[serde(default)]
    paused: bool,
    /// A Deployment's.
    #[serde(default)]
    strategy: Strategy,
    /// A StatefulSet's.
    #[serde(default)]
    update_strategy: Strategy,
    #[serde(default)]
    template: Template,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Strategy {
    #[serde(rename = "type", default)]
    kind: String,
    rolling_update: Option<Rolling>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rolling {
    max_surge: Option<Value>,
    max_unavailable: Option<Value>,
    #[serde(default)]
    partition: u32,
}

#[derive(Debug, Default, Deserialize)]
struct Template {
    #[serde(default)]
    metadata: TemplateMeta,
}

#[derive(Debug, Default, Deserialize)]
struct TemplateMeta {
    annotations: Option<BTreeMap<String, String>>,
}

/// Go leaves a zero out.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    observed_generation: u64,
    replicas: u32,
    updated_replicas: u32,
    available_replicas: u32,
    current_revision: String,
    update_revision: String,
}

impl Raw {
    fn of(self, kind: WorkloadKind) -> Rollout {
        let restarted_at = self.spec.template.metadata.annotations.as_ref();
        Rollout {
            uid: harmless(&self.metadata.uid, 64),
            restarted_at: restarted_at
                .and_then(|a| a.get(RESTARTED_AT))
                .map(|at| harmless(at, 64)),
            obstacle: self.obstacle(kind),
            unfinished: self.unfinished(),
            new_first: kind == WorkloadKind::Deployment && self.spec.strategy.new_first(),
            version: self.metadata.resource_version,
        }
    }

    fn wanted(&self) -> u32 {
        self.spec.replicas.unwrap_or(1)
    }

    fn obstacle(&self, kind: WorkloadKind) -> Option<String> {
        let update = &self.spec.update_strategy;
        let partition = update
            .rolling_update
            .as_ref()
            .map_or(0, |rolling| rolling.partition);
        match (kind, self.wanted()) {
            (_, wanted) if wanted != 1 => Some(format!(
                "{wanted} replicas are wanted, and a rollout restarts each of them: it must be one, the target's; `restart: targets` \
                 deletes one pod of several"
            )),
            (WorkloadKind::Deployment, _) if self.spec.paused => {
                Some("it is paused: no rollout would begin; `kubectl rollout resume` first".into())
            }
            (WorkloadKind::StatefulSet, _) if update.kind == "OnDelete" => Some(
                "its updateStrategy is OnDelete: a rollout restarts nothing; `restart: targets` does".into(),
            ),
            (WorkloadKind::StatefulSet, _) if partition > 0 => Some(format!(
                "its updateStrategy has partition {partition}: a rollout restarts nothing"
            )),
            _ => None,
        }
    }

    /// The status is about the newest spec, all replicas are made from it and available, and no older one is left.
    fn unfinished(&self) -> Option<String> {
        let (wanted, status) = (self.wanted(), &self.status);
        if status.observed_generation < self.metadata.generation {
            return Some("its controller has not seen the last change".into());
        }
        let is_over = status.updated_replicas == wanted
            && status.available_replicas == wanted
            && status.replicas == wanted
            && status.current_revision == status.update_revision;
        (!is_over).then(|| {
            format!(
                "{} of {wanted} updated, {} available, {} in all",
                status.updated_replicas, status.available_replicas, status.replicas
            )
        })
    }
}

impl Strategy {
    /// Whether a single replica stays until its successor is there.
    fn new_first(&self) -> bool {
        let rolling = self.rolling_update.as_ref();
        let surge = rolling.and_then(|r| r.max_surge.as_ref());
        let unavailable = rolling.and_then(|r| r.max_unavailable.as_ref());
        // Of one replica a part of it is rounded up for the surge, and down for what may be missing.
        self.kind == "RollingUpdate"
            && amount(surge).is_none_or(|n| n > 0.0)
            && amount(unavailable).is_none_or(|n| n < 1.0)
    }
}

/// A number, or a percentage of one replica. `None`: the default, which is 25%.
fn amount(of: Option<&Value>) -> Option<f64> {
    match of? {
        Value::String(text) => text.strip_suffix('%')?.parse().ok().map(|n: f64| n / 100.0),
        number => number.as_f64(),
    }
}

pub(super) fn kind(kind: WorkloadKind) -> &'static str {
    match kind {
        WorkloadKind::Deployment => "Deployment",
        WorkloadKind::StatefulSet => "StatefulSet",
    }
}

pub(super) fn place(workload: &Workload) -> Vec<&str> {
    let resource = match workload.kind {
        WorkloadKind::Deployment => "deployments",
        WorkloadKind::StatefulSet => "statefulsets",
    };
    let group = ["apis", "apps", "v1"];
    let object = [
        "namespaces",
        workload.namespace.as_str(),
        resource,
        workload.name.as_str(),
    ];
    [group.as_slice(), &object].concat()
}

impl Kubernetes {
    /// How a workload stands.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn rollout(&self, workload: &Workload) -> Result<Rollout, DriverError> {
        let ask = Ask::new(Method::GET, place(workload));
        let raw: Raw = self.ask(ask, kind(workload.kind)).await?;
        Ok(raw.of(workload.kind))
    }

    /// Restarts the pods of a workload that was read just now. `at` is the time that is noted there.
    ///
    /// # Errors
    /// [`DriverError`]; [`DriverError::Conflict`] if it has changed since it was read.
    pub async fn restart_rollout(
        &self,
        workload: &Workload,
        seen: &Rollout,
        at: &str,
        write: Write,
    ) -> Result<(), DriverError> {
        let base = Base {
            uid: &seen.uid,
            version: &seen.version,
        };
        let patch = json!({"spec": {"template": {"metadata": {"annotations": {RESTARTED_AT: at}}}}});
        self.patch::<Value>((kind(workload.kind), place(workload)), base, patch, write)
            .await
            .map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: WorkloadKind, spec: Value, status: Value) -> Rollout {
        let object = json!({"metadata": {"name": "order", "uid": "1", "generation": 3}, "spec": spec, "status": status});
        serde_json::from_value::<Raw>(object).unwrap().of(kind)
    }

    fn rolled() -> Value {
        json!({"observedGeneration": 3, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1})
    }

    #[test]
    fn a_rollout_is_over_once_only_new_and_available_pods_are_left() {
        let unfinished = |change: Value| {
            let mut status = rolled();
            status
                .as_object_mut()
                .unwrap()
                .extend(change.as_object().unwrap().clone());
            read(WorkloadKind::Deployment, json!({"replicas": 1}), status).unfinished
        };
        assert_eq!(unfinished(json!({})), None);
        for change in [
            json!({"observedGeneration": 2}),
            json!({"replicas": 2}),
            json!({"updatedReplicas": 0}),
            json!({"availableReplicas": 0}),
            json!({"currentRevision": "a", "updateRevision": "b"}),
        ] {
            assert!(unfinished(change.clone()).is_some(), "{change}");
        }
    }

    #[test]
    fn a_single_replica_stays_until_its_successor_is_ready_only_where_the_strategy_says_so() {
        let new_first = |strategy: Value| {
            let spec = json!({"replicas": 1, "strategy": strategy});
            read(WorkloadKind::Deployment, spec, rolled()).new_first
        };
        let rolling = |surge: Value, unavailable: Value| {
            new_first(
                json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}),
            )
        };
        assert!(rolling(json!("25%"), json!("25%")) && rolling(json!(1), json!(0)));
        assert!(!rolling(json!(0), json!(1)) && !rolling(json!(1), json!(1)));
        assert!(!rolling(json!("0%"), json!("25%")) && !rolling(json!("100%"), json!("100%")));
        assert!(!new_first(json!({"type": "Recreate"})));
        assert!(!read(WorkloadKind::StatefulSet, json!({"replicas": 1}), rolled()).new_first);
    }

    #[test]
    fn what_would_restart_more_than_one_pod_or_none_is_an_obstacle() {
        let obstacle = |kind, spec| read(kind, spec, rolled()).obstacle;
        let (deployment, set) = (WorkloadKind::Deployment, WorkloadKind::StatefulSet);
        assert_eq!(
            obstacle(deployment, json!({})),
            None,
            "one is what is meant without a number"
        );
        assert_eq!(
            obstacle(
                set,
                json!({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}})
            ),
            None
        );
        for (kind, spec) in [
            (deployment, json!({"replicas": 3})),
            (deployment, json!({"replicas": 0})),
            (deployment, json!({"paused": true})),
            (set, json!({"replicas": 2})),
            (set, json!({"updateStrategy": {"type": "OnDelete"}})),
            (
                set,
                json!({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}}),
            ),
        ] {
            assert!(obstacle(kind, spec.clone()).is_some(), "{spec}");
        }
    }
}
