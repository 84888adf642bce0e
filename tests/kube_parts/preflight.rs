//! What preflight refuses, and how it says so.

use std::fs;

use allclear::{
    drivers::kubernetes::kubeconfig,
    engine::recovery::read_restoring,
    model::{
        ids::Namespace,
        playbook::{Playbook, PodsOf},
        time::Span,
    },
};

use crate::{
    part::{at, shared},
    parts_support::Staged,
    stage::{OF_STATEFUL_SET, pods, restarts, served},
};

const WAIT: Span = Span::seconds(1);

#[tokio::test]
async fn no_pod_two_pods_and_a_pod_that_nobody_keeps_are_refused_by_name() {
    let cluster = shared().await;
    cluster.deployment("pair", 2).await;
    cluster
        .apply(
            r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "lonely", "labels": {"app": "lonely"}},
                "spec": {"nodeName": "kwok-0", "containers": [{"name": "app", "image": "none"}]}}"#
                .into(),
        )
        .await;
    cluster.ready("lonely", 1).await;
    let staged = Staged::new(
        cluster.of("bob"),
        &["absent", "pair", "lonely"],
        restarts("app={target}", WAIT),
    );
    let mut refused = staged.refusals().await;
    for line in &mut refused {
        // The names that a Deployment gives are made up by it.
        if let Some(at) = line.find("pair-") {
            line.truncate(at);
            line.push('…');
        }
    }
    insta::assert_snapshot!(refused.join("\n"), @r#"
    restart of absent in Kubernetes: pod app=absent in namespace shop: not there (no pod matches); correct its name in the file, or create it
    restart of pair in Kubernetes: pod app=pair in namespace shop: in another state (2 pods match where one is meant: …
    restart of lonely in Kubernetes: pod shop/lonely: in another state (nothing keeps it: once deleted, nobody would bring it back); look at it again
    "#);
}

#[tokio::test]
async fn rights_that_are_missing_are_named_with_user_verb_and_resource() {
    let cluster = shared().await;
    cluster.service("guarded", 2).await;
    let of_alice = |playbook| Staged::new(cluster.of("alice"), &["guarded-0"], playbook);
    let delete = of_alice(restarts(OF_STATEFUL_SET, WAIT))
        .refusals()
        .await
        .join("\n");
    let label = of_alice(served(OF_STATEFUL_SET, WAIT))
        .refusals()
        .await
        .join("\n");
    let unknown = cluster.kubeconfig("unknown");
    let alice = fs::read_to_string(cluster.kubeconfig("alice")).unwrap();
    fs::write(&unknown, alice.replace("alice-token", "no-token")).unwrap();
    let staged = Staged::new(at(&unknown), &["guarded-0"], restarts(OF_STATEFUL_SET, WAIT));
    let nobody = staged.refusals().await.join("\n");
    insta::assert_snapshot!(format!("{delete}\n{label}\n{nobody}"), @r#"
    restart of guarded-0 in Kubernetes: DELETE /api/v1/namespaces/shop/pods/guarded-0 (dry run) at Kubernetes parts: not permitted (HTTP 403: pods "guarded-0" is forbidden: User "alice" cannot delete resource "pods" in API group "" in the namespace "shop"); check the user, its rights and the secret
    label serving of guarded-0's pod: GET /api/v1/namespaces/shop/services at Kubernetes parts: not permitted (HTTP 403: services is forbidden: User "alice" cannot list resource "services" in API group "" in the namespace "shop"); check the user, its rights and the secret
    restart of guarded-0 in Kubernetes: GET /api/v1/namespaces/shop/pods at Kubernetes parts: not permitted (HTTP 401: Unauthorized); check the user, its rights and the secret
    "#);
}

#[tokio::test]
async fn a_namespace_that_the_environment_does_not_allow_is_never_asked_about() {
    let cluster = shared().await;
    let elsewhere = PodsOf {
        namespace: Some(Namespace::new("kube-system").unwrap()),
        ..pods("app={target}")
    };
    let mut playbook = restarts("app={target}", WAIT);
    playbook.pools[0].if_stuck = Some(allclear::model::playbook::Restart::Kubernetes(elsewhere));
    let refused = Staged::new(cluster.of("admin"), &["any"], playbook)
        .refusals()
        .await;
    assert!(
        refused[0].contains("namespace kube-system: not permitted (allclear.yaml allows only shop)"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_label_that_takes_nothing_out_or_that_keeps_the_pod_is_refused() {
    let cluster = shared().await;
    cluster.service("labelled", 2).await;
    let mut by_app = served(OF_STATEFUL_SET, WAIT);
    let mut by_zone = by_app.clone();
    for (playbook, key) in [(&mut by_app, "app"), (&mut by_zone, "zone")] {
        let Some(allclear::model::playbook::Gateway::Pods(gateway)) = &mut playbook.gateway else {
            unreachable!()
        };
        gateway.key = key.into();
    }
    let of_bob = |playbook| Staged::new(cluster.of("bob"), &["labelled-0"], playbook);
    let mut refused = of_bob(by_app).refusals().await;
    refused.extend(of_bob(by_zone).refusals().await);
    let mut by_true = served(OF_STATEFUL_SET, WAIT);
    if let Some(allclear::model::playbook::Gateway::Pods(gateway)) = &mut by_true.gateway {
        gateway.out = "true".into();
    }
    refused.extend(of_bob(by_true).refusals().await);
    insta::assert_snapshot!(refused.join("\n"), @r#"
    label app of labelled-0's pod: label app of pod shop/labelled-0: in another state (StatefulSet labelled keeps its pods by it: it would let this one go and make another); look at it again
    label zone of labelled-0's pod: label zone of pod shop/labelled-0: in another state (no Service of namespace shop finds it by this label: it would take nothing out); look at it again
    label serving of labelled-0's pod: label serving of pod shop/labelled-0: in another state (Service labelled selects serving=true: that takes nothing out); look at it again
    "#);
}

#[tokio::test]
async fn a_kubeconfig_is_pinned_to_a_context_that_it_has() {
    let cluster = shared().await;
    let path = cluster.kubeconfig("bob");
    assert_eq!(kubeconfig(&path, None).unwrap().context, "parts");
    let wrong = kubeconfig(&path, Some("production")).unwrap_err();
    assert!(
        wrong.ends_with("has no context `production`; there is parts"),
        "{wrong}"
    );
    let broken = cluster.kubeconfig("broken");
    fs::write(&broken, "users: [{name: x, user: {token: very-secret").unwrap();
    let wrong = kubeconfig(&broken, None).unwrap_err();
    assert!(
        wrong.ends_with("it is no kubeconfig") && !wrong.contains("secret"),
        "{wrong}"
    );
}

#[tokio::test]
async fn a_credential_plugin_logs_in_and_what_it_prints_is_never_shown() {
    let cluster = shared().await;
    cluster.service("plugged", 1).await;
    let bob = fs::read_to_string(cluster.kubeconfig("bob")).unwrap();
    let with_plugin = |name: &str, script: &str| {
        let plugin = cluster.file(&format!("{name}.sh"));
        fs::write(&plugin, script).unwrap();
        let exec = format!(
            "exec: {{apiVersion: client.authentication.k8s.io/v1, command: sh, args: [{}], interactiveMode: Never}}",
            plugin.display()
        );
        let path = cluster.kubeconfig(name);
        fs::write(&path, bob.replace("token: bob-token", &exec)).unwrap();
        Staged::new(at(&path), &["plugged-0"], restarts(OF_STATEFUL_SET, WAIT))
    };
    let prints = r#"echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "bob-token"}}'"#;
    assert_eq!(
        with_plugin("logs-in", prints).refusals().await,
        Vec::<String>::new()
    );
    let refused = with_plugin("fails", "echo very-secret; exit 3").refusals().await;
    assert!(
        refused[0].contains("its credential plugin ended with exit status: 3")
            && !refused[0].contains("very-secret"),
        "{refused:?}"
    );
    let hangs = with_plugin("hangs", "exec sleep 30").with_short_patience();
    let refused = hangs.refusals().await;
    assert!(refused[0].contains("no answer within"), "{refused:?}");
}

#[tokio::test]
async fn preflight_changes_nothing() {
    let cluster = shared().await;
    cluster.service("untouched", 2).await;
    let look = || {
        cluster.kubectl(
            "get pod -l app=untouched -o jsonpath={.items[*].metadata['uid','deletionTimestamp','labels']}",
        )
    };
    let before = look().await;
    let playbook = Playbook {
        gateway: served(OF_STATEFUL_SET, WAIT).gateway,
        ..restarts(OF_STATEFUL_SET, WAIT)
    };
    let mut staged = Staged::new(cluster.of("bob"), &["untouched-0"], playbook);
    staged.prepare().await;
    let restoring = read_restoring(&staged.scene.plan, &staged.scene.drivers).await;
    assert_eq!(
        restoring.unknown.len(),
        1,
        "only whether users are well: {:?}",
        restoring.unknown
    );
    assert_eq!(look().await, before);
    assert_eq!(staged.intents(), vec![]);
}
