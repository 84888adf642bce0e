//! `allclear rehearse`, the program itself, on pods of a real cluster and a range that has their metrics.

use std::{fs, time::Duration};

use serde_json::{Value, json};

use crate::{
    part::{Cluster, shared},
    support::Shop,
};

/// Looks for its pods where the environment says.
const DRILL: &str = r#"
drill: rehearsed
title: A slow coupon service
hypothesis: Everything can be put back.
dashboard: shop
risk: {likelihood: 1, impact: 1, detection: 1}
baseline: 2s
window: 100ms
guard:
  every: 1s
  samples: 10
  steady_state:
    - {metric: order_success, scope: users, window: 2s, at_least: 10%}
targets: {service: order, instances: [order-0]}
steps:
  - name: coupon-delay
    fault:
      rule: {point: coupon.query, delay: {mean: 2s, jitter: 100ms}}
    envelope: {header: {x-drill: drill}, percent: 100%, max_concurrent: 48}
    duration: 1s
recovery:
  gateway: {kubernetes: {pods: "statefulset.kubernetes.io/pod-name={target}", label: {key: serving, out: "false"}, hold: 200ms}}
  pools:
    - metric: order_threads_busy
      scope: targets
      idle_at_most: 30
      wait: 5s
      if_stuck: {kubernetes: {restart: targets, pods: "statefulset.kubernetes.io/pod-name={target}"}}
  verify: {hold: 500ms, within: 60s}
"#;

/// From now on the range's environment has a cluster too: as this user, with this namespace.
fn in_namespace(shop: &Shop, cluster: &Cluster, user: &str, namespace: &str) {
    let file = shop.home.join("allclear.yaml");
    let mut config: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let environment = &mut config["environments"]["shop"];
    environment["scrape"]["every"] = "50ms".into();
    environment["kubernetes"] = json!({
        "kubeconfig": cluster.kubeconfig(user), "context": "parts", "namespaces": [namespace],
    });
    fs::write(&file, config.to_string()).unwrap();
}

/// Its exit code, and what it says.
async fn rehearse(shop: &Shop) -> (Option<i32>, String) {
    let drill = shop.home.join("rehearsed.yaml");
    fs::write(&drill, DRILL).unwrap();
    let words = ["--lang", "en", "rehearse", drill.to_str().unwrap(), "--plain"];
    let ended = shop.output(&words, Duration::from_secs(120)).await;
    let said = [ended.stdout, ended.stderr].concat();
    (ended.status.code(), String::from_utf8_lossy(&said).into_owned())
}

/// Everything about the pods that a rehearsal could change.
async fn pods(cluster: &Cluster) -> String {
    let fields =
        "get pod -l app=order -o jsonpath={.items[*].metadata['name','uid','labels','deletionTimestamp']}";
    cluster.kubectl(fields).await
}

/// How many changes the runs so far have written down.
fn changes(shop: &Shop) -> usize {
    let runs = fs::read_dir(shop.home.join("state/runs")).unwrap().flatten();
    let journals = runs.map(|run| fs::read_to_string(run.path().join("journal.jsonl")).unwrap());
    journals.map(|text| text.matches("change_intended").count()).sum()
}

#[tokio::test]
async fn a_rehearsal_finds_a_wrong_namespace_by_name_and_a_sound_one_leaves_everything_as_it_was() {
    let cluster = shared().await;
    cluster.service("order", 2).await;
    let before = pods(&cluster).await;
    assert!(before.contains(r#""serving":"true""#), "{before}");
    let shop = Shop::open(&[]).await;
    // Bob has no rights there; the admin sees that no such pod is there.
    for (user, why) in [
        (
            "bob",
            r#"cannot list resource "pods" in API group "" in the namespace "shpo""#,
        ),
        (
            "admin",
            "pod statefulset.kubernetes.io/pod-name=order-0 in namespace shpo: not there",
        ),
    ] {
        in_namespace(&shop, &cluster, user, "shpo");
        let (code, said) = rehearse(&shop).await;
        assert_eq!(code, Some(5), "{user}: {said}");
        let refused = said.lines().find(|l| l.starts_with("! ") && l.contains(why));
        assert!(refused.is_some(), "{user}: {said}");
    }
    assert_eq!(changes(&shop), 0);

    in_namespace(&shop, &cluster, "bob", "shop");
    let (code, said) = rehearse(&shop).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("ALL CLEAR"), "{said}");
    assert!(changes(&shop) >= 2, "the pod was taken out, and back: {said}");
    assert_eq!(pods(&cluster).await, before);
    assert_eq!(shop.status().await["rules"], json!({}), "no fault was made");
}
