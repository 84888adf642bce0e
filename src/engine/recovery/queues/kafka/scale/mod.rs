//! A retry topic held by scale: its consumers' Deployment goes to zero, and back to exactly what it was, with the quota of the
//! release set before the first of them comes.

pub(in crate::engine::recovery) mod before;

use tokio::time::Instant;

use crate::{
    drivers::{
        error::DriverError,
        kafka::Position,
        kubernetes::{Kubernetes, Pod, Scaled, Write},
    },
    engine::recovery::{Scene, StepEnd, by_hand, queues::backlog, unread},
    model::{
        kubernetes::ScaleSeen,
        playbook::{KafkaQueue, QueueHold},
        recovery::{Leftover, StepId, StepState},
        said::{Said, said},
        undo::ChangeIntent,
    },
};

use super::{COMMIT, Topic};

/// The consumers' Deployment, and how it was scaled before.
pub(in crate::engine::recovery::queues) struct Scale<'a> {
    cluster: &'a Kubernetes,
    before: &'a ScaleSeen,
}

/// How many of these pods are Running and Ready.
fn ready(pods: &[Pod]) -> u32 {
    pods.iter().filter(|p| p.is_ready).count() as u32
}

/// How the queue of the playbook is held by scale, if it is.
///
/// # Errors
/// [`DriverError`] if the environment has no Kubernetes, or the snapshot not the Deployment.
pub(in crate::engine::recovery::queues) fn scale<'a>(
    scene: &'a Scene,
    index: usize,
    queue: &KafkaQueue,
) -> Result<Option<Scale<'a>>, DriverError> {
    let QueueHold::Scale { deployment, .. } = &queue.hold else {
        return Ok(None);
    };
    let before = scene.snapshot.kubernetes.scales.iter().find(|s| s.entry == index);
    let before = before.ok_or_else(|| DriverError::Conflict {
        what: format!("deployment {deployment}"),
        answer: "the snapshot does not have it: untouched".into(),
    })?;
    let cluster = scene.drivers.kubernetes()?;
    Ok(Some(Scale { cluster, before }))
}

