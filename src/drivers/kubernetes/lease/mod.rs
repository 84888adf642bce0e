//! A lease: a Lease of `coordination.k8s.io/v1`, changed only in the version that was read.
//!
//! It does not end by itself: it is over once nobody has renewed it for as long as it says. Clocks of two machines
//! differ, so that is best seen by watching it. Who sees it for the first time takes it for over only if its time is
//! over by far.

mod object;

use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::{sync::Mutex, time::Instant};

use self::object::{Raw, renewed, taken};
use super::{Kubernetes, Write, ask::Ask, doubt::Base};
use crate::{
    drivers::{error::DriverError, lease::Hold},
    model::{
        ids::{EnvironmentName, Namespace},
        lease::{Held, Holder},
        said::{Said, said},
        time::Span,
    },
};

/// How often it is begun anew where somebody else has changed it meanwhile.
const ROUNDS: usize = 4;

/// The Lease of an environment.
#[derive(Debug)]
pub(in crate::drivers) struct KubernetesLease {
    cluster: Kubernetes,
    namespace: Namespace,
    name: String,
    seen: Mutex<Option<Sighting>>,
}

/// When it was first seen in this version.
#[derive(Debug)]
struct Sighting {
    version: String,
    at: Instant,
}

impl KubernetesLease {
    pub(in crate::drivers) fn new(
        cluster: Kubernetes,
        namespace: &Namespace,
        environment: &EnvironmentName,
    ) -> Self {
        Self {
            cluster,
            namespace: namespace.clone(),
            name: format!("allclear-{environment}"),
            seen: Mutex::default(),
        }
    }

    /// The lease and its place, for errors.
    pub(in crate::drivers) fn what(&self) -> String {
        self.cluster.what(&Ask::new(Method::GET, self.path()))
    }

    pub(in crate::drivers) async fn hold(&self, holder: &Holder, lasts: Span) -> Result<Hold, DriverError> {
        let mut last = None;
        for _ in 0..ROUNDS {
            match self.hold_as_it_is(holder, lasts).await {
                // Somebody else has changed it since it was read.
                Err(error @ DriverError::Conflict { .. }) => last = Some(error),
                ended => return ended,
            }
        }
        Err(last.unwrap_or_else(|| self.restless()))
    }

    async fn hold_as_it_is(&self, holder: &Holder, lasts: Span) -> Result<Hold, DriverError> {
        let Some(found) = self.read().await? else {
            self.create(holder, lasts, Write::Store).await?;
            return Ok(Hold::Taken);
        };
        let by = match found.holder() {
            Some(by) if by.is_same_run(holder) => {
                self.patch(&found, renewed(lasts)).await?;
                return Ok(Hold::Renewed);
            }
            by => by,
        };
        let left = self.left(&found).await;
        if let Some(by) = by.filter(|_| left > Span::ZERO) {
            return Ok(Hold::Other(Held { by, left: Some(left) }));
        }
        let transitions = found.spec.lease_transitions.unwrap_or(0).saturating_add(1);
        self.patch(&found, taken(holder, lasts, transitions)).await?;
        Ok(Hold::Taken)
    }

    pub(in crate::drivers) async fn give_back(&self, holder: &Holder) -> Result<(), DriverError> {
        let mut last = None;
        for _ in 0..ROUNDS {
            let Some(found) = self.read().await? else {
                return Ok(());
            };
            if !found.holder().is_some_and(|by| by.is_same_run(holder)) {
                return Ok(());
            }
            match self.delete(&found, Write::Store).await {
                Err(DriverError::NotThere { .. }) => return Ok(()),
                Err(error @ DriverError::Conflict { .. }) => last = Some(error),
                ended => return ended,
            }
        }
        Err(last.unwrap_or_else(|| self.restless()))
    }

    /// Proves the rights to make it anew and to delete it, doing neither. It is this run's.
    pub(in crate::drivers) async fn may_be_given_back(&self) -> Result<(), DriverError> {
        let nobody = Holder::of_identity("nobody", None);
        match self.create(&nobody, Span::seconds(1), Write::DryRun).await {
            // Rights are asked before it is seen that it is there.
            Ok(()) | Err(DriverError::Conflict { .. }) => {}
            Err(error) => return Err(error),
        }
        match self.read().await? {
            Some(found) => self.delete(&found, Write::DryRun).await,
            None => Ok(()),
        }
    }

    /// The exact rights.
    pub(in crate::drivers) fn rights(&self) -> Said {
        let namespace = &self.namespace;
        said!(
            "permit it in a Role of namespace {namespace}: {{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, patch, delete]}}",
            "请在命名空间 {namespace} 的 Role 中授权：{{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, patch, delete]}}"
        )
    }

    /// How a person frees it.
    pub(in crate::drivers) fn freed_by(&self) -> String {
        let kubectl = self.cluster.kubectl().join(" ");
        format!("{kubectl} -n {} delete lease {}", self.namespace, self.name)
    }

    fn path(&self) -> Vec<&str> {
        [self.all().as_slice(), &[self.name.as_str()]].concat()
    }

    /// Where all Leases of the namespace are.
    fn all(&self) -> Vec<&str> {
        let namespace = self.namespace.as_str();
        vec![
            "apis",
            "coordination.k8s.io",
            "v1",
            "namespaces",
            namespace,
            "leases",
        ]
    }

    async fn read(&self) -> Result<Option<Raw>, DriverError> {
        self.cluster.namespace(Some(&self.namespace))?;
        match self
            .cluster
            .ask(Ask::new(Method::GET, self.path()), "Lease")
            .await
        {
            Ok(found) => Ok(Some(found)),
            Err(DriverError::NotThere { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn create(&self, holder: &Holder, lasts: Span, write: Write) -> Result<(), DriverError> {
        let object = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self.name},
            "spec": taken(holder, lasts, 0),
        });
        let ask = Ask::new(Method::POST, self.all())
            .writing(write)
            .saying("application/json", object);
        self.cluster.ask::<Value>(ask, "Lease").await.map(drop)
    }

    /// Unlike a change of what recovery puts back, one that nobody answered is not waited for: it keeps or frees the
    /// lease, no more.
    async fn patch(&self, found: &Raw, spec: Value) -> Result<(), DriverError> {
        let patch = found.base().only(json!({ "spec": spec }));
        let ask = Ask::new(Method::PATCH, self.path()).saying("application/merge-patch+json", patch);
        self.cluster.ask::<Value>(ask, "Lease").await.map(drop)
    }

    async fn delete(&self, found: &Raw, write: Write) -> Result<(), DriverError> {
        let Base { uid, version } = found.base();
        let options = json!({
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "preconditions": {"uid": uid, "resourceVersion": version},
            "dryRun": write.stages(),
        });
        let ask = Ask::new(Method::DELETE, self.path())
            .writing(write)
            .saying("application/json", options);
        self.cluster.ask::<Value>(ask, "Status").await.map(drop)
    }

    /// How long it lasts unless it is renewed, by its own time and by how long it has not changed while this process
    /// looked.
    async fn left(&self, found: &Raw) -> Span {
        let mut seen = self.seen.lock().await;
        let version = &found.metadata.resource_version;
        let watched = match &*seen {
            Some(sighting) if sighting.version == *version => sighting.at.elapsed().into(),
            _ => {
                let at = Instant::now();
                *seen = Some(Sighting {
                    version: version.clone(),
                    at,
                });
                Span::ZERO
            }
        };
        found.spec.left(watched, Timestamp::now())
    }

    fn restless(&self) -> DriverError {
        DriverError::Conflict {
            what: self.what(),
            answer: "it changes while it is looked at".into(),
        }
    }
}
