//! The gateway of Kubernetes: a pod is in a Service while its labels are those that the Service selects. Step 3 takes the
//! targets' pods out by one label; what differs from the snapshot is told by its value, whichever pod has it by then.

mod back;
mod before;
mod load;

pub(super) use self::back::back;
pub(in crate::engine::recovery) use self::before::read_serving;

use tokio::time::Instant;

use crate::{
    drivers::{
        error::DriverError,
        kubernetes::{Pod, Service, Write},
    },
    engine::recovery::{
        Scene, StepEnd, by_hand,
        pods::{PodPlace, missing_or_unready},
        together, unread,
    },
    model::{
        kubernetes::ServingSeen,
        playbook::PodGateway,
        recovery::{Leftover, StepId, StepState},
        said::{Said, said},
        undo::ChangeIntent,
    },
};

use self::{
    before::{by_label, is_in},
    load::Load,
};

/// The gateway of the playbook, and what the targets' pods were there before.
pub(super) struct PodDoor<'a> {
    pub(super) gateway: &'a PodGateway,
    pub(super) targets: Vec<PodTarget<'a>>,
}

/// One target's pod.
pub(super) struct PodTarget<'a> {
    pub(super) before: &'a ServingSeen,
    place: PodPlace<'a>,
    key: &'a str,
    out: &'a str,
}

/// What was read of one target.
type Look<'d, 'a> = (&'d PodTarget<'a>, Result<Pod, DriverError>);

impl<'a> PodDoor<'a> {
    /// # Errors
    /// [`DriverError::Place`] if the environment has no Kubernetes.
    pub(super) fn of(scene: &'a Scene, gateway: &'a PodGateway) -> Result<Self, DriverError> {
        let cluster = scene.drivers.kubernetes()?;
        let target = |before: &'a ServingSeen| PodTarget {
            place: PodPlace {
                cluster,
                namespace: before.pod.namespace.clone(),
                selector: before.selector.clone(),
            },
            key: &gateway.key,
            out: &gateway.out,
            before,
        };
        Ok(Self {
            gateway,
            targets: scene.snapshot.kubernetes.serving.iter().map(target).collect(),
        })
    }

    pub(super) async fn look(&self, scene: &Scene, deadline: Instant) -> Vec<Look<'_, 'a>> {
        let look = self.targets.iter().map(async |target| {
            let pod = scene.persist(deadline, || target.place.only()).await;
            (target, pod)
        });
        together(look).await
    }

    /// The Services that find the targets by the label.
    async fn services(&self, scene: &Scene, deadline: Instant) -> Result<Vec<Service>, DriverError> {
        let Some(PodTarget { place, .. }) = self.targets.first() else {
            return Ok(Vec::new());
        };
        let services = scene
            .persist(deadline, || place.cluster.services(&place.namespace))
            .await?;
        Ok(by_label(services, self.gateway))
    }
}

