//! The environment's lease as a Lease of the cluster, by two runs.

use std::{fs, sync::Arc, time::Duration};

use allclear::{
    drivers::{
        Drivers,
        error::DriverError,
        lease::{Hold, Lease},
    },
    model::{
        environment::Kubernetes,
        ids::{EnvironmentName, RunId},
        lease::{Held, LASTS, LeasePlace},
        secret::Secrets,
        time::Span,
    },
};
use tokio::time::Instant;

use crate::{
    part::{Cluster, at, shared, shop},
    parts_support::{environment, nothing_to_do, plan},
};

/// An environment of its own has a lease of its own.
struct Runs {
    cluster: Arc<Cluster>,
    environment: &'static str,
}

impl Runs {
    async fn on(environment: &'static str) -> Self {
        Self {
            cluster: shared().await,
            environment,
        }
    }

    fn lease(&self, run: &str, lasts: Span) -> Lease {
        self.of(run, self.cluster.of("bob"), lasts)
    }

    fn of(&self, run: &str, cluster: Kubernetes, lasts: Span) -> Lease {
        let mut plan = plan(environment(), &[], nothing_to_do());
        plan.run = RunId::new(run).unwrap();
        plan.started_by = format!("the one of {run}");
        plan.environment.name = EnvironmentName::new(self.environment).unwrap();
        plan.environment.kubernetes = Some(cluster);
        plan.environment.lease = Some(LeasePlace::Kubernetes(shop()));
        let drivers = Drivers::new(&plan, Secrets::none()).unwrap();
        drivers.lease_lasting(lasts).unwrap().unwrap()
    }

    fn object(&self) -> String {
        format!("lease allclear-{}", self.environment)
    }

    async fn is_gone(&self) -> bool {
        let args = format!("get {} --ignore-not-found -o name", self.object());
        self.cluster.kubectl(&args).await.is_empty()
    }
}

fn other(hold: Hold) -> Held {
    match hold {
        Hold::Other(held) => held,
        ours => panic!("{ours:?}"),
    }
}

#[tokio::test]
async fn a_lease_is_one_runs_at_a_time_and_deleted_when_it_is_given_back() {
    let runs = Runs::on("two-runs").await;
    let (first, second) = (runs.lease("aaaa01", LASTS), runs.lease("bbbb02", LASTS));
    assert_eq!(first.hold().await.unwrap(), Hold::Taken);
    assert_eq!(first.take().await.unwrap(), Hold::Renewed);
    let held = other(second.take().await.unwrap());
    assert_eq!(
        (held.by.run.as_str(), held.by.who.as_str()),
        ("aaaa01", "the one of aaaa01")
    );
    assert!(!held.by.host.is_empty() && held.by.since.is_some());
    assert!(held.left.unwrap() <= LASTS && held.left.unwrap() > Span::seconds(30));
    let identity = runs.cluster.field(&runs.object(), ".spec.holderIdentity").await;
    assert!(
        identity.starts_with("aaaa01/") && identity.ends_with("/the one of aaaa01"),
        "{identity}"
    );
    second.give_back().await.unwrap();
    assert_eq!(runs.lease("aaaa01", LASTS).hold().await.unwrap(), Hold::Renewed);
    first.give_back().await.unwrap();
    assert!(runs.is_gone().await);
    first.give_back().await.unwrap();
    assert_eq!(second.take().await.unwrap(), Hold::Renewed);
    second.give_back().await.unwrap();
    assert!(runs.is_gone().await);
}

