//! A retry topic whose consumers are at zero replicas: those that were so before the drill, and pods that are left of others.

use std::{pin::pin, time::Duration};

use allclear::{
    engine::recovery::{hold_retry, left_behind, release_retry},
    model::recovery::StepState,
};
use tokio::time::timeout;

use crate::{
    kafka::{self, Broker},
    part::{Cluster, shared},
    parts_support::Staged,
    scale::staged,
};

/// Longer than a group has to stand still to be held.
const STILL: Duration = Duration::from_secs(8);

/// A topic that its group has read, once: nobody consumes it now.
async fn read_once(cluster: &Cluster, broker: &Broker, name: &str) -> Staged {
    broker.topic(name, 1).await;
    broker.produce(name, 100, 200).await;
    let staged = staged(cluster, broker, name, 100.0);
    let _consumer = broker.consume(name, name, name, &[]);
    staged.until_backlog(|n| n == 0).await;
    staged
}

#[tokio::test]
async fn consumers_that_were_at_zero_stay_so_and_nothing_is_let_go() {
    let (cluster, broker) = (shared().await, kafka::shared().await);
    cluster.deployment("idle", 0).await;
    let mut staged = read_once(&cluster, &broker, "idle").await;
    let checks = staged.prepare().await;
    assert!(
        checks
            .iter()
            .any(|c| c.found.en() == "0 replicas" && c.next.is_some()),
        "{checks:?}"
    );
    broker.produce("idle", 500, 200).await;
    let held = hold_retry(&staged.scene).await;
    assert_eq!(held.state, StepState::Nothing);
    assert!(
        held.detail
            .en()
            .ends_with("was at 0 replicas before the drill: nobody consumes it"),
        "{}",
        held.detail.en()
    );
    let end = release_retry(&staged.scene).await;
    assert!(
        end.detail.en().ends_with("stays so: nothing is let go"),
        "{}",
        end.detail.en()
    );
    assert_eq!(staged.intents(), vec![]);
    assert_eq!(cluster.field("deployment idle", ".spec.replicas").await, "0");
    // What the drill has put there is still there: that is no recovery.
    let left = left_behind(&staged.scene).await;
    assert_eq!(left[0].why.en(), "500 waiting, 0 before", "{left:?}");
}

#[tokio::test]
async fn a_pod_that_has_not_ended_is_waited_for_and_one_that_was_evicted_is_not() {
    let (cluster, broker) = (shared().await, kafka::shared().await);
    cluster.deployment("evicted", 2).await;
    let staged = read_once(&cluster, &broker, "evicted").await.ready().await;
    let pods = "get pod -l app=evicted -o jsonpath={.items[*].metadata.name}";
    let evicted = cluster.kubectl(pods).await;
    let evicted = evicted.split(' ').next().unwrap();
    cluster.is_evicted(evicted).await;
    // Another one takes its place.
    cluster.ready("evicted", 2).await;
    let running = "--field-selector=status.phase=Running";
    let stays = cluster.kubectl(&format!("{pods} {running}")).await;
    let stays = stays.split(' ').next().unwrap();
    let finalizers =
        |list: &str| format!(r#"patch pod {stays} --type=merge -p {{"metadata":{{"finalizers":{list}}}}}"#);
    cluster.kubectl(&finalizers(r#"["parts.local/stays"]"#)).await;

    broker.produce("evicted", 500, 200).await;
    let mut held = pin!(hold_retry(&staged.scene));
    let one_is_left = async {
        while !staged.said().last().is_some_and(|s| s.ends_with(" 1 pods left")) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::select! {
        end = &mut held => panic!("a pod has not ended, and another was evicted: {end:?}"),
        () = one_is_left => {}
    }
    let end = timeout(STILL, &mut held).await;
    assert!(end.is_err(), "a pod has not ended, however still it is: {end:?}");
    cluster.kubectl(&finalizers("null")).await;
    let end = held.await;
    assert_eq!(end.state, StepState::Held, "{end:?}");
    assert!(
        end.detail
            .en()
            .contains("deployment shop/evicted 2 → 0, no pod is left"),
        "{}",
        end.detail.en()
    );
    assert_eq!(cluster.kubectl(pods).await, evicted, "it stays listed");
}