impl Scale<'_> {
    fn what(&self) -> Said {
        let ScaleSeen {
            namespace,
            deployment,
            ..
        } = self.before;
        said!(
            "deployment {namespace}/{deployment}",
            "工作负载 {namespace}/{deployment}"
        )
    }

    fn by_hand(&self) -> String {
        let ScaleSeen {
            namespace,
            deployment,
            replicas,
            ..
        } = self.before;
        by_hand::kubernetes::scale(self.cluster, namespace, deployment, *replicas)
    }

    async fn now(&self, scene: &Scene, deadline: Instant) -> Result<Scaled, DriverError> {
        let ScaleSeen {
            namespace,
            deployment,
            ..
        } = self.before;
        scene
            .persist(deadline, || self.cluster.scale(namespace, deployment))
            .await
    }

    /// What nobody of this run has set: not touched.
    fn is_anothers(&self, now: &Scaled) -> Option<Said> {
        let ScaleSeen { uid, replicas, .. } = self.before;
        if now.uid != *uid {
            return Some(said!(
                "it is another one than before the drill, of the same name",
                "已非演练前的那个，只是同名"
            ));
        }
        (now.replicas != 0 && now.replicas != *replicas).then(|| {
            let now = now.replicas;
            said!(
                "somebody else has scaled it to {now} ({replicas} before the drill): not touched",
                "已被他人扩缩为 {now}（演练前 {replicas}）：未动"
            )
        })
    }

    /// Scales it to what is meant, writes that down first, and reads it back. Never over what somebody else has set.
    async fn set(&self, scene: &Scene, to: u32, deadline: Instant) -> Result<(), DriverError> {
        let ScaleSeen {
            namespace,
            deployment,
            replicas,
            ..
        } = self.before;
        let mut intended = false;
        loop {
            let now = self.now(scene, deadline).await?;
            let conflict = |answer: String| DriverError::Conflict {
                what: self.what().en().to_owned(),
                answer,
            };
            if let Some(why) = self.is_anothers(&now) {
                return Err(conflict(why.en().to_owned()));
            }
            if now.replicas == to {
                return Ok(());
            }
            if !intended {
                let change = ChangeIntent::Scale {
                    namespace: namespace.clone(),
                    deployment: deployment.clone(),
                    before: *replicas,
                    to,
                };
                scene.bus.intend(change).await;
                intended = true;
            }
            match self
                .cluster
                .set_scale(namespace, deployment, &now, to, Write::Store)
                .await
            {
                // Its status changes as its pods come and go: read again.
                Ok(_) | Err(DriverError::Conflict { .. }) => {}
                Err(error) if error.may_pass() => {}
                Err(error) => return Err(error),
            }
            if Instant::now() >= deadline {
                return Err(conflict(format!(
                    "to be scaled to {to}, and not so when read back"
                )));
            }
            scene.pause().await;
        }
    }

    /// What is not as before. Its consumers find what waits, if the topic is not back.
    pub(super) async fn differences(&self, scene: &Scene, is_back: bool) -> Vec<Leftover> {
        let by_hand = match is_back {
            true => self.by_hand(),
            false => by_hand::all_at_once(&self.by_hand()),
        };
        let (step, hand) = (StepId::Release, Some(by_hand));
        let before = self.before.replicas;
        match self.now(scene, scene.deadline()).await {
            Err(error @ DriverError::NotThere { .. }) => {
                vec![Leftover::seen(step, self.what(), error.said(), None)]
            }
            Err(error) => vec![unread(step, self.what(), &error, hand)],
            Ok(now) if now.uid != self.before.uid || now.replicas != before => {
                let why = self.is_anothers(&now);
                let was = || said!("{before} before the drill", "演练前 {before} 副本");
                let (why, replicas) = (why.unwrap_or_else(was), now.replicas);
                let what =
                    said!(what = self.what(); "{what}: {replicas} replicas", "{what}：{replicas} 副本");
                vec![Leftover::seen(step, what, why, hand)]
            }
            Ok(now) => match self.unready(scene, &now).await {
                Ok(None) => Vec::new(),
                Ok(Some(why)) => vec![Leftover::seen(step, self.what(), why, None)],
                Err(error) => {
                    let what = said!(what = self.what(); "the pods of {what}", "{what} 的 Pod");
                    vec![unread(step, what, &error, None)]
                }
            },
        }
    }

    /// How many pods have not ended. What has ended (one that was evicted stays listed) consumes nothing.
    async fn pods_left(&self, now: &Scaled) -> usize {
        match self.cluster.pods(&self.before.namespace, &now.selector).await {
            Ok(pods) => pods.iter().filter(|pod| !pod.has_ended()).count(),
            Err(_) => now.running as usize,
        }
    }

    /// Fewer Ready pods than before the drill: as many replicas are asked for, and do not consume.
    async fn unready(&self, scene: &Scene, now: &Scaled) -> Result<Option<Said>, DriverError> {
        let pods = scene
            .persist(scene.deadline(), || {
                self.cluster.pods(&self.before.namespace, &now.selector)
            })
            .await?;
        let (ready, before) = (ready(&pods), self.before.ready);
        Ok((ready < before).then(|| {
            said!(
                "{ready} of its pods are Ready, {before} before the drill",
                "Ready 的 Pod {ready} 个，演练前 {before} 个"
            )
        }))
    }

    /// Waits until as many pods are Ready as before the drill, or the step's patience is over: the last look tells.
    pub(super) async fn wait_for_ready(&self, scene: &Scene, so_far: &Said) -> Result<(), DriverError> {
        let deadline = scene.deadline();
        while Instant::now() < deadline {
            let now = self.now(scene, deadline).await?;
            let Some(why) = self.unready(scene, &now).await? else {
                break;
            };
            let detail = said!(
                so_far, what = self.what(), why;
                "{so_far}; {what}: {why}",
                "{so_far}；{what}：{why}"
            );
            scene.waiting(StepId::Release, detail);
            scene.pause().await;
        }
        Ok(())
    }
}