#[tokio::test]
async fn a_lease_that_is_renewed_is_kept_and_one_that_was_watched_unchanged_for_its_time_is_taken() {
    let runs = Runs::on("watched").await;
    let lasts = Span::seconds(4);
    let (first, second) = (runs.lease("aaaa01", lasts), runs.lease("bbbb02", lasts));
    first.hold().await.unwrap();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from(lasts) * 2 {
        assert_eq!(first.hold().await.unwrap(), Hold::Renewed);
        assert_eq!(other(second.hold().await.unwrap()).by.run, "aaaa01");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let begun = Instant::now();
    while second.hold().await.unwrap() != Hold::Taken {
        assert!(begun.elapsed() < Duration::from_secs(30), "never over");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(begun.elapsed() > Duration::from(lasts) / 2, "not before its time");
    assert_eq!(other(first.hold().await.unwrap()).by.run, "bbbb02");
    let transitions = runs.cluster.field(&runs.object(), ".spec.leaseTransitions").await;
    assert_eq!(transitions, "1");
    second.give_back().await.unwrap();
}

#[tokio::test]
async fn a_lease_that_is_older_by_far_is_taken_at_first_sight() {
    let runs = Runs::on("abandoned").await;
    runs.lease("aaaa01", LASTS).hold().await.unwrap();
    let next = runs.lease("bbbb02", LASTS);
    assert_eq!(other(next.take().await.unwrap()).by.run, "aaaa01");
    let old = r#"{"spec":{"renewTime":"2020-01-01T00:00:00.000000Z"}}"#;
    let patch = format!("patch {} --type=merge -p {old}", runs.object());
    runs.cluster.kubectl(&patch).await;
    assert_eq!(next.take().await.unwrap(), Hold::Renewed);
    next.give_back().await.unwrap();
    assert!(runs.is_gone().await);
}

#[tokio::test]
async fn a_right_that_is_missing_is_named_with_user_verb_and_resource() {
    let runs = Runs::on("refused").await;
    let lease = runs.of("aaaa01", runs.cluster.of("alice"), LASTS);
    let error = lease.take().await.unwrap_err();
    assert!(matches!(error, DriverError::Unauthorized { .. }), "{error}");
    let told = error.to_string();
    assert!(
        told.contains(r#"User "alice" cannot get resource "leases" in API group "coordination.k8s.io""#),
        "{told}"
    );
    let rights = lease.rights();
    let rule = "{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, patch, delete]}";
    assert!(rights.en().contains(rule), "{rights:?}");
    assert!(include_str!("../../docs/drivers/kubernetes.md").contains(rule));
}

/// A user of the cluster with these rights on Leases.
async fn user_who_may(cluster: &Cluster, name: &str, verbs: &str) -> Kubernetes {
    cluster
        .apply(format!(
            r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: {name}, namespace: shop}}
rules: [{{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [{verbs}]}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: {name}, namespace: shop}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: {name}}}
subjects: [{{kind: User, name: {name}, apiGroup: rbac.authorization.k8s.io}}]
"#
        ))
        .await;
    let admin = fs::read_to_string(cluster.kubeconfig("admin")).unwrap();
    let path = cluster.kubeconfig(name);
    fs::write(
        &path,
        admin.replace("user: {client", &format!("user: {{as: {name}, client")),
    )
    .unwrap();
    at(&path)
}

#[tokio::test]
async fn each_right_is_proved_before_the_start_and_the_missing_one_is_named() {
    let runs = Runs::on("proved").await;
    for (missing, verbs) in [
        ("create", "get, patch, delete"),
        ("patch", "get, create, delete"),
        ("delete", "get, create, patch"),
    ] {
        let user = user_who_may(&runs.cluster, &format!("lessor-without-{missing}"), verbs).await;
        let lease = runs.of("aaaa01", user, LASTS);
        let wanted = format!("cannot {missing} resource \"leases\"");
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let took = lease.take().await;
            match &took {
                Err(error @ DriverError::Unauthorized { .. }) if error.to_string().contains(&wanted) => break,
                // The server learns of new rights a moment later.
                took => assert!(Instant::now() < deadline, "{missing}: {took:?}"),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        runs.cluster
            .kubectl(&format!("delete {} --ignore-not-found", runs.object()))
            .await;
    }
}
