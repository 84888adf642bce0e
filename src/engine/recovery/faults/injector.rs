//! Step 2: everything with the run's mark at the injectors, also what the journal does not know. Foreign things are
//! named and left alone.

use std::collections::BTreeSet;

use crate::{
    drill::faults,
    drivers::{error::DriverError, point::RuleSeen},
    engine::recovery::{Scene, StepEnd, unread},
    model::{
        ids::InstanceName,
        plan::Plan,
        recovery::{Leftover, StepId, StepState},
        said::{Said, said},
    },
};

use super::{
    by_hand_run, no_answer_yet,
    silent::{Silence, together_but_for_the_silent},
};

/// How many foreign rules are named in a line.
const NAMED: usize = 3;

/// Every instance that a fault of the drill may hit, each once.
pub(in crate::engine::recovery) fn injectors(plan: &Plan) -> BTreeSet<InstanceName> {
    faults::aims(plan).map(|aim| aim.instance.clone()).collect()
}

/// Clears what carries the run's mark on every instance that a fault may have hit.
pub async fn injector(scene: &Scene) -> StepEnd {
    let instances = injectors(&scene.plan);
    if instances.is_empty() {
        let none = said!("the drill uses no injector", "演练未用注入器");
        return StepEnd::new(StepState::Nothing, none);
    }
    let all = instances.len();
    scene.working(StepId::Injector, said!("{all} instances", "{all} 个实例"));
    let parts = instances.iter().map(|instance| {
        let silence = Silence::default();
        (silence.clone(), clear(scene, instance, silence))
    });
    let go_on = |so_far: &[Option<Result<Cleared, Box<Leftover>>>]| {
        let silent = instances.iter().zip(so_far).filter(|(_, end)| end.is_none());
        let silent: Vec<&InstanceName> = silent.map(|(instance, _)| instance).collect();
        scene
            .bus
            .go_on(StepId::Injector, but_for_the_silent(scene, &silent));
    };
    let cleared = together_but_for_the_silent(parts.collect(), go_on).await;
    let (mut removed, mut foreign, mut leftovers) = (0, Vec::new(), Vec::new());
    for one in cleared {
        match one {
            Ok(found) => {
                removed += found.removed;
                foreign.extend(found.foreign);
            }
            Err(leftover) => leftovers.push(*leftover),
        }
    }
    let mut detail = said!("{removed} ours removed", "已清本演练 {removed} 条");
    if !foreign.is_empty() {
        let (count, named) = (foreign.len(), Said::list(foreign.iter().take(NAMED)));
        let untouched = said!(named; "{count} foreign untouched: {named}", "外来 {count} 条未动：{named}");
        detail = detail.and(&untouched);
    }
    if !leftovers.is_empty() {
        let left = leftovers.len();
        detail = detail.and(&said!("{left} of {all} not cleared", "{left}/{all} 个实例未清"));
    }
    let well = if removed == 0 {
        StepState::Nothing
    } else {
        StepState::Done
    };
    StepEnd::of(well, detail, leftovers)
}

struct Cleared {
    removed: usize,
    foreign: Vec<Said>,
}

/// How the step stands while it waits only for instances that do not answer.
fn but_for_the_silent(scene: &Scene, silent: &[&InstanceName]) -> StepEnd {
    let left = silent.iter().map(|instance| {
        let base = scene.drivers.point_base(instance).ok();
        let by_hand = base.map(|base| by_hand_run(scene, &base));
        Leftover::unknown(
            StepId::Injector,
            rules_of_the_run(scene, instance),
            no_answer_yet(),
            by_hand,
        )
    });
    let names: Vec<&str> = silent.iter().map(|i| i.as_str()).collect();
    let names = names.join(", ");
    StepEnd {
        state: StepState::Waiting,
        detail: said!(
            "no answer yet from {names}, tried again beside",
            "{names} 尚无应答，另行重试"
        ),
        leftovers: left.collect(),
        gone: Vec::new(),
    }
}

pub(in crate::engine::recovery) fn rules_of_the_run(scene: &Scene, instance: &InstanceName) -> Said {
    let run = &scene.plan.run;
    said!(
        "rules of run {run} on {instance}",
        "{instance} 上演练 {run} 的规则"
    )
}

async fn clear(scene: &Scene, instance: &InstanceName, silence: Silence) -> Result<Cleared, Box<Leftover>> {
    silence.begins();
    let step = StepId::Injector;
    let what = || rules_of_the_run(scene, instance);
    let base = scene
        .drivers
        .point_base(instance)
        .map_err(|e| unread(step, what(), &e.into(), None))?;
    let hand = || Some(by_hand_run(scene, &base));
    let deadline = scene.deadline();
    let mut removed = BTreeSet::new();
    let mut refusal: Option<DriverError> = None;
    loop {
        let look = async || {
            let rules = scene.drivers.point().rules(&base).await;
            silence.note(&rules);
            rules
        };
        let read = scene.persist(deadline, look).await;
        let rules = read.map_err(|e| unread(step, what(), &e, hand()))?;
        let (ours, foreign) = sort(scene, instance, rules);
        if ours.is_empty() {
            return Ok(Cleared {
                removed: removed.len(),
                foreign,
            });
        }
        let hopeless = refusal.as_ref().is_some_and(|e| !e.may_pass());
        if hopeless || tokio::time::Instant::now() >= deadline {
            let still = || said!("deleted, and still there", "已删除，仍存在");
            let why = refusal.map_or_else(still, |e| e.said());
            let names: Vec<Said> = ours.iter().map(RuleSeen::said).collect();
            let what = said!(names = Said::list(&names); "{names} on {instance}", "{instance}：{names}");
            return Err(Box::new(Leftover::seen(step, what, why, hand())));
        }
        let unmarked: Vec<String> = ours
            .iter()
            .filter(|r| r.run != scene.plan.run.as_str())
            .map(|r| r.id.clone())
            .collect();
        removed.extend(ours.into_iter().map(|r| r.id));
        refusal = scene
            .drivers
            .point()
            .delete_run(&base, &scene.plan.run)
            .await
            .err();
        for id in unmarked {
            refusal = scene.drivers.point().delete(&base, &id).await.err().or(refusal);
        }
        if refusal.is_some() {
            scene.pause().await;
        }
    }
}

/// The rules of this run, and the names of those of others.
pub(in crate::engine::recovery) fn sort(
    scene: &Scene,
    instance: &InstanceName,
    rules: Vec<RuleSeen>,
) -> (Vec<RuleSeen>, Vec<Said>) {
    let run = scene.plan.run.as_str();
    // By the mark or by the id: an injector that does not tell the mark must not make a rule of ours someone else's.
    let prefix = format!("{run}-");
    let (ours, foreign): (Vec<_>, Vec<_>) = rules
        .into_iter()
        .partition(|r| r.run == run || r.id.starts_with(&prefix));
    let named = foreign
        .iter()
        .map(|r| said!(rule = r.said(); "{rule} on {instance}", "{instance}：{rule}"));
    let named = named.collect();
    (ours, named)
}