/// Holds the topic if its backlog has grown: no replica, no pod, and the group stands still.
pub(super) async fn hold(
    scene: &Scene,
    topic: &Topic<'_>,
    scale: &Scale<'_>,
) -> Result<StepEnd, DriverError> {
    let now = topic.settled(scene).await?;
    let first = backlog(now.backlog());
    if now.backlog() <= topic.back_at() {
        return Ok(StepEnd::new(StepState::Nothing, first));
    }
    let (what, was) = (scale.what(), scale.before.replicas);
    if was == 0 {
        let detail = said!(
            first, what;
            "{first}; {what} was at 0 replicas before the drill: nobody consumes it",
            "{first}；{what} 演练前为 0 副本：无人消费"
        );
        return Ok(StepEnd::new(StepState::Nothing, detail));
    }
    let detail = said!(first, what; "{first}; {what} {was} → 0", "{first}；{what} {was} → 0");
    scene.working(StepId::Retry, detail);
    let deadline = scene.deadline();
    if let Err(error) = scale.set(scene, 0, deadline).await {
        let left = unread(StepId::Retry, not_held(topic, &first), &error, None);
        return Ok(StepEnd::failed(&error, left));
    }
    // Pods have half a minute to end, unless they say otherwise.
    let deadline = Instant::now() + 3 * std::time::Duration::from(scene.drivers.patience().step);
    let mut still_since: Option<(Instant, Position)> = None;
    loop {
        let pods = scale.now(scene, deadline).await?;
        let left = scale.pods_left(&pods).await;
        let now = topic.position(scene).await?;
        let (at, from) = still_since.get_or_insert_with(|| (Instant::now(), now.clone()));
        if left > 0 || now.moved_since(from) > 0 {
            (*at, *from) = (Instant::now(), now.clone());
        }
        let backlog = backlog(now.backlog());
        if at.elapsed() >= COMMIT {
            let seconds = COMMIT.as_secs();
            let detail = said!(
                backlog, what;
                "{backlog}, no progress for {seconds} s; {what} {was} → 0, no pod is left",
                "{backlog}，已停 {seconds} 秒；{what} {was} → 0，无 Pod 残留"
            );
            return Ok(StepEnd::new(StepState::Held, detail));
        }
        if Instant::now() >= deadline {
            let why = match left {
                0 => said!(
                    what;
                    "{what} has no pod, and the group goes on: other consumers are in it",
                    "{what} 已无 Pod，消费组仍在消费：组内另有消费者"
                ),
                n => said!(
                    what;
                    "{what} is at 0 replicas, and {n} of its pods have not ended",
                    "{what} 已为 0 副本，仍有 {n} 个 Pod 未结束"
                ),
            };
            let left = Leftover::seen(StepId::Retry, not_held(topic, &backlog), why.clone(), None);
            return Ok(StepEnd::of(StepState::Failed, why, vec![left]));
        }
        scene.working(
            StepId::Retry,
            said!(
                backlog, what;
                "{backlog}; {what} {was} → 0, {left} pods left",
                "{backlog}；{what} {was} → 0，剩 {left} 个 Pod"
            ),
        );
        scene.pause().await;
    }
}

fn not_held(topic: &Topic<'_>, backlog: &Said) -> Said {
    said!(
        topic = topic.what(), backlog;
        "{topic} is not held, {backlog}",
        "{topic} 未暂停，{backlog}"
    )
}

/// Brings the consumers back, as many as there were. With a backlog they find a quota that lets it go at its rate from the first
/// message on. An end, if there is nothing to let go.
pub(super) async fn let_go(
    scene: &Scene,
    topic: &Topic<'_>,
    scale: &Scale<'_>,
    now: &Position,
) -> Result<Option<StepEnd>, DriverError> {
    let was = scale.before.replicas;
    let is_over = now.backlog() > topic.back_at();
    if was == 0 && is_over {
        let detail = said!(
            backlog = backlog(now.backlog()), what = scale.what();
            "{backlog}; {what} was at 0 replicas before the drill and stays so: nothing is let go",
            "{backlog}；{what} 演练前即为 0 副本，保持不变：不放行"
        );
        let left = topic.differences(scene, now).await;
        return Ok(Some(StepEnd::of(StepState::Nothing, detail, left)));
    }
    let deadline = scene.deadline();
    if is_over && scale.now(scene, deadline).await?.replicas == 0 {
        let bytes = topic.queue.rate * topic.weight(now).await.message;
        topic.limit(scene, bytes).await?;
    }
    let detail = said!(what = scale.what(); "{what} 0 → {was}", "{what} 0 → {was}");
    scene.working(StepId::Release, detail);
    scale.set(scene, was, deadline).await?;
    Ok(None)
}
