//! How a retry queue with a switch stands before the drill.

use crate::{
    drivers::{Drivers, error::DriverError, place::Fill, retry_http::QueueSeen},
    engine::recovery::{
        by_hand,
        snapshot::{Part, check},
    },
    model::{
        event::{Check, CheckOutcome},
        said::{Said, said},
        snapshot::RetryQueueSeen,
    },
};

pub(in crate::engine::recovery::queues) async fn read_switch(
    drivers: &Drivers,
    entry: usize,
    url: &str,
) -> Part<RetryQueueSeen> {
    let what = said!("retry queue {url}", "重试队列 {url}");
    let look = async {
        let url = drivers.places().fill(url, Fill::default())?;
        let now = drivers.retry().read(&url).await?;
        Ok::<_, DriverError>((url, now))
    };
    match look.await {
        Err(error) => Part::refused(what, &error),
        Ok((url, now)) => Part {
            found: vec![RetryQueueSeen {
                entry,
                backlog: now.backlog,
                held: now.held,
                rate: now.rate,
                quotas: Vec::new(),
                groups: Vec::new(),
            }],
            checks: vec![found(&what, &now), may_set(&what, &url, &now)],
        },
    }
}

fn found(what: &Said, now: &QueueSeen) -> Check {
    let (outcome, next) = match now.held {
        true => (
            CheckOutcome::Warned,
            Some(said!(
                "it is held already; recovery will leave it so",
                "现已暂停；恢复会保持原样"
            )),
        ),
        false => (CheckOutcome::Passed, None),
    };
    let flow = match now.held {
        true => said!("held", "已暂停"),
        false => said!("flowing", "流动中"),
    };
    let rate = now.rate.map_or(Said::as_it_is(""), |rate| {
        said!(" at {rate}/s", "，限速 {rate}/s")
    });
    let backlog = now.backlog;
    let shown = said!(
        flow, rate;
        "{backlog} waiting, {flow}{rate}",
        "{backlog} 条等待，{flow}{rate}"
    );
    check(what.clone(), outcome, shown, next)
}

/// A switch has no dry run. To set it to what it says would be a change all the same: whoever moved it since the read would be
/// overruled, with nothing in a journal, and one that nobody answers may land in the midst of the drill.
fn may_set(what: &Said, url: &str, now: &QueueSeen) -> Check {
    let shown = said!(
        "it can be read; that it may be set cannot be tried without setting it",
        "可读；能否设置，不设置便无从试"
    );
    let QueueSeen { held, rate, .. } = now;
    let as_it_is = by_hand::curl_json("PUT", url, &serde_json::json!({"held": held, "rate": rate}));
    let next = said!(
        "once, by hand, as it stands: {as_it_is}",
        "请按现值手动试一次：{as_it_is}"
    );
    check(what.clone(), CheckOutcome::Warned, shown, Some(next))
}
