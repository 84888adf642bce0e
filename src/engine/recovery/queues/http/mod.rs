//! A retry queue with a switch of the application's own: its difference from the snapshot, its switch, and how it is held.

mod before;
mod release;

pub(super) use self::{before::read_switch, release::release};

use tokio::time::Instant;

use crate::{
    drivers::{error::DriverError, retry_http::QueueSeen},
    engine::recovery::{Scene, StepEnd, by_hand, unread},
    model::{
        recovery::{Leftover, StepId, StepState},
        said::{Said, said},
        snapshot::RetryQueueSeen,
        time::Span,
        undo::ChangeIntent,
    },
};

use super::{backlog, rate::back_at, waiting};

/// One queue's switch, and how it was before.
pub(super) struct Switch<'a> {
    pub(super) url: String,
    pub(super) rate: f64,
    pub(super) within: Span,
    pub(super) before: &'a RetryQueueSeen,
}

impl Switch<'_> {
    pub(super) fn back_at(&self) -> u64 {
        back_at(self.before, self.rate)
    }

    pub(super) async fn read(&self, scene: &Scene, deadline: Instant) -> Result<QueueSeen, DriverError> {
        scene
            .persist(deadline, || scene.drivers.retry().read(&self.url))
            .await
    }

    /// Sets the switch, written down first, and sees that it stands so.
    pub(super) async fn set(&self, scene: &Scene, held: bool, rate: Option<f64>) -> Result<(), DriverError> {
        let deadline = scene.deadline();
        let change = ChangeIntent::RetryQueue {
            url: self.url.clone(),
            held: self.before.held,
            rate: self.before.rate,
            to: match (held, rate) {
                (true, _) => "held".to_owned(),
                (false, Some(rate)) => format!("let go at {rate}/s"),
                (false, None) => "let go without a limit".to_owned(),
            },
        };
        scene.bus.intend(change).await;
        scene
            .persist(deadline, || scene.drivers.retry().set(&self.url, held, rate))
            .await?;
        let now = self.read(scene, deadline).await?;
        if now.stands(held, rate) {
            return Ok(());
        }
        Err(DriverError::Conflict {
            what: format!("PUT {}", self.url),
            answer: format!(
                "accepted, but it reads {}",
                switch_stands(now.held, now.rate).en()
            ),
        })
    }

    fn by_hand(&self, held: bool, rate: Option<f64>) -> Option<String> {
        let body = serde_json::json!({"held": held, "rate": rate});
        Some(by_hand::curl_json("PUT", &self.url, &body))
    }

    fn put_back_by_hand(&self) -> Option<String> {
        self.by_hand(self.before.held, self.before.rate)
    }

    /// The same while more may wait than before: without its rate that would be the storm again.
    fn let_go_by_hand(&self) -> Option<String> {
        let back = self.put_back_by_hand()?;
        let is_slow = self.before.rate.is_some_and(|rate| rate <= self.rate);
        if self.before.held || is_slow {
            return Some(back);
        }
        let first = by_hand::once_guards_hold(&self.by_hand(false, Some(self.rate))?);
        let then = by_hand::once_back_at(self.back_at(), &back);
        Some(format!("{first}\n{then}"))
    }

    /// What is left of the queue's trouble at this reading.
    pub(super) fn leftover(&self, now: &QueueSeen) -> Option<Leftover> {
        let before = self.before;
        let switch = (!now.stands(before.held, before.rate))
            .then(|| said!(was = switch_stands(before.held, before.rate); "it was {was}", "原为 {was}"));
        let is_over = now.backlog > self.back_at();
        let over = is_over.then(|| waiting(now.backlog, before.backlog));
        let why: Vec<Said> = switch.into_iter().chain(over).collect();
        let what = said!(
            queue = self.what(), stands = switch_stands(now.held, now.rate);
            "{queue} ({stands})",
            "{queue}（{stands}）"
        );
        (!why.is_empty()).then(|| {
            let by_hand = match is_over {
                true => self.let_go_by_hand(),
                false => self.put_back_by_hand(),
            };
            Leftover::seen(StepId::Release, what, Said::sentences(&why), by_hand)
        })
    }

    pub(super) fn unread(&self, step: StepId, error: &DriverError) -> Leftover {
        unread(step, self.what(), error, self.let_go_by_hand())
    }

    fn what(&self) -> Said {
        let url = &self.url;
        said!("retry queue {url}", "重试队列 {url}")
    }
}

/// `held false, rate 200/s`.
fn switch_stands(held: bool, rate: Option<f64>) -> Said {
    let rate = rate.map_or_else(
        || said!("unlimited", "不限"),
        |rate| Said::as_it_is(format!("{rate}/s")),
    );
    let zh = if held { "已暂停" } else { "未暂停" };
    said!(rate, held = Said::new(held.to_string(), zh); "held {held}, rate {rate}", "{held}，限速 {rate}")
}

pub(super) async fn hold(scene: &Scene, queue: &Switch<'_>) -> Result<StepEnd, DriverError> {
    let now = queue.read(scene, scene.deadline()).await?;
    let backlog = backlog(now.backlog);
    if now.held {
        let detail = match queue.before.held {
            true => said!(backlog; "{backlog}, held before the drill", "{backlog}，演练前已暂停"),
            false => backlog,
        };
        return Ok(StepEnd::new(StepState::Held, detail));
    }
    if now.backlog <= queue.back_at() {
        return Ok(StepEnd::new(StepState::Nothing, backlog));
    }
    Ok(match queue.set(scene, true, now.rate).await {
        Ok(()) => StepEnd::new(StepState::Held, backlog),
        Err(error) => {
            let what = said!(
                queue = queue.what(), backlog;
                "{queue} is not held, {backlog}",
                "{queue} 未暂停，{backlog}"
            );
            let left = unread(StepId::Retry, what, &error, queue.by_hand(true, now.rate));
            StepEnd::failed(&error, left)
        }
    })
}

/// What is not as before, or cannot be read. A backlog that only wavers is looked at again.
pub(super) async fn not_as_before(scene: &Scene, queue: &Switch<'_>) -> Vec<Leftover> {
    let mut left = None;
    for _ in 0..5 {
        left = match queue.read(scene, scene.deadline()).await {
            Ok(now) => queue.leftover(&now),
            Err(error) => return vec![queue.unread(StepId::Release, &error)],
        };
        if left.is_none() {
            break;
        }
        scene.pause().await;
    }
    left.into_iter().collect()
}
