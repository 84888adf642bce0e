//! Changes that nobody answered and that reach the API server later: they are waited for, or come to nothing.

use std::time::Duration;

use allclear::{
    drivers::{
        error::{DriverError, Landing},
        kubernetes::{Kubernetes, Write},
    },
    engine::recovery::{drain, left_behind, traffic},
    model::{
        ids::{DeploymentName, RouteName, WorkloadName},
        kubernetes::{PodId, Workload, WorkloadKind},
        recovery::{Certainty, StepState},
        time::Span,
    },
};
use tokio::time::timeout;

use crate::{
    luck::SHORT,
    part::{Cluster, shared, shop},
    parts_support::Staged,
    proxy::{HOLDS, PASSES, Proxy},
    rollout::RESTARTED_AT,
    route::{routed, weights},
    stage::{OF_STATEFUL_SET, served},
};

/// Shorter than a server keeps a request, and long enough for what is not waited for.
const A_WHILE: Duration = Duration::from_secs(4);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    Label,
    Deletion,
    Scale,
    Weights,
    Rollout,
}

/// What a change is made to, of its own for each test.
struct Object<'a> {
    cluster: &'a Cluster,
    name: String,
    change: Change,
}

impl<'a> Object<'a> {
    async fn new(cluster: &'a Cluster, change: Change, case: &str) -> Self {
        let name = format!("{case}-{change:?}").to_lowercase();
        match change {
            Change::Scale | Change::Rollout => {
                cluster.deployment(&name, 1).await;
                // Its controller has said its last word about it.
                let reason = ".status.conditions[?(@.type==\"Progressing\")].reason";
                let args = format!("get deployment {name} -o jsonpath={{{reason}}}");
                cluster
                    .until(&args, |seen| seen == "NewReplicaSetAvailable")
                    .await;
            }
            Change::Weights => routed(cluster, &name, [20, 20, 20]).await,
            Change::Label | Change::Deletion => cluster.service(&name, 1).await,
        }
        Self {
            cluster,
            name,
            change,
        }
    }

    fn kind(&self) -> String {
        match self.change {
            Change::Scale | Change::Rollout => format!("deployment {}", self.name),
            Change::Weights => format!("httproute {}", self.name),
            Change::Label | Change::Deletion => format!("pod {}-0", self.name),
        }
    }

    /// How what would be changed stands.
    async fn stands(&self) -> String {
        match self.change {
            Change::Label => self.cluster.field(&self.kind(), ".metadata.labels.serving").await,
            Change::Deletion => self.cluster.uid(&format!("{}-0", self.name)).await,
            Change::Scale => self.cluster.field(&self.kind(), ".spec.replicas").await,
            Change::Weights => weights(self.cluster, &self.name).await,
            Change::Rollout => self.cluster.field(&self.kind(), RESTARTED_AT).await,
        }
    }

    /// Somebody else changes something else of it, or restarts it.
    async fn moves_on(&self) {
        match self.change {
            Change::Deletion => {
                self.cluster.replace(&format!("{}-0", self.name)).await;
                self.cluster.ready(&self.name, 1).await;
            }
            _ => {
                let args = format!("label {} touched=yes", self.kind());
                self.cluster.kubectl(&args).await;
            }
        }
    }

    /// Asks for the change in a way that the server does not hear of before it is let go.
    async fn ask(&self, through: &Kubernetes, proxy: &Proxy) {
        let (shop, holds) = (shop(), || proxy.is(HOLDS));
        let ended = match self.change {
            Change::Label | Change::Deletion => {
                let selector = format!("app={}", self.name);
                let pod = through.pods(&shop, &selector).await.unwrap().remove(0);
                holds();
                match self.change {
                    Change::Label => {
                        through
                            .set_label(&pod, "serving", Some("false"), Write::Store)
                            .await
                    }
                    _ => through.delete_pod(&pod.id, Write::Store).await,
                }
            }
            Change::Scale => {
                let name = DeploymentName::new(&self.name).unwrap();
                let seen = through.scale(&shop, &name).await.unwrap();
                holds();
                through
                    .set_scale(&shop, &name, &seen, 0, Write::Store)
                    .await
                    .map(drop)
            }
            Change::Rollout => {
                let workload = Workload {
                    namespace: shop,
                    kind: WorkloadKind::Deployment,
                    name: WorkloadName::new(&self.name).unwrap(),
                };
                let seen = through.rollout(&workload).await.unwrap();
                holds();
                through
                    .restart_rollout(&workload, &seen, "now", Write::Store)
                    .await
            }
            Change::Weights => {
                let name = RouteName::new(&self.name).unwrap();
                let seen = through.http_route(&shop, &name).await.unwrap();
                let service = format!("{}-0", self.name);
                holds();
                through
                    .set_backend_weight((&shop, &name), &seen, &service, 0, Write::Store)
                    .await
            }
        };
        proxy.is(PASSES);
        assert_eq!(
            ended.unwrap_err().landing(),
            Landing::Unknown,
            "{:?}",
            self.change
        );
    }
}

