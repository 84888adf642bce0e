//! Step 6 for pods: labels as before once a pod is Ready, all at once, held and watched. A label knows no 10 %.

use tokio::time::Instant;

use crate::{
    engine::recovery::{
        Scene, StepEnd,
        by_hand::once_guards_hold,
        elapsed,
        gateway::held::{CORRECTIONS, Held, InPlace, TRIES, Watched, is_calm_again, is_calm_before},
        together, unread,
    },
    model::{
        amount::Share,
        recovery::{Leftover, StepId, StepState},
        said::{Said, said},
        time::Span,
    },
};

use super::{PodDoor, PodTarget};

/// Brings the targets' pods back into their Services.
pub(in crate::engine::recovery::gateway) async fn back(scene: &Scene, door: &PodDoor<'_>) -> StepEnd {
    let begin = Instant::now();
    let mut way = Way::default();
    for (target, look) in door.look(scene, scene.deadline()).await {
        match look {
            Ok(pod) if target.is_as_before(&pod) => {}
            Ok(_) => way.rising.push(target),
            Err(error) => {
                way.notes.push(error.said());
                way.lost.push(target.unread(StepId::Traffic, &error));
            }
        }
    }
    if way.rising.is_empty() && way.lost.is_empty() {
        return StepEnd::new(
            StepState::Nothing,
            said!("labels are as before", "标签与演练前一致"),
        );
    }
    way.wait_for_ready(scene).await;
    if !way.rising.is_empty() {
        way.up(scene, door).await;
    }
    let label = |t: &&PodTarget<'_>| {
        let (name, label) = (t.name(), t.shown(t.before.label.as_deref()));
        said!(label; "{name} {label}", "{name} {label}")
    };
    let labels: Vec<Said> = way.rising.iter().map(label).collect();
    if !labels.is_empty() {
        let took = Span::seconds(elapsed(begin).0 / 1000);
        let back = said!(
            labels = Said::list(&labels);
            "{labels} in {took}, 0 → 100 % at once",
            "{labels}，用时 {took}，一次 0 → 100 %"
        );
        way.notes.insert(0, back);
    }
    StepEnd::of(StepState::Done, Said::sentences(&way.notes), way.lost)
}

/// The way back.
#[derive(Default)]
struct Way<'d, 'a> {
    rising: Vec<&'d PodTarget<'a>>,
    notes: Vec<Said>,
    lost: Vec<Leftover>,
}

impl Way<'_, '_> {
    fn lose(&mut self, name: &str, left: Leftover) {
        self.rising.retain(|t| t.name() != name);
        self.notes
            .push(said!(what = left.what, why = left.why; "{what}: {why}", "{what}：{why}"));
        self.lost.push(left);
    }

    /// A pod that was Ready before must be so again first. One that is not is kept out: it would be in no Service anyway.
    async fn wait_for_ready(&mut self, scene: &Scene) {
        let deadline = scene.deadline();
        loop {
            let looks = together(self.rising.iter().map(async |t| (*t, t.pod().await))).await;
            let mut waiting = Vec::new();
            for (target, look) in looks {
                match look {
                    Ok(pod) if pod.is_ready || !target.before.ready => {}
                    Ok(pod) => {
                        let (pod, state) = (&pod.id, pod.state());
                        waiting.push((target, said!("{pod} is {state}", "{pod} 为 {state}")));
                    }
                    Err(error) => waiting.push((target, error.said())),
                }
            }
            let Some((_, first)) = waiting.first() else { return };
            if Instant::now() >= deadline {
                for (target, why) in waiting {
                    let what = target.without_traffic();
                    let left = Leftover::seen(StepId::Traffic, what, why, Some(target.by_hand()));
                    self.lose(&target.name(), left);
                }
                return;
            }
            let detail = said!(first; "before traffic returns: {first}", "放流前：{first}");
            scene.waiting(StepId::Traffic, detail);
            scene.pause().await;
        }
    }

