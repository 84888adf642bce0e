//! A restore at two real HAProxies, sick in different ways, with no snapshot from before.

use super::{
    gateway_luck::{at, is_exactly, two},
    *,
};
use crate::model::snapshot::GatewayState;

/// What of the gateway is not known. (The stage's guard is empty: nothing says that users are well, either.)
fn of_gateway(unknown: &[Leftover]) -> Vec<&str> {
    let gateway = unknown.iter().filter(|l| l.step == StepId::Traffic);
    gateway.map(|l| l.what.en()).collect()
}

#[tokio::test]
async fn a_restore_names_each_load_balancer_and_puts_it_back_to_its_configuration() {
    let (a, b, mut stage) = two(Span::millis(40)).await;
    let target = instance("order-0");
    at(&stage, &a.admin).set_weight(&target, 10).await.unwrap();
    at(&stage, &b.unix)
        .set_state(&target, GatewayState::Drain)
        .await
        .unwrap();
    let found = read_restoring(&stage.scene.plan, &stage.scene.drivers).await;
    let changes = found.changes(&stage.scene.plan);
    let shown: Vec<_> = changes.iter().map(|c| (c.what.en(), c.now.en())).collect();
    let (at_a, at_b) = (
        format!("order-0 at {}", a.admin),
        format!("order-0 at {}", b.unix),
    );
    assert_eq!(
        shown,
        [
            (at_a.as_str(), "weight 10, ready"),
            (at_b.as_str(), "weight 100, drain")
        ]
    );
    assert!(of_gateway(&found.unknown).is_empty() && found.decided.is_empty());
    stage.scene.snapshot = Arc::new(found.healthy);
    let end = traffic(&stage.scene).await;
    assert_eq!(
        (end.state, end.leftovers),
        (StepState::Done, vec![]),
        "{}",
        end.detail.en()
    );
    for socket in [&a.admin, &b.unix] {
        is_exactly(&stage, socket, 100, GatewayState::Ready).await;
    }
    assert!(left_behind(&stage.scene).await.is_empty());
}

#[tokio::test]
async fn a_restore_leaves_maintenance_at_one_load_balancer_and_says_that_the_other_is_not_known() {
    let (a, mut b, mut stage) = two(Span::millis(40)).await;
    at(&stage, &a.admin)
        .set_state(&instance("order-0"), GatewayState::Maint)
        .await
        .unwrap();
    b.kill();
    let found = read_restoring(&stage.scene.plan, &stage.scene.drivers).await;
    let maintenance = format!("order-0 at {} is in maintenance", a.admin);
    assert_eq!((found.decided.len(), found.decided[0].en()), (1, &*maintenance));
    let unknown = of_gateway(&found.unknown);
    assert_eq!(unknown.len(), 1, "{unknown:?}");
    assert!(unknown[0].contains(&b.unix), "{unknown:?}");
    stage.scene.snapshot = Arc::new(found.healthy);
    traffic(&stage.scene).await;
    is_exactly(&stage, &a.admin, 100, GatewayState::Maint).await;
}
