//! Changes that nobody answered: which of them can still take effect.
//!
//! A change of an object names the version that it was made on, and the API server refuses it once the object has another. A
//! deletion names the UID of its pod. So what has moved on since is out of their reach, and only what has not is waited for: as
//! long as the server keeps a request, see [`crate::drivers::unanswered::LANDS_WITHIN`].

use http::Method;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{Kubernetes, Meta, Write, ask::Ask};
use crate::{
    drivers::error::DriverError,
    model::{
        ids::{DeploymentName, Namespace, RouteName},
        kubernetes::{PodId, Workload},
    },
};

/// What a change is made on. No patch is sent without it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Base<'a> {
    pub(super) uid: &'a str,
    pub(super) version: &'a str,
}

impl Base<'_> {
    /// The patch, to be carried out only on this.
    pub(super) fn only(self, mut patch: Value) -> Value {
        patch["metadata"]["uid"] = json!(self.uid);
        patch["metadata"]["resourceVersion"] = json!(self.version);
        patch
    }
}

/// A change that was not answered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Doubt {
    kind: &'static str,
    path: Vec<String>,
    lands: Lands,
}

/// On what it may still take effect.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Lands {
    /// On this object, in this version.
    On { uid: String, version: String },
    /// On this object, until it is being deleted.
    OnWhole { uid: String },
    /// Another keeper has sent it: on what is not known.
    OnAny,
}

impl Doubt {
    pub(super) fn of_patch(kind: &'static str, path: &[&str], base: Base<'_>) -> Self {
        let lands = Lands::On {
            uid: base.uid.to_owned(),
            version: base.version.to_owned(),
        };
        Self::new(kind, path, lands)
    }

    pub(super) fn of_deletion(kind: &'static str, path: &[&str], uid: &str) -> Self {
        let uid = uid.to_owned();
        Self::new(kind, path, Lands::OnWhole { uid })
    }

    fn new(kind: &'static str, path: &[&str], lands: Lands) -> Self {
        Self {
            kind,
            path: path.iter().map(|part| (*part).to_owned()).collect(),
            lands,
        }
    }
}

/// What a keeper before this one may have asked for right before it died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked<'a> {
    /// A label of a pod.
    Label(&'a PodId),
    /// The deletion of a pod.
    Deletion(&'a PodId),
    /// The scale of a Deployment.
    Scale(&'a Namespace, &'a DeploymentName),
    /// The weights of an HTTPRoute.
    Weights(&'a Namespace, &'a RouteName),
    /// The restart of a workload's pods.
    Rollout(&'a Workload),
}

impl Asked<'_> {
    fn doubt(self) -> Doubt {
        match self {
            Asked::Deletion(pod) => Doubt::of_deletion("Pod", &super::pods::place(pod), &pod.uid),
            Asked::Label(pod) => Doubt::new("Pod", &super::pods::place(pod), Lands::OnAny),
            Asked::Scale(namespace, name) => {
                Doubt::new("Scale", &super::scale::place(namespace, name), Lands::OnAny)
            }
            Asked::Weights(namespace, name) => {
                Doubt::new("HTTPRoute", &super::routes::place(namespace, name), Lands::OnAny)
            }
            Asked::Rollout(workload) => {
                let kind = super::rollout::kind(workload.kind);
                Doubt::new(kind, &super::rollout::place(workload), Lands::OnAny)
            }
        }
    }
}

#[derive(Deserialize)]
struct Object {
    metadata: Meta,
}

impl Kubernetes {
    /// Asks for a change, which is in doubt unless its answer says what became of it. One that is only tried changes nothing.
    pub(super) async fn ask_for<T: DeserializeOwned>(
        &self,
        ask: Ask,
        kind: &'static str,
        doubt: &Doubt,
        write: Write,
    ) -> Result<T, DriverError> {
        let asking = self.ask(ask, kind);
        match write {
            Write::Store => self.unanswered.sent(doubt, asking).await,
            Write::DryRun => asking.await,
        }
    }

    /// A keeper that is dead may have asked for it: from now on it counts as a change that nobody answered.
    pub fn may_have_been_asked(&self, what: Asked<'_>) {
        self.unanswered.note(&what.doubt());
    }

    /// Waits until no change that nobody answered can take effect any more: a minute at most after the last.
    pub async fn landed(&self) {
        let looks = |doubt| self.clone().may_land(doubt);
        self.unanswered.all_landed(looks).await;
    }

    /// What cannot be read may be as it was.
    async fn may_land(self, doubt: Doubt) -> bool {
        if doubt.lands == Lands::OnAny {
            return true;
        }
        let path = doubt.path.iter().map(String::as_str).collect();
        match self.ask::<Object>(Ask::new(Method::GET, path), doubt.kind).await {
            Ok(Object { metadata }) => match &doubt.lands {
                Lands::On { uid, version } => metadata.uid == *uid && metadata.resource_version == *version,
                Lands::OnWhole { uid } => metadata.uid == *uid && metadata.deletion_timestamp.is_none(),
                Lands::OnAny => true,
            },
            Err(DriverError::NotThere { .. }) => false,
            Err(_) => true,
        }
    }
}