    async fn up(&mut self, scene: &Scene, door: &PodDoor<'_>) {
        let is_calm = is_calm_before(scene, &mut self.notes).await;
        for nth in 1.. {
            self.set(scene).await;
            let Watched::Bad(which) = self.hold(scene, door).await else {
                return;
            };
            if !is_calm {
                return;
            }
            self.notes.push(said!(
                which;
                "with its traffic back the guard was bad: {which}",
                "放流后守护越限：{which}"
            ));
            self.step_back(scene, door).await;
            if nth >= TRIES || !is_calm_again(scene).await {
                for target in std::mem::take(&mut self.rising) {
                    let what = target.without_traffic();
                    let why = said!(which; "the guard is bad with it: {which}", "放流即守护越限：{which}");
                    let hand = once_guards_hold(&target.by_hand());
                    self.lost
                        .push(Leftover::seen(StepId::Traffic, what, why, Some(hand)));
                }
                return;
            }
        }
    }

    async fn set(&mut self, scene: &Scene) {
        let set = self.rising.iter().map(async |t| {
            let deadline = scene.deadline();
            (*t, t.set(scene, t.before.label.as_deref(), deadline).await)
        });
        for (target, ended) in together(set).await {
            if let Err(error) = ended {
                let what = target.without_traffic();
                let left = unread(StepId::Traffic, what, &error, Some(target.by_hand()));
                self.lose(&target.name(), left);
            }
        }
    }

    async fn step_back(&mut self, scene: &Scene, door: &PodDoor<'_>) {
        let out = Some(door.gateway.out.as_str());
        let set = self
            .rising
            .iter()
            .map(async |t| (*t, t.set(scene, out, scene.deadline()).await));
        for (target, ended) in together(set).await {
            if ended.is_err() {
                // The final read shows how it stands.
                let name = target.name();
                self.notes.push(said!(
                    "{name} could not be taken out again",
                    "{name} 未能再次摘出"
                ));
            }
        }
    }

    /// Holds for the gateway's time, with the labels that were set.
    async fn hold(&mut self, scene: &Scene, door: &PodDoor<'_>) -> Watched {
        let mut held = Held::starting(door.gateway.hold, scene.drivers.patience().step);
        let mut corrections = 0;
        loop {
            let in_place = self.is_in_place(scene, &mut corrections, &mut held).await;
            if let Some(watched) = held.outcome(scene, in_place) {
                return watched;
            }
            held.wait(scene, Share::ALL).await;
        }
    }

    /// Reads the labels, puts right what is not as set, and tells whether all were seen as set.
    async fn is_in_place(&mut self, scene: &Scene, corrections: &mut u32, held: &mut Held) -> InPlace {
        let mut all = true;
        for (target, look) in together(self.rising.iter().map(async |t| (*t, t.pod().await))).await {
            let what = target.without_traffic();
            match look {
                Ok(pod) if target.is_as_before(&pod) => held.seen(&target.name()),
                Ok(pod) => {
                    all = false;
                    held.seen(&target.name());
                    *corrections += 1;
                    let (pod, label) = (&pod.id, target.shown_of(&pod));
                    let found = said!(label; "{pod} had {label}", "{pod} 曾为 {label}");
                    let before = target.before.label.as_deref();
                    if *corrections > CORRECTIONS {
                        let why = said!(
                            found;
                            "{found}: something else changes it",
                            "{found}：有别处在改"
                        );
                        self.lose(
                            &target.name(),
                            Leftover::seen(StepId::Traffic, what, why, Some(target.by_hand())),
                        );
                    } else if let Err(error) = target.set(scene, before, scene.deadline()).await {
                        let left = unread(StepId::Traffic, what, &error, Some(target.by_hand()));
                        self.lose(&target.name(), left);
                    } else {
                        self.notes
                            .push(said!(found; "{found}: put right", "{found}：已改正"));
                    }
                    held.begin_anew();
                }
                Err(error) => {
                    all = false;
                    if held.is_lost(&target.name()) {
                        self.lose(&target.name(), target.unread(StepId::Traffic, &error));
                    }
                }
            }
        }
        InPlace::of(&self.rising, all)
    }
}
