//! A storm of retries in Kafka, held and let go by the switch that the shop itself has.

use std::time::Duration;

use allclear::{
    engine::recovery::{left_behind, release_retry},
    model::recovery::StepState,
};
use serde_json::Value;

use crate::{
    shop,
    switch::{held, switches, watched},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_is_held_by_the_shops_own_switch_and_let_go_no_faster_than_asked() {
    const RATE: f64 = 30.0;
    let shop = shop::open().await;
    let before = [shop.switch(0).await, shop.switch(1).await].map(|seen| standing(&seen));
    let staged = switches(&shop, RATE).ready().await;
    held(&shop, &staged, 1500).await;
    // What had begun comes to its end.
    let mut made = f64::NAN;
    shop.until("it stands still", async || {
        made = shop.made_good().await;
        let begun = [shop.switch(0).await, shop.switch(1).await];
        let begun = begun.iter().filter_map(|seen| seen["released"].as_f64());
        (begun.sum::<f64>() - made).abs() < 0.5
    })
    .await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(
        shop.made_good().await,
        made,
        "nothing is made good while it is held"
    );
    assert_eq!(left_behind(&staged.scene).await.len(), 2, "held is not as before");

    let (end, seen) = watched(&shop, release_retry(&staged.scene)).await;
    assert_eq!(
        (end.state, end.leftovers),
        (StepState::Done, vec![]),
        "{}",
        end.detail.en()
    );
    let ahead = seen.iter().enumerate().flat_map(|(i, from)| {
        let later = seen[i..].iter();
        later.map(move |to| (to.1 - from.1) - 2.0 * RATE * (to.0 - from.0))
    });
    // After a pause it makes up for a second; and the two are not looked at in the same moment.
    let ahead = ahead.fold(0.0, f64::max);
    assert!(ahead < 2.0 * RATE * 1.1, "{ahead} too many: {}", end.detail.en());
    let after = [shop.switch(0).await, shop.switch(1).await].map(|seen| standing(&seen));
    assert_eq!(after, before);
    assert_eq!(left_behind(&staged.scene).await, vec![]);
}

fn standing(seen: &Value) -> (Value, Value) {
    (seen["held"].clone(), seen["rate"].clone())
}
