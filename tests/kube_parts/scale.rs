//! A retry topic held by scaling its consumers to zero: real consumers, one for each pod of the Deployment.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use allclear::{
    engine::recovery::{StepEnd, hold_retry, left_behind, needs_repair, release_retry},
    model::{
        ids::DeploymentName,
        playbook::{KafkaQueue, Playbook, QueueHold, RetryQueue},
        quota::Payer,
        recovery::StepState,
        time::Span,
        undo::ChangeIntent,
    },
};
use tokio::task::JoinHandle;

use crate::{
    kafka::{self, Broker},
    part::{Cluster, by_hand, shared},
    parts_support::{Staged, nothing_to_do},
    stage::PATIENCE,
};

/// Runs a real consumer for each Ready pod of a Deployment, as a kubelet would, until dropped.
struct Kubelet(JoinHandle<()>);

impl Kubelet {
    fn of(cluster: Arc<Cluster>, broker: Arc<Broker>, name: &'static str) -> Kubelet {
        Kubelet(tokio::spawn(async move {
            let mut running = BTreeMap::new();
            loop {
                let pods = cluster.kubectl(&format!("get pod -l app={name} -o name")).await;
                let pods: Vec<String> = pods.split_whitespace().map(str::to_owned).collect();
                running.retain(|pod, _| pods.contains(pod));
                for pod in pods {
                    let start = || {
                        broker.consume(
                            name,
                            name,
                            name,
                            &["max.partition.fetch.bytes=20000", "fetch.max.bytes=40000"],
                        )
                    };
                    running.entry(pod).or_insert_with(start);
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }))
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn queue(name: &str, rate: f64) -> KafkaQueue {
    KafkaQueue {
        hold: QueueHold::Scale {
            namespace: None,
            deployment: DeploymentName::new(name).unwrap(),
        },
        ..kafka::queue(name, rate, Span::seconds(120))
    }
}

fn held_by_scale(name: &str, rate: f64) -> Playbook {
    Playbook {
        retry_queues: vec![RetryQueue::Kafka(queue(name, rate))],
        ..nothing_to_do()
    }
}

pub fn staged(cluster: &Cluster, broker: &Broker, name: &str, rate: f64) -> Staged {
    let playbook = held_by_scale(name, rate);
    Staged::whole(
        cluster.of("bob"),
        Some(broker.plaintext()),
        &[],
        playbook,
        PATIENCE,
    )
}

/// A topic whose two consumers have read all of it.
async fn caught_up(name: &'static str, rate: f64) -> (Arc<Cluster>, Arc<Broker>, Kubelet, Staged) {
    let (cluster, broker) = (shared().await, kafka::shared().await);
    cluster.deployment(name, 2).await;
    broker.topic(name, 4).await;
    broker.produce(name, 100, 200).await;
    let kubelet = Kubelet::of(cluster.clone(), broker.clone(), name);
    let staged = staged(&cluster, &broker, name, rate);
    staged.until_backlog(|n| n == 0).await;
    let staged = staged.ready().await;
    (cluster, broker, kubelet, staged)
}

/// A backlog: a quota keeps it from being read meanwhile.
async fn storm(broker: &Broker, staged: &Staged, name: &str, messages: u32) {
    let kafka = staged.cluster();
    let payer = payer(name);
    kafka.set_quota(&payer, Some(600.0)).await.unwrap();
    kafka::until_quota(&staged.cluster(), &payer, Some(600.0)).await;
    broker.produce(name, messages, 200).await;
    assert!(staged.backlog().await > u64::from(messages) / 2);
    kafka.set_quota(&payer, None).await.unwrap();
    kafka::until_quota(&staged.cluster(), &payer, None).await;
}

fn payer(name: &str) -> Payer {
    Payer {
        user: None,
        client: name.to_owned(),
    }
}

fn scales(staged: &Staged) -> Vec<(u32, u32)> {
    let intents = staged.intents().into_iter();
    let scale = |i: ChangeIntent| match i {
        ChangeIntent::Scale { before, to, .. } => Some((before, to)),
        _ => None,
    };
    intents.filter_map(scale).collect()
}

fn is_done(end: &StepEnd) {
    assert_eq!(
        (end.state, &end.leftovers),
        (StepState::Done, &vec![]),
        "{}",
        end.detail.en()
    );
}

#[tokio::test]
async fn consumers_go_to_zero_and_come_back_exactly_as_many_under_the_rate() {
    let (cluster, broker, _kubelet, staged) = caught_up("scaled", 300.0).await;
    let scene = &staged.scene;
    assert_eq!(hold_retry(scene).await.state, StepState::Nothing);
    assert_eq!(release_retry(scene).await.state, StepState::Nothing);
    storm(&broker, &staged, "scaled", 6000).await;
    let held = hold_retry(scene).await;
    assert_eq!(held.state, StepState::Held, "{held:?}");
    assert!(
        held.detail
            .en()
            .contains("deployment shop/scaled 2 → 0, no pod is left"),
        "{}",
        held.detail.en()
    );
    assert_eq!(cluster.field("deployment scaled", ".spec.replicas").await, "0");
    assert!(needs_repair(scene).await.is_needed());
    let left = left_behind(scene).await;
    assert_eq!(
        left[0].what.en(),
        "deployment shop/scaled: 0 replicas",
        "{left:?}"
    );
    let waiting = staged.backlog().await;

    let begin = tokio::time::Instant::now();
    let end = release_retry(scene).await;
    is_done(&end);
    let rate = waiting as f64 / begin.elapsed().as_secs_f64();
    assert!(
        rate < 450.0,
        "{rate}/s: consumers that came back without a quota would be the storm again"
    );
    assert_eq!(cluster.field("deployment scaled", ".spec.replicas").await, "2");
    assert_eq!(left_behind(scene).await, vec![]);
    assert_eq!(staged.cluster().quota(&payer("scaled")).await.unwrap(), None);
    assert_eq!(scales(&staged), [(2, 0), (2, 2)]);
}

#[tokio::test]
async fn replicas_that_are_not_ready_again_are_a_leftover() {
    let (cluster, _broker, _kubelet, staged) = caught_up("ailing", 300.0).await;
    let staged = staged.with_short_patience();
    let first = "get pod -l app=ailing -o jsonpath={.items[0].metadata.name}";
    cluster.is_not_ready(&cluster.kubectl(first).await).await;
    let end = release_retry(&staged.scene).await;
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    let why = "1 of its pods are Ready, 2 before the drill";
    assert_eq!(end.leftovers[0].why.en(), why);
    assert!(needs_repair(&staged.scene).await.is_needed());
    let left = left_behind(&staged.scene).await;
    assert_eq!(
        (left[0].what.en(), left[0].why.en()),
        ("deployment shop/ailing", why)
    );
    assert_eq!(staged.intents(), vec![]);
}

#[tokio::test]
async fn what_somebody_else_has_scaled_is_left_to_them_and_named() {
    let (cluster, broker, _kubelet, staged) = caught_up("disputed", 500.0).await;
    storm(&broker, &staged, "disputed", 3000).await;
    assert_eq!(hold_retry(&staged.scene).await.state, StepState::Held);
    assert_eq!(scales(&staged), [(2, 0)]);
    cluster.kubectl("scale deployment/disputed --replicas=3").await;
    let end = release_retry(&staged.scene).await;
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert_eq!(cluster.field("deployment disputed", ".spec.replicas").await, "3");
    assert_eq!(scales(&staged), []);
    let left = left_behind(&staged.scene).await;
    assert_eq!(
        left[0].what.en(),
        "deployment shop/disputed: 3 replicas",
        "{left:?}"
    );
    assert_eq!(
        left[0].why.en(),
        "somebody else has scaled it to 3 (2 before the drill): not touched"
    );
    by_hand(left[0].by_hand.as_deref().unwrap()).await;
    assert_eq!(cluster.field("deployment disputed", ".spec.replicas").await, "2");
}

#[tokio::test]
async fn an_autoscaler_that_would_undo_the_hold_is_refused_by_name() {
    let (cluster, broker) = (shared().await, kafka::shared().await);
    cluster.deployment("auto", 1).await;
    cluster
        .kubectl("autoscale deployment/auto --name=auto-by-cpu --min=1 --max=3")
        .await;
    let refused = staged(&cluster, &broker, "auto", 100.0).refusals().await;
    let named = |line: &&String| line.contains("the HorizontalPodAutoscaler auto-by-cpu scales it");
    assert!(refused.iter().find(named).is_some(), "{refused:?}");
}

#[tokio::test]
#[ignore = "minutes: scripts/test all"]
async fn a_recovery_that_is_killed_at_any_change_is_finished_by_the_next() {
    let (cluster, broker, _kubelet, staged) = caught_up("killed", 600.0).await;
    for nth in 1..=4 {
        storm(&broker, &staged, "killed", 2500).await;
        staged.intents();
        staged.dies_at(nth);
        let scene = &staged.scene;
        let recovery = async {
            hold_retry(scene).await;
            release_retry(scene).await;
        };
        tokio::select! {
            () = recovery => panic!("it was to die at change {nth}"),
            () = staged.died() => {}
        }
        staged.lives();
        if nth > 1 {
            assert!(!left_behind(scene).await.is_empty(), "after change {nth}");
        }
        hold_retry(scene).await;
        let end = release_retry(scene).await;
        assert!(
            matches!(end.state, StepState::Done | StepState::Nothing),
            "{nth}: {end:?}"
        );
        assert_eq!(left_behind(scene).await, vec![], "after change {nth}");
        assert_eq!(cluster.field("deployment killed", ".spec.replicas").await, "2");
        assert_eq!(staged.cluster().quota(&payer("killed")).await.unwrap(), None);
    }
}
