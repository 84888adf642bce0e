//! HAProxy's runtime API.

use std::time::Duration;

use crate::range_support::{Shop, until};

#[tokio::test(flavor = "multi_thread")]
async fn the_runtime_api_speaks_haproxys_sentences() {
    let shop = Shop::open(&[]).await;
    let said = [
        "get weight order/order-3",
        "set server order/order-3 weight 10%; get weight order/order-3",
        "set server order/order-3 weight 30\nget weight order/order-3",
        "set server order/order-3 weight 257",
        "set server order/order-3 weight x",
        "set server order/order-3 weight 1x",
        "set server order/nope weight 1",
        "set server nope/order-3 weight 1",
        "set server order weight 1",
        "set server order/order-3 state gone",
        "set server order/order-3 state drain",
        "show servers state nope",
    ];
    let mut log = String::new();
    for commands in said {
        log += &format!(
            ">>> {commands}\n{}<<<\n",
            shop.runtime(&format!("{commands}\n")).await
        );
    }
    insta::assert_snapshot!(log);

    let state = shop.runtime("show servers state order\n").await;
    let row: Vec<&str> = state
        .lines()
        .find(|line| line.contains("order-3"))
        .expect("a row")
        .split(' ')
        .collect();
    assert_eq!(
        (row[3], row[5], row[6], row[7], row[8]),
        ("order-3", "2", "8", "30", "100")
    );
    let stat = shop.runtime("show stat\n").await;
    let columns: Vec<&str> = stat.lines().next().expect("columns").split(',').collect();
    let status = columns
        .iter()
        .position(|column| *column == "status")
        .expect("a status");
    let row = stat
        .lines()
        .find(|line| line.starts_with("order,order-3,"))
        .expect("a row");
    assert_eq!(row.split(',').nth(status), Some("DRAIN"));
    assert_eq!(row.split(',').count(), columns.len());
    shop.range.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_weight_of_zero_takes_the_target_out_and_part_of_it_brings_part_back() {
    let shop = Shop::open(&[]).await;
    let orders =
        async |instance: &str, labels: &[&str]| shop.metric(instance, "http_requests_total", labels).await;
    shop.runtime("set server order/order-0 weight 0\n").await;
    // Orders that were on their way have ended after the longest of them.
    until("the target is idle", async || {
        let before = orders("order-0", &[]).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        orders("order-0", &[]).await == before
    })
    .await;
    until("the others take its traffic", async || {
        orders("order-1", &["drill"]).await > 20.0
    })
    .await;

    shop.runtime("set server order/order-0 weight 30%\n").await;
    let (own, all) = (
        orders("order-0", &[]).await,
        orders("gateway-0", &["/order", "drill"]).await,
    );
    until("400 marked orders", async || {
        orders("gateway-0", &["/order", "drill"]).await > all + 400.0
    })
    .await;
    let share =
        (orders("order-0", &[]).await - own) / (orders("gateway-0", &["/order", "drill"]).await - all);
    assert!((0.2..0.4).contains(&share), "{share}");
    shop.range.shutdown().await;
}
