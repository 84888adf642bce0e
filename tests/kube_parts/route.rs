//! Targets out of an HTTPRoute by weight, and back in stages.

use allclear::{
    engine::recovery::{drain, left_behind, needs_repair, traffic},
    model::{
        amount::Share,
        ids::RouteName,
        playbook::{Gateway, Playbook, RouteGateway},
        recovery::{Certainty, StepState},
        time::Span,
        undo::ChangeIntent,
    },
};

use crate::{
    part::{Cluster, by_hand, shared},
    parts_support::{Staged, nothing_to_do},
};

/// Three pods with a Service each, and a route over them with these weights; the second rule has the first alone.
pub async fn routed(cluster: &Cluster, app: &str, weights: [u32; 3]) {
    cluster.service(app, 3).await;
    let mut yaml = String::new();
    for n in 0..3 {
        yaml += &format!(
            r#"
apiVersion: v1
kind: Service
metadata: {{name: {app}-{n}}}
spec: {{selector: {{statefulset.kubernetes.io/pod-name: {app}-{n}}}, ports: [{{port: 80}}]}}
---
"#
        );
    }
    let [first, second, third] = weights;
    yaml += &format!(
        r#"
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: {app}}}
spec:
  rules:
  - backendRefs: [{{name: {app}-1, port: 80, weight: {second}}}, {{name: {app}-0, port: 80, weight: {first}}}, {{name: {app}-2, port: 80, weight: {third}}}]
  - matches: [{{path: {{type: PathPrefix, value: /pay}}}}]
    backendRefs: [{{name: {app}-0, port: 80, weight: {first}}}, {{name: {app}-2, port: 80, weight: {third}}}]
"#
    );
    cluster.apply(yaml).await;
}

fn by_weight(route: &str, backend: &str) -> Playbook {
    Playbook {
        gateway: Some(Gateway::Route(RouteGateway {
            namespace: None,
            route: RouteName::new(route).unwrap(),
            backend: backend.to_owned(),
            ramp: vec![Share(0.1), Share(0.3), Share::ALL],
            hold: Span::millis(300),
        })),
        ..nothing_to_do()
    }
}

async fn ready(cluster: &Cluster, app: &str) -> Staged {
    let target = format!("{app}-0");
    let staged = Staged::new(cluster.of("bob"), &[&target], by_weight(app, "{target}"));
    staged.ready().await
}

/// All weights, rule by rule.
pub async fn weights(cluster: &Cluster, app: &str) -> String {
    cluster
        .field(
            &format!("httproute {app}"),
            ".spec.rules[*].backendRefs[*].weight",
        )
        .await
}

fn set(staged: &Staged) -> Vec<String> {
    let intents = staged.intents().into_iter();
    let to = intents.map(|i| match i {
        ChangeIntent::Gateway { at, weight, to, .. } => format!("{at} {weight}: {to}"),
        other => panic!("{other:?}"),
    });
    to.collect()
}

#[tokio::test]
async fn a_target_goes_out_of_its_route_and_comes_back_in_stages_with_the_weight_that_it_had() {
    let cluster = shared().await;
    routed(&cluster, "way", [20, 20, 20]).await;
    let mut staged = Staged::new(cluster.of("bob"), &["way-0"], by_weight("way", "{target}"));
    let checks = staged.prepare().await;
    assert_eq!(
        checks[0].found.en(),
        "way-0 weight 20; without them 2 serve, 1 serve"
    );
    let scene = &staged.scene;
    assert_eq!(traffic(scene).await.state, StepState::Nothing);

    let out = drain(scene, true).await;
    assert_eq!(
        (out.state, &out.leftovers),
        (StepState::Done, &vec![]),
        "{}",
        out.detail.en()
    );
    assert_eq!(weights(&cluster, "way").await, "20 0 20 0 20");
    assert!(needs_repair(scene).await.is_needed());
    let left = left_behind(scene).await;
    assert_eq!(left[0].what.en(), "way-0 at the gateway: weight 0, ready");

    let back = traffic(scene).await;
    assert_eq!(
        (back.state, &back.leftovers),
        (StepState::Done, &vec![]),
        "{}",
        back.detail.en()
    );
    assert_eq!(weights(&cluster, "way").await, "20 20 20 20 20");
    assert_eq!(left_behind(scene).await, vec![]);
    let at = "HTTPRoute shop/way 20: weight";
    assert_eq!(set(&staged), [0, 2, 6, 20].map(|w| format!("{at} {w}")));
}

