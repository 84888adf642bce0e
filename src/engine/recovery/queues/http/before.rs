//! How a retry queue with a switch stands before the drill.

use crate::{
    drivers::{Drivers, place::Fill},
    engine::recovery::snapshot::{Part, check},
    model::{event::CheckOutcome, snapshot::RetryQueueSeen},
};

pub(in crate::engine::recovery::queues) async fn read_switch(
    drivers: &Drivers,
    entry: usize,
    url: &str,
) -> Part<RetryQueueSeen> {
    let what = format!("retry queue {url}");
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
            let next = now
                .held
                .then_some("it is held already; recovery will leave it so");
            let flow = if now.held { "held" } else { "flowing" };
            let rate = now.rate.map(|r| format!(" at {r}/s")).unwrap_or_default();
            let shown = format!("{} waiting, {flow}{rate}", now.backlog);
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