impl PodTarget<'_> {
    pub(super) fn name(&self) -> String {
        self.before.instance.to_string()
    }

    pub(super) fn is_as_before(&self, pod: &Pod) -> bool {
        pod.labels.get(self.key) == self.before.label.as_ref()
    }

    fn is_out(&self, pod: &Pod) -> bool {
        pod.labels.get(self.key).is_some_and(|value| value == self.out)
    }

    /// A value that nobody of this run has set: not touched. A successor has what its template gives it, mostly no such label.
    fn is_anothers(&self, pod: &Pod) -> Option<Said> {
        let now = pod.labels.get(self.key).map(String::as_str);
        let is_new = now.is_none() && pod.id.uid != self.before.pod.uid;
        let ours = is_new || now == Some(self.out) || now == self.before.label.as_deref();
        (!ours).then(|| {
            let (now, before) = (self.shown(now), self.shown(self.before.label.as_deref()));
            said!(
                now, before;
                "somebody else has changed it to {now} ({before} before the drill): not touched",
                "已被他人改为 {now}（演练前 {before}）：未动"
            )
        })
    }

    /// `serving=false`, or that there is no such label.
    pub(super) fn shown(&self, value: Option<&str>) -> Said {
        let key = self.key;
        match value {
            Some(value) => Said::as_it_is(format!("{key}={value}")),
            None => said!("no label {key}", "无标签 {key}"),
        }
    }

    /// That it takes no traffic yet.
    fn without_traffic(&self) -> Said {
        let name = &self.before.instance;
        said!("{name} has not its traffic back", "{name} 未放回流量")
    }

    pub(super) fn shown_of(&self, pod: &Pod) -> Said {
        self.shown(pod.labels.get(self.key).map(String::as_str))
    }

    /// What a person types to have the label as before.
    pub(super) fn by_hand(&self) -> String {
        self.set_by_hand(self.before.label.as_deref())
    }

    fn set_by_hand(&self, value: Option<&str>) -> String {
        let PodPlace {
            cluster,
            namespace,
            selector,
        } = &self.place;
        by_hand::kubernetes::set_label(cluster, namespace, selector, self.key, value)
    }

    pub(super) fn unread(&self, step: StepId, error: &DriverError) -> Leftover {
        let (key, instance) = (self.key, &self.before.instance);
        let what = said!("label {key} of {instance}'s pod", "{instance} 的 Pod 标签 {key}");
        match error {
            // It was read: there is none, or there are several.
            DriverError::NotThere { .. } | DriverError::Conflict { .. } => {
                Leftover::seen(step, what, error.said(), Some(self.by_hand()))
            }
            _ => unread(step, what, error, Some(self.by_hand())),
        }
    }

    pub(super) async fn pod(&self) -> Result<Pod, DriverError> {
        self.place.only().await
    }

    /// Sets the label of whichever pod the target has, writes that down first, and reads it back.
    pub(super) async fn set(
        &self,
        scene: &Scene,
        value: Option<&str>,
        deadline: Instant,
    ) -> Result<(), DriverError> {
        let mut intended = None;
        loop {
            let pod = scene.persist(deadline, || self.place.only()).await?;
            if pod.labels.get(self.key).map(String::as_str) == value {
                return Ok(());
            }
            if let Some(answer) = self.is_anothers(&pod) {
                let what = format!("label {} of {}", self.key, pod.id);
                let answer = answer.en().to_owned();
                return Err(DriverError::Conflict { what, answer });
            }
            if intended.as_ref() != Some(&pod.id) {
                let change = ChangeIntent::Label {
                    instance: self.before.instance.clone(),
                    pod: pod.id.clone(),
                    key: self.key.to_owned(),
                    before: self.before.label.clone(),
                    to: value.map(str::to_owned),
                };
                scene.bus.intend(change).await;
                intended = Some(pod.id.clone());
            }
            match self
                .place
                .cluster
                .set_label(&pod, self.key, value, Write::Store)
                .await
            {
                Ok(()) => {}
                // It has changed since it was read (its status does so often), or another has taken its place.
                Err(DriverError::Conflict { .. } | DriverError::NotThere { .. })
                    if Instant::now() < deadline => {}
                Err(error) if error.may_pass() && Instant::now() < deadline => {}
                Err(error) => return Err(error),
            }
            if Instant::now() >= deadline {
                return Err(DriverError::Conflict {
                    what: format!("label {} of {}", self.key, pod.id),
                    answer: "accepted, and not so when read back".into(),
                });
            }
            scene.pause().await;
        }
    }
}

