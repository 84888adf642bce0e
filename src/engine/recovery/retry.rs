//! Steps 4 and 7: retry queues held while the rest recovers, then let go at their rate until the backlog is back
//! where it was, and the switch as it stood.

use tokio::time::Instant;

use crate::{
    drivers::{error::DriverError, place::Fill, retry_http::QueueSeen},
    model::{
        amount::thousands,
        playbook::RetryQueue,
        recovery::{Leftover, StepId, StepState},
        snapshot::RetryQueueSeen,
        time::Span,
        undo::ChangeIntent,
    },
};

use super::{Scene, StepEnd, by_hand, elapsed, seen, together, unread};

/// One queue, and how it was before.
pub(super) struct Queue<'a> {
    url: String,
    rate: f64,
    within: Span,
    before: &'a RetryQueueSeen,
}

impl Queue<'_> {
    /// A backlog is back where it was below this: what a tenth of a second lets go is on its way, not waiting.
    pub(super) fn back_at(&self) -> u64 {
        let moving = (self.rate / 10.0).ceil() as u64;
        self.before.backlog + moving.max(self.before.backlog / 10)
    }

    async fn read(&self, scene: &Scene, deadline: Instant) -> Result<QueueSeen, DriverError> {
        scene
            .persist(deadline, || scene.drivers.retry().read(&self.url))
            .await
    }

    /// Sets the switch, written down first, and sees that it stands so.
    async fn set(&self, scene: &Scene, held: bool, rate: Option<f64>) -> Result<(), DriverError> {
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
            answer: format!("accepted, but it reads held {}, rate {:?}", now.held, now.rate),
        })
    }

    fn by_hand(&self, held: bool, rate: Option<f64>) -> Option<String> {
        let body = serde_json::json!({"held": held, "rate": rate});
        Some(by_hand::curl_json("PUT", &self.url, &body))
    }

    fn put_back_by_hand(&self) -> Option<String> {
        self.by_hand(self.before.held, self.before.rate)
    }

    /// What is left of the queue's trouble at this reading.
    fn leftover(&self, now: &QueueSeen) -> Option<Leftover> {
        let switch = (!now.stands(self.before.held, self.before.rate)).then(|| {
            format!(
                "it was held {}, rate {}",
                self.before.held,
                limit(self.before.rate)
            )
        });
        let over = (now.backlog > self.back_at()).then(|| {
            format!(
                "{} waiting, {} before",
                count(now.backlog),
                count(self.before.backlog)
            )
        });
        let why: Vec<String> = switch.into_iter().chain(over).collect();
        let what = format!(
            "retry queue {} (held {}, rate {})",
            self.url,
            now.held,
            limit(now.rate)
        );
        (!why.is_empty()).then(|| seen(StepId::Release, what, why.join("; "), self.put_back_by_hand()))
    }

    fn unread(&self, step: StepId, error: &DriverError) -> Leftover {
        unread(
            step,
            format!("retry queue {}", self.url),
            error,
            self.put_back_by_hand(),
        )
    }
}

fn limit(rate: Option<f64>) -> String {
    rate.map_or_else(|| "unlimited".to_owned(), |r| format!("{r}/s"))
}

fn count(n: u64) -> String {
    thousands(n as f64)
}

/// The queues of the playbook that the snapshot knows; an error for those it does not, or whose address is none.
fn queues(scene: &Scene) -> Vec<Result<Queue<'_>, DriverError>> {
    let playbook = scene.plan.drill.recovery.retry_queues.iter().enumerate();
    playbook
        .map(|(index, queue)| {
            let RetryQueue::Http { url, rate, within } = queue;
            let url = scene.drivers.places().fill(url, Fill::default())?;
            let before = scene.snapshot.retry_queues.iter().find(|q| q.entry == index);
            let before = before.ok_or_else(|| DriverError::Conflict {
                what: format!("retry queue {url}"),
                answer: "the snapshot does not have it: untouched".into(),
            })?;
            Ok(Queue {
                url,
                rate: *rate,
                within: *within,
                before,
            })
        })
        .collect()
}

