//! Lists of pods that are lost: they are read again, and what was never read is no success.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use allclear::{
    drivers::Patience,
    engine::recovery::{drain, traffic},
    model::{recovery::StepState, time::Span},
};
use tokio::time::timeout;

use crate::{
    part::shared,
    parts_support::Staged,
    stage::{OF_STATEFUL_SET, PATIENCE, served},
};

/// Time for many looks.
const HOLD: Span = Span::seconds(2);
/// Every so many lists one is lost.
const LOST: u32 = 3;

#[tokio::test]
async fn a_load_that_cannot_be_read_once_is_read_again_and_one_that_never_can_is_no_success() {
    let cluster = shared().await;
    cluster.service("unread", 3).await;
    let staged = Staged::new(cluster.of("bob"), &["unread-0"], served(OF_STATEFUL_SET, HOLD))
        .ready()
        .await;
    let label = async || cluster.field("pod unread-0", ".metadata.labels.serving").await;
    let of_service = |selector: &str| selector == "app=unread,serving=true";

    let reads = Arc::new(AtomicU32::new(0));
    let counted = reads.clone();
    let first = move |selector: &str| of_service(selector) && counted.fetch_add(1, Relaxed) == 0;
    let behind = staged.from(cluster.losing(first).await, PATIENCE);
    let end = drain(&behind.scene, true).await;
    assert_eq!(
        (end.state, end.detail.en()),
        (
            StepState::Done,
            "pod shop/unread-0 serving=true → serving=false; 2 of 3 Ready pods stay in Service unread"
        )
    );
    assert!(reads.load(Relaxed) > 1, "it was lost, and read again");
    assert_eq!(label().await, "false");

    cluster
        .kubectl("label pod unread-0 --overwrite serving=true")
        .await;
    let patience = Patience {
        step: Span::seconds(3),
        ..PATIENCE
    };
    let behind = staged.from(cluster.losing(of_service).await, patience);
    let end = drain(&behind.scene, true).await;
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert!(
        end.detail.en().starts_with("not drained: "),
        "{}",
        end.detail.en()
    );
    assert_eq!(behind.intents(), vec![]);
    assert_eq!(label().await, "true");
}

#[tokio::test]
async fn a_pod_whose_reads_are_lost_now_and_then_gets_its_label_back() {
    let cluster = shared().await;
    cluster.service("lossy", 2).await;
    let staged = Staged::new(cluster.of("bob"), &["lossy-0"], served(OF_STATEFUL_SET, HOLD))
        .ready()
        .await;
    assert_eq!(drain(&staged.scene, true).await.state, StepState::Done);

    let reads = Arc::new(AtomicU32::new(0));
    let counted = reads.clone();
    let now_and_then = move |_: &str| counted.fetch_add(1, Relaxed) % LOST == LOST - 1;
    let behind = staged.from(cluster.losing(now_and_then).await, PATIENCE);
    let end = timeout(Duration::from_secs(30), traffic(&behind.scene)).await;
    let end = end.expect("a read that is lost now and then does not begin the hold anew");
    assert_eq!(
        (end.state, &end.leftovers),
        (StepState::Done, &vec![]),
        "{}",
        end.detail.en()
    );
    assert!(reads.load(Relaxed) > 2 * LOST, "some were lost while it was held");
    assert_eq!(
        cluster.field("pod lossy-0", ".metadata.labels.serving").await,
        "true"
    );
}