/// Takes the targets' pods out of their Services, if the rest can carry the load.
pub(super) async fn drain(scene: &Scene, door: &PodDoor<'_>) -> StepEnd {
    if door.targets.is_empty() {
        return StepEnd::new(
            StepState::Nothing,
            said!(
                "not drained: the snapshot has no pod of the gateway",
                "未摘流：快照中没有网关的 Pod"
            ),
        );
    }
    let deadline = scene.deadline();
    let (mut lines, mut leftovers) = (Vec::new(), Vec::new());
    let mut found = Vec::new();
    for (target, look) in door.look(scene, deadline).await {
        match look {
            Ok(pod) => found.push((target, pod)),
            Err(error) => {
                lines.push(error.said());
                leftovers.push(target.unread(StepId::Drain, &error));
            }
        }
    }
    let services = match door.services(scene, deadline).await {
        Ok(services) => services,
        Err(error) => return unread_load(&error, lines, leftovers),
    };
    found.retain(|(_, pod)| is_in(&services, pod));
    if found.is_empty() {
        lines.push(said!(
            "the targets are in no Service already",
            "目标已不在任何 Service 中"
        ));
        return StepEnd::of(StepState::Nothing, Said::sentences(&lines), leftovers);
    }
    let uids: Vec<String> = found.iter().map(|(_, pod)| pod.id.uid.clone()).collect();
    let PodPlace {
        cluster, namespace, ..
    } = &door.targets[0].place;
    let read = || Load::read(cluster, namespace, services.clone(), uids.clone());
    let rest = match scene.persist(deadline, read).await.map(|load| load.rest()) {
        Ok(Ok(rest)) => rest,
        Ok(Err(why)) => {
            lines.push(not_drained(&why));
            return StepEnd::of(StepState::Nothing, Said::sentences(&lines), leftovers);
        }
        Err(error) => return unread_load(&error, lines, leftovers),
    };
    let out = Some(door.gateway.out.as_str());
    let set = found
        .iter()
        .map(async |(target, pod)| (target, pod, target.set(scene, out, deadline).await));
    for (target, pod, ended) in together(set).await {
        let pod_id = &pod.id;
        lines.push(said!(
            from = target.shown_of(pod), to = target.shown(out);
            "{pod_id} {from} → {to}",
            "{pod_id} {from} → {to}"
        ));
        if let Err(error) = ended {
            let name = target.name();
            let what = said!("{name} still takes traffic", "{name} 仍在接流量");
            leftovers.push(unread(StepId::Drain, what, &error, Some(target.set_by_hand(out))));
        }
    }
    lines.push(rest);
    StepEnd::of(StepState::Done, Said::sentences(&lines), leftovers)
}

/// Whether the rest can carry the load is not known: the targets stay in traffic, and nobody has found that well.
fn unread_load(error: &DriverError, mut lines: Vec<Said>, leftovers: Vec<Leftover>) -> StepEnd {
    lines.push(not_drained(&error.said()));
    StepEnd::of(StepState::Failed, Said::sentences(&lines), leftovers)
}

fn not_drained(why: &Said) -> Said {
    said!(why; "not drained: {why}", "未摘流：{why}")
}

/// Labels that are not as before, and pods that are missing or not Ready.
pub(super) async fn differences(scene: &Scene, door: &PodDoor<'_>, step: StepId) -> Vec<Leftover> {
    let mut left = Vec::new();
    for (target, look) in door.look(scene, scene.deadline()).await {
        match look {
            Err(error) => left.push(target.unread(step, &error)),
            Ok(pod) if !target.is_as_before(&pod) => {
                let (id, before) = (&pod.id, target.shown(target.before.label.as_deref()));
                let what = said!(label = target.shown_of(&pod); "{id}: {label}", "{id}：{label}");
                let why = target.is_anothers(&pod);
                let why =
                    why.unwrap_or_else(|| said!(before; "before the drill: {before}", "演练前：{before}"));
                let hand = match target.is_out(&pod) {
                    // All of its traffic comes at once.
                    true => by_hand::once_guards_hold(&target.by_hand()),
                    false => target.by_hand(),
                };
                left.push(Leftover::seen(step, what, why, Some(hand)));
            }
            Ok(_) => left.extend(missing_or_unready(scene, step, &target.place, target.before.ready).await),
        }
    }
    left
}