fn unknown(step: StepId, error: &DriverError) -> StepEnd {
    let leftover = unread(step, "retry queue".into(), error, None);
    StepEnd::of(StepState::Failed, error.to_string(), vec![leftover])
}

fn joined(ends: Vec<StepEnd>) -> StepEnd {
    ends.into_iter().fold(StepEnd::absent(), StepEnd::and)
}

/// Holds every queue whose backlog the drill has grown.
pub async fn hold_retry(scene: &Scene) -> StepEnd {
    let hold = async |queue: Result<Queue<'_>, DriverError>| match queue {
        Ok(queue) => hold_one(scene, &queue).await,
        Err(error) => unknown(StepId::Retry, &error),
    };
    joined(together(queues(scene).into_iter().map(hold)).await)
}

async fn hold_one(scene: &Scene, queue: &Queue<'_>) -> StepEnd {
    let now = match queue.read(scene, scene.deadline()).await {
        Ok(now) => now,
        Err(error) => {
            let leftover = queue.unread(StepId::Retry, &error);
            return StepEnd::of(StepState::Failed, error.to_string(), vec![leftover]);
        }
    };
    let backlog = format!("backlog {}", count(now.backlog));
    if now.held {
        let note = if queue.before.held {
            ", held before the drill"
        } else {
            ""
        };
        return StepEnd::new(StepState::Held, format!("{backlog}{note}"));
    }
    if now.backlog <= queue.back_at() {
        return StepEnd::new(StepState::Nothing, backlog);
    }
    match queue.set(scene, true, now.rate).await {
        Ok(()) => StepEnd::new(StepState::Held, backlog),
        Err(error) => {
            let what = format!("retry queue {} is not held, {backlog}", queue.url);
            let leftover = unread(StepId::Retry, what, &error, queue.by_hand(true, now.rate));
            StepEnd::of(StepState::Failed, error.to_string(), vec![leftover])
        }
    }
}

/// Lets every queue go at its rate until its backlog is back where it was, then sets the switch as it stood.
pub async fn release_retry(scene: &Scene) -> StepEnd {
    let release = async |queue: Result<Queue<'_>, DriverError>| match queue {
        Ok(queue) => release_one(scene, &queue).await.unwrap_or_else(|error| {
            let leftover = queue.unread(StepId::Release, &error);
            StepEnd::of(StepState::Failed, error.to_string(), vec![leftover])
        }),
        Err(error) => unknown(StepId::Release, &error),
    };
    joined(together(queues(scene).into_iter().map(release)).await)
}

async fn release_one(scene: &Scene, queue: &Queue<'_>) -> Result<StepEnd, DriverError> {
    let first = queue.read(scene, scene.deadline()).await?;
    if queue.leftover(&first).is_none() {
        return Ok(StepEnd::new(
            StepState::Nothing,
            format!("backlog {}, as before", count(first.backlog)),
        ));
    }
    let mut followed = String::new();
    // A queue that was held before the drill is not let go by it.
    if first.backlog > queue.back_at() && !queue.before.held {
        let (arrived, detail) = follow(scene, queue, first).await?;
        if !arrived {
            // Letting it go without its rate now would be the storm again: it goes on at the playbook's rate.
            let now = queue.read(scene, scene.deadline()).await?;
            let leftovers = queue.leftover(&now).into_iter().collect();
            return Ok(StepEnd::of(StepState::Failed, detail, leftovers));
        }
        followed = detail;
    }
    let now = queue.read(scene, scene.deadline()).await?;
    if !now.stands(queue.before.held, queue.before.rate) {
        queue.set(scene, queue.before.held, queue.before.rate).await?;
    }
    let end = queue.read(scene, scene.deadline()).await?;
    if followed.is_empty() {
        followed = format!("backlog {}", count(end.backlog));
    }
    Ok(StepEnd::of(
        StepState::Done,
        followed,
        queue.leftover(&end).into_iter().collect(),
    ))
}

