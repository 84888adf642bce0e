//! How a retry queue with a switch stands before the drill.

use crate::{
    drivers::{Drivers, place::Fill},
    engine::recovery::snapshot::{Part, check},
    model::{
        event::CheckOutcome,
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
        drivers.retry().read(&url).await
    };
    match look.await {
        Err(error) => Part::refused(what, &error),
        Ok(now) => {
            let outcome = if now.held {
                CheckOutcome::Warned
            } else {
                CheckOutcome::Passed
            };
            let next = now.held.then(|| {
                said!(
                    "it is held already; recovery will leave it so",
                    "现已暂停；恢复会保持原样"
                )
            });
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
            Part {
                found: vec![RetryQueueSeen {
                    entry,
                    backlog: now.backlog,
                    held: now.held,
                    rate: now.rate,
                    quotas: Vec::new(),
                    groups: Vec::new(),
                }],
                checks: vec![check(what, outcome, shown, next)],
            }
        }
    }
}