const ALL: [Change; 5] = [
    Change::Label,
    Change::Deletion,
    Change::Scale,
    Change::Weights,
    Change::Rollout,
];

/// The cluster through a proxy.
async fn through(cluster: &Cluster) -> (Proxy, Kubernetes) {
    let proxy = Proxy::to(cluster.port).await;
    // Another part of the process may have installed it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let place = cluster.behind("bob", &proxy.url());
    (proxy, Kubernetes::new(place, Span::seconds(2), Span::seconds(2)))
}

#[tokio::test]
async fn a_change_without_an_answer_is_waited_for_until_it_has_come() {
    let cluster = shared().await;
    for change in ALL {
        let object = Object::new(&cluster, change, "comes").await;
        let (proxy, through) = through(&cluster).await;
        assert!(
            timeout(A_WHILE, through.landed()).await.is_ok(),
            "nothing was asked"
        );
        let before = object.stands().await;
        object.ask(&through, &proxy).await;
        assert!(timeout(A_WHILE, through.landed()).await.is_err(), "{change:?}");
        assert_eq!(object.stands().await, before, "{change:?}");
        proxy.lets_go().await;
        assert!(timeout(A_WHILE, through.landed()).await.is_ok(), "{change:?}");
        if change != Change::Deletion {
            assert_ne!(object.stands().await, before, "{change:?}");
        } else {
            let pod = format!(
                "get pod {}-0 --ignore-not-found -o jsonpath={{.metadata.uid}}",
                object.name
            );
            cluster.until(&pod, |uid| uid != before).await;
        }
    }
}

#[tokio::test]
async fn a_change_without_an_answer_comes_to_nothing_where_the_object_has_changed_since() {
    let cluster = shared().await;
    for change in ALL {
        let object = Object::new(&cluster, change, "moot").await;
        let (proxy, through) = through(&cluster).await;
        object.ask(&through, &proxy).await;
        object.moves_on().await;
        let before = object.stands().await;
        assert!(timeout(A_WHILE, through.landed()).await.is_ok(), "{change:?}");
        proxy.lets_go().await;
        assert_eq!(object.stands().await, before, "{change:?}");
        let gone = cluster.field(&object.kind(), ".metadata.deletionTimestamp").await;
        assert_eq!(gone, "", "{change:?}");
    }
}

#[tokio::test]
async fn a_dry_run_and_a_change_that_was_refused_are_not_waited_for() {
    let cluster = shared().await;
    cluster.service("refused", 1).await;
    let (proxy, through) = through(&cluster).await;
    let pod = through.pods(&shop(), "app=refused").await.unwrap().remove(0);
    proxy.is(HOLDS);
    let dry = through
        .set_label(&pod, "serving", Some("false"), Write::DryRun)
        .await;
    assert_eq!(dry.unwrap_err().landing(), Landing::Unknown);
    proxy.is(PASSES);
    let other = PodId {
        uid: "another".into(),
        ..pod.id
    };
    let refused = through.delete_pod(&other, Write::Store).await;
    assert!(
        matches!(refused, Err(DriverError::Conflict { .. })),
        "{refused:?}"
    );
    assert!(timeout(A_WHILE, through.landed()).await.is_ok());
}

#[tokio::test]
async fn the_last_read_sees_a_label_that_was_set_after_recovery_had_given_it_up() {
    let cluster = shared().await;
    cluster.service("late", 3).await;
    let playbook = served(OF_STATEFUL_SET, Span::millis(200));
    let staged = Staged::new(cluster.of("bob"), &["late-0"], playbook)
        .ready()
        .await;
    let proxy = Proxy::to(cluster.port).await;
    let behind = staged.from(cluster.behind("bob", &proxy.url()), SHORT);
    let state = proxy.state.clone();
    let hold = Box::new(move || state.is(HOLDS));
    assert!(behind.ledger.at_change.set(hold).is_ok());

    let out = drain(&behind.scene, true).await;
    assert_eq!(out.state, StepState::Failed, "{out:?}");
    proxy.is(PASSES);
    assert_eq!(traffic(&behind.scene).await.state, StepState::Nothing);
    let label = async || cluster.field("pod late-0", ".metadata.labels.serving").await;
    assert_eq!(label().await, "true");

    let lands = async {
        tokio::time::sleep(A_WHILE).await;
        proxy.lets_go().await;
    };
    let (left, ()) = tokio::join!(left_behind(&behind.scene), lands);
    assert_eq!(label().await, "false");
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(left[0].certainty, Certainty::Seen);
    assert!(left[0].what.en().ends_with("serving=false"), "{left:?}");
    assert_eq!(traffic(&staged.scene).await.leftovers, vec![]);
}
