//! The shop's own switches of its retry consumers, and what they let through.

use std::time::Duration;

use allclear::{
    engine::recovery::{StepEnd, hold_retry},
    model::{
        playbook::{Playbook, RetryQueue},
        recovery::StepState,
        secret::Secrets,
        time::Span,
    },
};
use tokio::time::Instant;

use crate::{
    parts_support::{PATIENCE, Staged, environment, nothing_to_do, plan},
    shop::Shop,
};

/// Both instances' switches, let go at this rate each.
pub fn switches(shop: &Shop, rate: f64) -> Staged {
    let switch = |number| RetryQueue::Http {
        url: format!("{}/app/retry", shop.instance(number)),
        rate,
        within: Span::seconds(300),
    };
    let playbook = Playbook {
        retry_queues: vec![switch(0), switch(1)],
        ..nothing_to_do()
    };
    Staged::of(plan(environment(), &[], playbook), Secrets::none(), PATIENCE)
}

/// A storm that is held, most of it: what waits is told by the switches once a second.
pub async fn held(shop: &Shop, staged: &Staged, coupons: u32) {
    let told = async || {
        let seen = [shop.switch(0).await, shop.switch(1).await];
        seen.map(|seen| seen["backlog"].as_u64())
    };
    let waits = async |least: u64| {
        shop.until("the switches tell what waits", async || {
            told().await.iter().all(|backlog| *backlog > Some(least))
        })
        .await;
    };
    // Both must be seen at work, and a storm that only one of them has heard of may be over before the other one has.
    shop.until("both have much to do", async || {
        let backlog = told().await;
        if backlog.iter().all(|backlog| *backlog == Some(0)) {
            shop.owe(coupons).await;
        }
        backlog.iter().all(|backlog| *backlog > Some(100))
    })
    .await;
    let held = hold_retry(&staged.scene).await;
    assert_eq!(held.state, StepState::Held, "{held:?}");
    // On a busy machine most of it may have been worked off by then.
    let few = Some(u64::from(coupons / 4));
    if told().await.iter().any(|backlog| *backlog < few) {
        shop.owe(coupons).await;
    }
    waits(u64::from(coupons / 8)).await;
}

/// A release, and the retries made good meanwhile: how many since it began, at which second.
pub async fn watched(shop: &Shop, release: impl Future<Output = StepEnd>) -> (StepEnd, Vec<(f64, f64)>) {
    let (before, begin) = (shop.made_good().await, Instant::now());
    let mut seen = vec![(0.0, 0.0)];
    let watch = async {
        loop {
            tokio::time::sleep(Duration::from_millis(250)).await;
            let made = shop.made_good().await - before;
            seen.push((begin.elapsed().as_secs_f64(), made));
        }
    };
    let end = tokio::select! {
        end = release => end,
        () = watch => unreachable!("it watches for ever"),
    };
    (end, seen)
}
