//! A pool that is read as a whole: a restart that one instance refuses keeps no other from its own.

use super::{
    pools::{playbook, restartable},
    stand::Mood,
    *,
};
use crate::model::{amount::Level, sample::Gap};

#[tokio::test]
async fn an_instance_that_refuses_its_restart_keeps_no_other_from_it() {
    let ((first, first_restarts), (second, second_restarts)) = (restartable().await, restartable().await);
    first.turn(Mood::Refuses);
    let rows = [
        ("order", "order-0", first.address.as_str()),
        ("order", "order-1", second.address.as_str()),
    ];
    let as_one = |ledger: &mut Ledger| {
        let looks = std::sync::atomic::AtomicI64::new(0);
        ledger.reading = Box::new(move |query| {
            let value = match &query.instance {
                Some(_) => Err(Gap::NoSeries {
                    query: query.to_string(),
                }),
                None => Ok(Level(50.0)),
            };
            Some(Reading {
                value,
                age: Span::ZERO,
                sampled: looks.fetch_add(1, Relaxed),
                partial: false,
            })
        });
    };
    let book = playbook(Span::millis(200));
    let stage = stage_with(environment(&rows), book, as_one, Secrets::none(), SHORT);
    let end = super::super::pools(&stage.scene).await;
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert!(
        end.leftovers[0].why.en().contains("403"),
        "{}",
        end.leftovers[0].why.en()
    );
    assert_eq!(
        (first_restarts.load(Relaxed), second_restarts.load(Relaxed)),
        (0, 1)
    );
}
