//! Kubernetes: pods, their labels and Services, the weights of HTTPRoutes, the scale of Deployments, and rollouts.
//!
//! Every change names the object's UID, and its version where the change builds on what was read: a successor of the
//! same name is never taken for the one that was meant, and what nobody answered cannot land on what has changed since.
//! Rights are proved by the API server itself, which carries out everything of a dry run but storing it.

mod ask;
mod config;
mod doubt;
mod lease;
mod pods;
mod rollout;
mod routes;
mod scale;
mod services;

use std::{fmt, sync::Arc};

use http::Method;
use kube::Client;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::model::{environment, ids::Namespace, time::Span};

use self::{
    ask::Ask,
    doubt::{Base, Doubt},
};
use super::{error::DriverError, unanswered::Unanswered};

pub(super) use self::lease::KubernetesLease;
pub use self::{
    config::{Kubeconfig, kubeconfig},
    doubt::Asked,
    pods::{Owner, Pod},
    rollout::Rollout,
    routes::{Backend, HttpRoute},
    scale::Scaled,
    services::Service,
};

/// How many of one kind are read at most: more than that is no selector of a few pods.
const MANY: u32 = 500;

/// Whether a change is made, or only everything of it that shows whether it could be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// It is made.
    Store,
    /// The server checks it and stores nothing.
    DryRun,
}

impl Write {
    /// Which stages of it are dry, as the API says it.
    fn stages(self) -> &'static [&'static str] {
        match self {
            Write::Store => &[],
            Write::DryRun => &["All"],
        }
    }
}

/// The cluster of an environment. It connects at the first question.
#[derive(Clone)]
pub struct Kubernetes {
    cluster: environment::Kubernetes,
    connect: Span,
    call: Span,
    client: Arc<Mutex<Option<Client>>>,
    unanswered: Unanswered<Doubt>,
}

impl fmt::Debug for Kubernetes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kubernetes")
            .field("cluster", &self.cluster)
            .finish_non_exhaustive()
    }
}

impl Kubernetes {
    /// The cluster, connected to nothing yet.
    pub fn new(cluster: environment::Kubernetes, connect: Span, call: Span) -> Self {
        Self {
            cluster,
            connect,
            call,
            client: Arc::default(),
            unanswered: Unanswered::default(),
        }
    }

    /// The namespace that is meant: the one that is named, or the environment's only one.
    ///
    /// # Errors
    /// [`DriverError::Unauthorized`] if the environment does not allow it, or allows several and none is named.
    pub fn namespace<'a>(&'a self, named: Option<&'a Namespace>) -> Result<&'a Namespace, DriverError> {
        let allowed = &self.cluster.namespaces;
        let shown = || {
            let names: Vec<&str> = allowed.iter().map(Namespace::as_str).collect();
            names.join(", ")
        };
        let refused = |what: String, answer: String| Err(DriverError::Unauthorized { what, answer });
        match (named, allowed.as_slice()) {
            (Some(name), _) if allowed.contains(name) => Ok(name),
            (Some(name), _) => refused(
                format!("namespace {name}"),
                format!("allclear.yaml allows only {}", shown()),
            ),
            (None, [only]) => Ok(only),
            (None, _) => refused(
                "a namespace of several".into(),
                format!("name one of {} in the drill", shown()),
            ),
        }
    }

    /// `kubectl` with what leads it to this cluster, for the commands by hand.
    pub fn kubectl(&self) -> Vec<&str> {
        let mut words = vec!["kubectl"];
        for (option, value) in [
            ("--kubeconfig", &self.cluster.kubeconfig),
            ("--context", &self.cluster.context),
        ] {
            words.extend(value.iter().flat_map(|value| [option, value.as_str()]));
        }
        words
    }

    /// The context's name, for people.
    fn name(&self) -> &str {
        self.cluster.context.as_deref().unwrap_or("its current context")
    }

    /// Everything of a kind that matches.
    async fn list<T: DeserializeOwned>(
        &self,
        kind: &str,
        path: Vec<&str>,
        selector: Option<&str>,
    ) -> Result<Vec<T>, DriverError> {
        let mut ask = Ask::new(Method::GET, path).with("limit", &MANY.to_string());
        if let Some(selector) = selector {
            ask = ask.with("labelSelector", selector);
        }
        let what = self.what(&ask);
        let list: List<T> = self.ask(ask, kind).await?;
        if list.metadata.more.is_some_and(|more| !more.is_empty()) {
            return Err(DriverError::TooMany {
                what,
                count: MANY as usize + 1,
                at_most: MANY,
            });
        }
        Ok(list.items.unwrap_or_default())
    }

    /// Changes part of an object by a JSON merge patch (RFC 7396), if it is still as it was read.
    async fn patch<T: DeserializeOwned>(
        &self,
        (kind, path): (&'static str, Vec<&str>),
        base: Base<'_>,
        patch: Value,
        write: Write,
    ) -> Result<T, DriverError> {
        let doubt = Doubt::of_patch(kind, &path, base);
        let ask = Ask::new(Method::PATCH, path)
            .saying("application/merge-patch+json", base.only(patch))
            .writing(write);
        self.ask_for(ask, kind, &doubt, write).await
    }
}

/// What a list answers. Go writes an empty list as `null` at times.
#[derive(Debug, Deserialize)]
struct List<T> {
    #[serde(default)]
    metadata: ListMeta,
    #[serde(default = "none")]
    items: Option<Vec<T>>,
}

fn none<T>() -> Option<T> {
    None
}

#[derive(Debug, Default, Deserialize)]
struct ListMeta {
    #[serde(rename = "continue")]
    more: Option<String>,
}

/// What every object has.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    name: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    resource_version: String,
    /// Grows with each change of what is wanted.
    #[serde(default)]
    generation: u64,
    #[serde(default)]
    labels: std::collections::BTreeMap<String, String>,
    deletion_timestamp: Option<String>,
    #[serde(default)]
    owner_references: Vec<Owner>,
}