/// Follows the backlog down; holds again while a guard is bad. Tells whether it arrived, and the measured rate.
async fn follow(scene: &Scene, queue: &Queue<'_>, first: QueueSeen) -> Result<(bool, String), DriverError> {
    let begin = Instant::now();
    let deadline = begin + queue.within.into();
    queue.set(scene, false, Some(queue.rate)).await?;
    let mut paced = Pace::starting(queue.read(scene, scene.deadline()).await?);
    loop {
        let now = queue.read(scene, scene.deadline()).await?;
        let detail = format!(
            "backlog {} → {} at {} of {}/s",
            count(first.backlog),
            count(now.backlog),
            paced.measured(now),
            queue.rate
        );
        if now.backlog <= queue.back_at() {
            return Ok((
                true,
                format!("{detail} in {}", Span::seconds(elapsed(begin).0 / 1000)),
            ));
        }
        if Instant::now() >= deadline {
            return Ok((
                false,
                format!(
                    "{detail}; not back at {} within {}",
                    count(queue.back_at()),
                    queue.within
                ),
            ));
        }
        scene.waiting(StepId::Release, detail);
        if let Some(which) = scene.bus.guard_holds() {
            paced.rest(now);
            queue.set(scene, true, Some(queue.rate)).await?;
            while scene.bus.guard_holds().is_some() && Instant::now() < deadline {
                scene.waiting(StepId::Release, format!("held again, the guard is bad: {which}"));
                scene.pause().await;
            }
            queue.set(scene, false, Some(queue.rate)).await?;
            paced.go_on(queue.read(scene, scene.deadline()).await?);
        }
        scene.pause().await;
    }
}

/// Measures the rate over the time in which the queue was really let go.
struct Pace {
    since: Instant,
    from: u64,
    earlier: (f64, u64),
}

impl Pace {
    fn starting(now: QueueSeen) -> Self {
        Self {
            since: Instant::now(),
            from: now.released,
            earlier: (0.0, 0),
        }
    }

    fn total(&self, now: QueueSeen) -> (f64, u64) {
        let seconds = self.since.elapsed().as_secs_f64();
        (
            self.earlier.0 + seconds,
            self.earlier.1 + now.released.saturating_sub(self.from),
        )
    }

    fn rest(&mut self, now: QueueSeen) {
        self.earlier = self.total(now);
    }

    fn go_on(&mut self, now: QueueSeen) {
        (self.since, self.from) = (Instant::now(), now.released);
    }

    fn measured(&self, now: QueueSeen) -> String {
        match self.total(now) {
            (seconds, released) if seconds >= 0.2 => format!("{:.1}/s measured", released as f64 / seconds),
            _ => "a rate not measured yet".to_owned(),
        }
    }
}

/// Queues that are not as before, or cannot be read. A backlog that only wavers is looked at again.
pub(super) async fn not_as_before(scene: &Scene) -> Vec<Leftover> {
    let look = async |queue: Result<Queue<'_>, DriverError>| {
        let queue = match queue {
            Ok(queue) => queue,
            Err(error) => return unknown(StepId::Release, &error).leftovers,
        };
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
    };
    together(queues(scene).into_iter().map(look))
        .await
        .into_iter()
        .flatten()
        .collect()
}

/// Messages over where the backlogs were, and what could not be read.
pub(super) async fn backlog_over(scene: &Scene) -> (u64, Vec<String>) {
    let look = async |queue: Result<Queue<'_>, DriverError>| {
        let queue = queue?;
        let now = queue.read(scene, scene.deadline()).await?;
        let over = now.backlog.saturating_sub(queue.back_at());
        Ok::<u64, DriverError>(over)
    };
    let (mut over, mut unknown) = (0, Vec::new());
    for one in together(queues(scene).into_iter().map(look)).await {
        match one {
            Ok(n) => over += n,
            Err(error) => unknown.push(error.to_string()),
        }
    }
    (over, unknown)
}
