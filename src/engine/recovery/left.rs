//! The final read of everything, right before ALL CLEAR.

use crate::model::{
    recovery::{Leftover, StepId},
    said::said,
};

use super::{
    Scene, breakers, doubts,
    faults::{
        by_hand_run,
        injector::{injectors, rules_of_the_run, sort},
    },
    flags, gateway, pods, pools, queues, together, unread,
};

/// Everything that is not as it was: rules with the run's mark, weights and states, breakers, flags, retry queues, pools that
/// were given up.
/// Empty means: all of it was read, and is as before.
pub async fn left_behind(scene: &Scene) -> Vec<Leftover> {
    // First, and not beside the rest: what was read a minute before it is believed may have changed since.
    queues::landed(scene).await;
    doubts::landed(scene).await;
    let (rules, loads, gateway, breakers, flags, queues, pools, pods) = tokio::join!(
        rules(scene),
        loads(scene),
        gateway::differences(scene, StepId::Traffic),
        breakers::steps::not_as_before(scene),
        flags::still_there(scene),
        queues::not_as_before(scene),
        pools::left::not_as_before(scene),
        pods::not_as_before(scene),
    );
    [rules, loads, gateway, breakers, flags, queues, pools, pods].concat()
}

async fn loads(scene: &Scene) -> Vec<Leftover> {
    let running = scene.drivers.loads().all().await;
    let left = |id| {
        Leftover::seen(
            StepId::Faults,
            said!("load {id}", "负载 {id}"),
            said!(
                "it still sends; it ends with the keeper",
                "仍在发送；随守护进程结束"
            ),
            None,
        )
    };
    running.into_iter().map(left).collect()
}

async fn rules(scene: &Scene) -> Vec<Leftover> {
    let step = StepId::Injector;
    let look = async |instance| {
        let what = rules_of_the_run(scene, &instance);
        let base = match scene.drivers.point_base(&instance) {
            Ok(base) => base,
            Err(error) => return vec![unread(step, what, &error.into(), None)],
        };
        let hand = || Some(by_hand_run(scene, &base));
        match scene
            .persist(scene.deadline(), || scene.drivers.point().rules(&base))
            .await
        {
            Err(error) => vec![unread(step, what, &error, hand())],
            Ok(rules) => {
                let (ours, _) = sort(scene, &instance, rules);
                let left = ours.iter().map(|rule| {
                    let why = said!("seen at the injector after recovery", "恢复后在注入器上仍可见");
                    let what = said!(rule = rule.said(); "{rule} on {instance}", "{instance}：{rule}");
                    Leftover::seen(step, what, why, hand())
                });
                left.collect()
            }
        }
    };
    together(injectors(&scene.plan).into_iter().map(look))
        .await
        .into_iter()
        .flatten()
        .collect()
}