#[tokio::test]
async fn the_command_by_hand_puts_the_weight_back_and_never_on_another_backend() {
    let cluster = shared().await;
    routed(&cluster, "hand", [3, 1, 1]).await;
    let staged = ready(&cluster, "hand").await;
    routed(&cluster, "hand", [0, 1, 1]).await;
    let left = left_behind(&staged.scene).await;
    let command = left[0].by_hand.clone().unwrap();
    by_hand(&command).await;
    assert_eq!(weights(&cluster, "hand").await, "1 3 1 3 1");
    assert_eq!(left_behind(&staged.scene).await, vec![]);
    // Somebody turns the rules round: what stood there before stands elsewhere now.
    let turn = r#"patch httproute hand --type=json -p [{"op":"move","from":"/spec/rules/1","path":"/spec/rules/0"}]"#;
    cluster.kubectl(turn).await;
    let turned = weights(&cluster, "hand").await;
    assert_eq!(turned, "3 1 1 3 1");
    let typed = std::process::Command::new("sh")
        .args(["-c", &command])
        .output()
        .unwrap();
    assert!(!typed.status.success());
    assert_eq!(weights(&cluster, "hand").await, turned);
}

#[tokio::test]
async fn a_drain_that_would_leave_a_rule_without_a_ready_service_is_not_made() {
    let cluster = shared().await;
    routed(&cluster, "lone", [1, 1, 1]).await;
    let staged = ready(&cluster, "lone").await;
    cluster.is_not_ready("lone-2").await;
    let end = drain(&staged.scene, true).await;
    assert_eq!(end.state, StepState::Nothing);
    assert_eq!(
        end.detail.en(),
        "not drained: no other server takes traffic: the rest cannot carry the load"
    );
    assert_eq!(set(&staged), Vec::<String>::new());
}

#[tokio::test]
async fn what_has_no_weight_of_its_own_is_refused_by_name() {
    let cluster = shared().await;
    routed(&cluster, "odd", [1, 1, 1]).await;
    let refused = async |playbook: Playbook| {
        let lines = Staged::new(cluster.of("bob"), &["odd-0"], playbook)
            .refusals()
            .await;
        lines.join("\n")
    };
    let absent = refused(by_weight("nowhere", "{target}")).await;
    assert!(
        absent.contains("httproutes.gateway.networking.k8s.io \"nowhere\" not found"),
        "{absent}"
    );
    let other = refused(by_weight("odd", "{target}-v2")).await;
    assert!(
        other.contains("server odd-0 in backend HTTPRoute shop/odd"),
        "{other}"
    );
    let several = r#"patch httproute odd --type=json -p [{"op":"replace","path":"/spec/rules/1/backendRefs/0/weight","value":5}]"#;
    cluster.kubectl(several).await;
    let several = refused(by_weight("odd", "{target}")).await;
    assert!(
        several.contains("Service odd-0 has weight 1 in one rule and 5 in another"),
        "{several}"
    );
    let reader = Staged::new(cluster.of("alice"), &["odd-0"], by_weight("odd", "{target}"));
    let reader = reader.refusals().await.join("\n");
    assert!(reader.contains("cannot get resource \"httproutes\""), "{reader}");
}

#[tokio::test]
async fn a_route_that_has_taken_the_name_of_the_one_before_is_not_touched() {
    let cluster = shared().await;
    routed(&cluster, "heir", [7, 7, 7]).await;
    let staged = ready(&cluster, "heir").await;
    cluster.kubectl("delete httproute heir").await;
    routed(&cluster, "heir", [0, 7, 7]).await;
    let end = traffic(&staged.scene).await;
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert_eq!(weights(&cluster, "heir").await, "7 0 7 0 7");
    let left = left_behind(&staged.scene).await;
    assert_eq!(left[0].certainty, Certainty::Unknown);
    assert!(
        left[0].why.en().contains("another one than before the drill"),
        "{left:?}"
    );
}

#[tokio::test]
async fn a_rule_that_no_longer_sends_to_the_target_is_a_leftover_whatever_its_weight_elsewhere() {
    let cluster = shared().await;
    routed(&cluster, "less", [5, 5, 5]).await;
    let staged = ready(&cluster, "less").await;
    assert_eq!(left_behind(&staged.scene).await, vec![]);
    let without =
        r#"patch httproute less --type=json -p [{"op":"remove","path":"/spec/rules/1/backendRefs/0"}]"#;
    cluster.kubectl(without).await;
    let left = left_behind(&staged.scene).await;
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(
        left[0].why.en(),
        "1 rules of HTTPRoute shop/less send to Service less-0, 2 before the drill"
    );
}

#[tokio::test]
async fn a_way_back_that_is_killed_at_any_change_is_finished_by_the_next() {
    let cluster = shared().await;
    routed(&cluster, "torn", [20, 20, 20]).await;
    let staged = ready(&cluster, "torn").await;
    for nth in 1..=4 {
        staged.dies_at(nth);
        let recovery = async {
            drain(&staged.scene, true).await;
            traffic(&staged.scene).await;
        };
        tokio::select! {
            () = recovery => panic!("it was to die at change {nth}"),
            () = staged.died() => {}
        }
        staged.lives();
        traffic(&staged.scene).await;
        assert_eq!(left_behind(&staged.scene).await, vec![], "after change {nth}");
        assert_eq!(
            weights(&cluster, "torn").await,
            "20 20 20 20 20",
            "after change {nth}"
        );
        staged.intents();
    }
}
