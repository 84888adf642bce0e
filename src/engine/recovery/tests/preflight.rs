//! What preflight reads and refuses.

use super::{
    breakers::{playbook as breakers, via_app},
    faults::{one, with_a_rule},
    haproxy_part::haproxy,
    stand::{Actuator, Injector, Stand, nobody},
    *,
};
use crate::model::{
    event::{Check, CheckOutcome},
    playbook::Via,
    snapshot::GatewayServer,
};

async fn read(stage: &Stage) -> (Snapshot, Vec<Check>) {
    read_snapshot(&stage.scene.plan, &stage.scene.drivers).await
}

fn only(checks: Vec<Check>) -> Check {
    assert_eq!(checks.len(), 1, "{checks:?}");
    checks.into_iter().next().unwrap()
}

#[tokio::test]
async fn a_misspelt_breaker_is_refused_with_the_nearest_name_and_none_is_created() {
    let actuator = Actuator::with(&[("coupon", "CLOSED"), ("stock", "CLOSED")]).await;
    let stand = Stand::start(actuator.router()).await;
    let stage = stage(
        environment(&[("order", "order-0", &stand.address)]),
        breakers(&["cuopon"], via_app()),
    );
    let check = only(read(&stage).await.1);
    assert_eq!(check.outcome, CheckOutcome::Refused);
    assert!(
        check.found.en().contains("did you mean `coupon`?"),
        "{}",
        check.found.en()
    );
    assert_eq!(actuator.states.lock().await.len(), 2);
}

#[tokio::test]
async fn no_list_of_breakers_waits_for_another() {
    // Nobody is answered before all three have asked.
    let all = Arc::new(tokio::sync::Barrier::new(3));
    let list = move || {
        let all = all.clone();
        async move {
            all.wait().await;
            axum::Json(serde_json::json!({"circuitBreakers": {"coupon": {"state": "CLOSED"}}}))
        }
    };
    let router = axum::Router::new().route("/actuator/circuitbreakers", axum::routing::get(list));
    let stand = Stand::start(router).await;
    let entry = breakers(&["coupon"], Via::Wait).breakers;
    let book = Playbook {
        breakers: [entry.clone(), entry.clone(), entry].concat(),
        ..nothing_to_do()
    };
    let stage = stage(environment(&[("order", "order-0", &stand.address)]), book);
    let (snapshot, checks) = read(&stage).await;
    assert!(
        checks.iter().all(|c| c.outcome == CheckOutcome::Passed),
        "{checks:?}"
    );
    assert_eq!(snapshot.breakers.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_answers_too_slowly_all_in_all_is_refused() {
    let stage = stage(environment(&[]), nothing_to_do());
    let never = std::future::pending::<super::super::snapshot::Part<GatewayServer>>();
    let begin = Instant::now();
    let part = super::super::snapshot::bounded(&stage.scene.drivers, "gateway".into(), never).await;
    assert_eq!(elapsed(begin), SHORT.call * 12);
    let check = only(part.checks);
    assert_eq!(check.outcome, CheckOutcome::Refused);
    assert!(
        check.found.en().starts_with("not read within 6s"),
        "{}",
        check.found.en()
    );
}

#[tokio::test]
async fn a_misspelt_point_and_a_foreign_rule_are_said() {
    let injector = Injector::holding(&[("beef", "beef-1")]).await;
    let (_stand, environment) = one(&injector).await;
    let mut plan = with_a_rule(environment, nothing_to_do());
    let stage = staged(plan.clone(), |_| {}, Secrets::none(), SHORT);
    let (snapshot, checks) = read(&stage).await;
    assert_eq!(only(checks).outcome, CheckOutcome::Warned);
    assert_eq!(
        snapshot.foreign,
        ["chaos rule beef-1 of run beef on coupon.query on order-0"]
    );
    if let crate::model::drill::Action::Fault { faults, .. } = &mut plan.drill.steps[0].action {
        let crate::model::drill::Fault::Rule { point, .. } = &mut faults[0];
        *point = "coupon.qurey".into();
    }
    let stage = staged(plan, |_| {}, Secrets::none(), SHORT);
    let check = only(read(&stage).await.1);
    assert_eq!(check.outcome, CheckOutcome::Refused);
    assert!(
        check.found.en().contains("did you mean `coupon.query`?"),
        "{}",
        check.found.en()
    );
}

#[tokio::test]
async fn a_gateway_that_cannot_be_changed_or_lacks_the_server_is_refused() {
    let part = haproxy().await;
    for (socket, name, said) in [
        (&part.operator, "order-0", "Permission denied"),
        (&part.admin, "order-00", "did you mean `order-0`?"),
    ] {
        let stage = stage(gateway::one_target(name), gateway::playbook(socket, Span::ZERO));
        let check = only(read(&stage).await.1);
        assert_eq!(check.outcome, CheckOutcome::Refused);
        assert!(check.found.en().contains(said), "{}", check.found.en());
    }
}

#[tokio::test]
async fn what_is_unreachable_is_refused_with_what_and_why_and_next() {
    let address = nobody().await;
    let stage = stage(environment(&[]), retry::playbook(&address, 1.0, Span::seconds(1)));
    let check = only(read(&stage).await.1);
    assert_eq!(check.outcome, CheckOutcome::Refused);
    assert!(
        check.found.en().contains(&address) && check.found.en().contains("refused"),
        "{}",
        check.found.en()
    );
    assert!(check.next.unwrap().en().contains("allclear.yaml"));
}

#[tokio::test]
async fn a_script_that_is_not_there_is_found_before_the_fault() {
    let script = crate::model::playbook::Command {
        name: crate::model::ids::CommandName::new("warm").unwrap(),
        after: StepId::Pools,
        how: crate::model::playbook::How::Run {
            run: vec!["./no-such-script.sh".into()],
            check: None,
        },
        timeout: Span::seconds(1),
    };
    let book = Playbook {
        commands: vec![script],
        ..nothing_to_do()
    };
    let check = only(read(&stage(environment(&[]), book)).await.1);
    assert_eq!(check.outcome, CheckOutcome::Refused);
    assert!(
        check.found.en().contains("no-such-script.sh"),
        "{}",
        check.found.en()
    );
}
