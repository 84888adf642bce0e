//! How the stuck instance of a pool is restarted, and when it is there again.

use std::sync::atomic::AtomicU64;

use axum::{Router, http::StatusCode, routing::post};

use super::{
    pools::{by_instance, playbook, pools_of},
    stand::Stand,
    *,
};
use crate::model::playbook::Restart;

fn restarted_by(run: &[&str]) -> Playbook {
    let mut book = playbook(Span::millis(200));
    book.pools[0].if_stuck = Some(Restart::Command {
        run: run.iter().map(|w| (*w).to_owned()).collect(),
        timeout: Span::seconds(5),
    });
    book
}

#[tokio::test]
async fn a_command_restarts_the_stuck_instance_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("order-0 h 7f3a");
    let touch = format!("{}/{{target}} {{host}} {{run}}", folder.path().display());
    let restarted = file.clone();
    let busy = by_instance(move |_| if restarted.exists() { 1.0 } else { 50.0 });
    let end = pools_of(
        environment(&[("order", "order-0", "h:1")]),
        restarted_by(&["touch", &touch]),
        busy,
    )
    .await;
    assert_eq!(end.state, StepState::Done, "{}", end.detail.en());
    assert!(file.exists());
}

#[tokio::test]
async fn a_restart_that_fails_is_a_leftover_whose_command_works_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let (may, done) = (folder.path().join("may"), folder.path().join("done"));
    let script = format!(
        "test -e {} && touch {} || {{ echo no; exit 4; }}",
        may.display(),
        done.display()
    );
    let full = by_instance(|_| 50.0);
    let place = environment(&[("order", "order-0", "h:1")]);
    let end = pools_of(place, restarted_by(&["sh", "-c", &script]), full).await;
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert_eq!(
        end.leftovers[0].why.en(),
        "the restart of order-0 ended with exit code 4: no"
    );
    std::fs::write(&may, "").unwrap();
    type_by_hand(end.leftovers[0].by_hand.as_deref().unwrap()).await;
    assert!(done.exists());
}

/// A service that restarts and then is not ready for so many questions.
async fn slow_to_start(unready: u64) -> (Stand, Arc<AtomicU64>) {
    let (restarts, asked) = (Arc::new(AtomicU64::new(0)), AtomicU64::new(0));
    let counted = restarts.clone();
    let restart = post(move || {
        counted.fetch_add(1, Relaxed);
        async { StatusCode::ACCEPTED }
    });
    let asked = Arc::new(asked);
    let ready = axum::routing::get(move || {
        let ready = asked.fetch_add(1, Relaxed) >= unready;
        async move {
            if ready {
                StatusCode::OK
            } else {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    });
    let router = Router::new()
        .route("/app/restart", restart)
        .route("/ready", ready);
    (Stand::start(router).await, restarts)
}

#[tokio::test]
async fn a_restarted_instance_is_waited_for_until_it_says_that_it_is_ready() {
    for (unready, ends) in [(3, StepState::Done), (u64::MAX, StepState::Failed)] {
        let (stand, restarts) = slow_to_start(unready).await;
        let mut book = playbook(Span::millis(300));
        book.pools[0].ready = Some("http://{instance}/ready".into());
        let seen = restarts.clone();
        let busy = by_instance(move |_| if seen.load(Relaxed) == 0 { 50.0 } else { 1.0 });
        let end = pools_of(environment(&[("order", "order-0", &stand.address)]), book, busy).await;
        assert_eq!(
            (end.state, restarts.load(Relaxed)),
            (ends, 1),
            "{}",
            end.detail.en()
        );
        if ends == StepState::Failed {
            assert!(
                end.leftovers[0]
                    .why
                    .en()
                    .starts_with("idle, but order-0 is not ready"),
                "{end:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_restarted_instance_that_is_not_ready_at_the_end_is_left() {
    let (stand, restarts) = slow_to_start(u64::MAX).await;
    let mut book = playbook(Span::millis(300));
    book.pools[0].ready = Some("http://{instance}/ready".into());
    let seen = restarts.clone();
    let idle_after = by_instance(move |_| if seen.load(Relaxed) == 0 { 50.0 } else { 1.0 });
    let environment = environment(&[("order", "order-0", &stand.address)]);
    let stage = stage_with(environment, book, idle_after, Secrets::none(), SHORT);
    assert!(
        left_behind(&stage.scene).await.is_empty(),
        "not restarted: not asked"
    );
    assert_eq!(super::super::pools(&stage.scene).await.state, StepState::Failed);
    let left = left_behind(&stage.scene).await;
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].what.en().starts_with("order-0, restarted"), "{left:?}");
    assert!(left[0].why.en().contains("order-0 is not ready"), "{left:?}");
}
