//! RocketMQ in the configuration and in a drill.

use super::*;
use crate::model::playbook::{RetryQueue, RocketmqQueue};

const QUEUE: &str =
    "rocketmq: {cluster: main, group: order-retry, topic: order-retry, release: {rate: 200/s}, within: 15m}";
const CLUSTER: &str = r#"main: {nameservers: ["ns-1.example:9876", "ns-2.example:9876"], access_key: allclear, secret_key: "${ROCKETMQ_SECRET}"}"#;

fn queue(text: &str) -> Result<RocketmqQueue, Vec<String>> {
    match drill(&with(DRILL, QUEUE, text)) {
        Ok(read) => match read.value.recovery.retry_queues.into_iter().nth(1) {
            Some(RetryQueue::Rocketmq(queue)) => Ok(queue),
            other => unreachable!("{other:?}"),
        },
        Err(wrong) => Err(wrong.all.iter().map(|d| d.message.clone()).collect()),
    }
}

fn cluster(text: &str) -> Result<(), Vec<String>> {
    let wrong = read_config(&source("allclear.yaml", &with(CONFIG, CLUSTER, text)));
    wrong
        .map(|_| ())
        .map_err(|wrong| wrong.all.iter().map(|d| d.message.clone()).collect())
}

#[test]
fn the_topic_is_the_groups_own_retry_topic_unless_it_is_named() {
    assert_eq!(queue(QUEUE).unwrap().topic, "order-retry");
    let own = queue("rocketmq: {cluster: main, group: order-retry, release: {rate: 200/s}}").unwrap();
    assert_eq!(own.topic, "%RETRY%order-retry");
}

#[test]
fn a_name_that_no_broker_takes_is_refused() {
    let wrong =
        queue("rocketmq: {cluster: main, group: \"order retry\", release: {rate: 200/s}}").unwrap_err();
    assert!(wrong[0].contains("is not a group's name"), "{wrong:?}");
    let wrong =
        queue("rocketmq: {cluster: main, group: g, topic: \"a.b\", release: {rate: 200/s}}").unwrap_err();
    assert!(wrong[0].contains("is not a topic's name"), "{wrong:?}");
    let long = "g".repeat(256);
    let wrong = queue(&format!(
        "rocketmq: {{cluster: main, group: {long}, release: {{rate: 200/s}}}}"
    ))
    .unwrap_err();
    assert!(wrong[0].contains("255 characters at most"), "{wrong:?}");
}

#[test]
fn a_group_has_one_switch_on_a_cluster_and_so_one_queue() {
    let second = |cluster: &str, group: &str| {
        queue(&format!(
            "{QUEUE}\n    - rocketmq: {{cluster: {cluster}, group: {group}, release: {{rate: 50/s}}}}"
        ))
    };
    let wrong = second("main", "order-retry").unwrap_err();
    assert_eq!(
        wrong,
        [
            "group order-retry at RocketMQ main is switched for a queue above already: the release of one would start what the other still holds"
        ]
    );
    assert!(second("main", "other").is_ok() && second("other", "order-retry").is_ok());
}

#[test]
fn half_a_login_is_none_and_a_secret_does_not_stand_in_the_file() {
    assert!(cluster(CLUSTER).is_ok() && cluster("main: {nameservers: [\"ns:9876\"]}").is_ok());
    let wrong = cluster("main: {nameservers: [\"ns:9876\"], access_key: allclear}").unwrap_err();
    assert_eq!(wrong, ["`access_key` without `secret_key`"]);
    let wrong = cluster("main: {nameservers: [\"ns:9876\"], secret_key: \"${S}\"}").unwrap_err();
    assert_eq!(wrong, ["`secret_key` without `access_key`"]);
    let wrong =
        cluster("main: {nameservers: [\"ns:9876\"], access_key: a, secret_key: hunter22}").unwrap_err();
    assert!(wrong[0].contains("holds a secret itself"), "{wrong:?}");
    let wrong = cluster("main: {nameservers: []}").unwrap_err();
    assert_eq!(wrong, ["a cluster without an address"]);
}
