//! Calls of allclear's own that try open breakers, where no other calls come by before traffic is back.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

use crate::{
    engine::recovery::{Scene, elapsed, together},
    model::{recovery::StepId, said::said, time::Span, undo::ChangeIntent},
};

use super::{Found, Group, Standing};

/// What probing came to.
pub(super) struct Probed<'a> {
    /// The breakers as they stand.
    pub(super) found: Vec<Found<'a>>,
    /// The names of those that were tried.
    pub(super) tried: BTreeSet<&'a str>,
}

/// Waits until each open breaker of a group lets calls try it, and sends them until it is seen closed.
pub(super) async fn probe_group<'a>(scene: &Scene, group: &Group<'a>, url: &str, after: Span) -> Probed<'a> {
    let deadline = Instant::now() + (after + scene.drivers.patience().confirm).into();
    let mut open_since: BTreeMap<&str, Instant> = BTreeMap::new();
    let mut tried = BTreeSet::new();
    loop {
        let found = group.look(scene, scene.deadline().min(deadline)).await;
        let mut due = Vec::new();
        let mut waiting = 0;
        for one in &found {
            let name = one.before.name.as_str();
            match one.standing() {
                // It opened before it was seen open: its wait is over then at the latest.
                Some(Standing::Stuck) => {
                    waiting += 1;
                    let since = *open_since.entry(name).or_insert_with(Instant::now);
                    due.extend((elapsed(since) >= after).then_some(one.before));
                }
                Some(Standing::Trying) => {
                    waiting += 1;
                    // If the trial fails, a new wait begins.
                    open_since.remove(name);
                    due.push(one.before);
                }
                _ => {}
            }
        }
        if waiting == 0 || Instant::now() >= deadline {
            return Probed { found, tried };
        }
        for before in &due {
            if tried.insert(before.name.as_str()) {
                let change = ChangeIntent::Breaker {
                    instance: group.instance.clone(),
                    name: before.name.clone(),
                    to: "PROBED".to_owned(),
                };
                scene.bus.intend(change).await;
            }
        }
        let (instance, trying) = (group.instance, due.len());
        let detail = match due.is_empty() {
            true => said!(
                "{waiting} breakers on {instance} wait {after} for a trial",
                "{instance} 的 {waiting} 个熔断器待 {after} 后试探"
            ),
            false => said!(
                "{trying} breakers on {instance} tried by calls",
                "{instance} 的 {trying} 个熔断器正以调用试探"
            ),
        };
        scene.waiting(StepId::Breakers, detail);
        together(due.into_iter().map(|before| group.probe(scene, url, before))).await;
        scene.pause().await;
    }
}
