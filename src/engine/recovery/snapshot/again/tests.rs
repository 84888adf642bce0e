//! What is no state to go back to.

use super::*;
use crate::{
    engine::recovery::snapshot::testing::{kubernetes, server},
    model::{quota::Payer, snapshot::RetryQueueSeen},
};

fn well() -> Snapshot {
    let quota = |client: &str| QuotaSeen {
        payer: Payer {
            user: None,
            client: client.into(),
        },
        bytes: None,
    };
    let group = |broker: &str| GroupSeen {
        broker: broker.into(),
        address: String::new(),
        enabled: true,
        config: String::new(),
        beside: 0,
    };
    Snapshot {
        gateway: vec![server("lb:9999")],
        retry_queues: vec![RetryQueueSeen {
            entry: 0,
            backlog: 10,
            held: false,
            rate: None,
            quotas: vec![quota("a"), quota("b")],
            groups: vec![group("broker-a"), group("broker-b")],
        }],
        kubernetes: kubernetes(),
        ..Snapshot::default()
    }
}

#[test]
fn what_served_before_the_baseline_and_does_not_now_is_no_state_to_go_back_to() {
    let fell = |harm: fn(&mut Snapshot)| {
        let mut now = well();
        harm(&mut now);
        let fell = fell_by_itself(&well(), &now);
        assert!(fell.len() < 2, "{fell:?}");
        fell.first().map(|said| said.en().to_owned()).unwrap_or_default()
    };
    assert_eq!(fell(|_| {}), "");
    assert!(fell(|s| s.gateway[0].running = false).starts_with("order-0 at gateway lb:9999 is DOWN"));
    assert!(fell(|s| s.gateway.clear()).contains("is DOWN"));
    assert!(fell(|s| s.kubernetes.pods[0].ready = false).starts_with("the pod of order-0"));
    assert!(fell(|s| s.kubernetes.serving[0].ready = false).starts_with("the pod behind order-0"));
    assert!(fell(|s| s.kubernetes.scales[0].ready = 1).starts_with("deployment retry has not its 2"));
    assert!(fell(|s| s.retry_queues[0].groups.truncate(1)).contains("broker broker-b is not there"));
    assert!(fell(|s| s.retry_queues[0].quotas.truncate(1)).starts_with("client b consumes no longer"));
    let scaled_down = |s: &mut Snapshot| {
        let scale = &mut s.kubernetes.scales[0];
        (scale.replicas, scale.ready) = (1, 1);
    };
    assert_eq!(fell(scaled_down), "", "that is somebody's decision");
}

#[test]
fn what_was_not_well_before_the_baseline_may_be_so_after_it() {
    let mut before = well();
    before.gateway[0].running = false;
    before.kubernetes.pods[0].ready = false;
    before.kubernetes.serving[0].ready = false;
    before.kubernetes.scales[0].ready = 1;
    assert_eq!(fell_by_itself(&before, &before), []);
}
