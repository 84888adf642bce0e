//! The restart of a stuck instance: once in a run, whoever asks for it.

use reqwest::Method;

use crate::{
    drivers::{error::Landing, place::Fill},
    engine::recovery::{Scene, by_hand as typed, pods},
    model::{
        ids::InstanceName,
        playbook::{PoolDrain, Restart},
        recovery::StepId,
        said::{Said, said},
        sample::Query,
        undo::ChangeIntent,
    },
};

use super::rollout;

/// Who restarted the instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::recovery) enum Restarted {
    /// This step, now.
    Now,
    /// Another pool, or an earlier keeper of this run: it is not done again.
    Before,
}

/// Restarts the instances, one after another, each once in a run. One that is refused keeps no other from it.
///
/// # Errors
/// Why it surely did not come to it, at the first of those.
pub(super) async fn restart(
    scene: &Scene,
    pool: &PoolDrain,
    who: &[&InstanceName],
) -> Result<Restarted, Said> {
    let Some(way) = &pool.if_stuck else {
        return Err(said!(
            "it does not drain, and the playbook has no restart for it",
            "未排空，预案中也没有重启办法"
        ));
    };
    let mut all = Ok(Restarted::Before);
    for instance in who {
        let one = restart_one(scene, way, instance).await;
        all = match (all, one) {
            (Err(first), _) => Err(first),
            (Ok(Restarted::Now), Ok(_)) => Ok(Restarted::Now),
            (Ok(_), one) => one,
        };
    }
    all
}

async fn restart_one(scene: &Scene, way: &Restart, instance: &InstanceName) -> Result<Restarted, Said> {
    // What can be done twice without restarting it twice looks for itself whether it was done.
    match way {
        Restart::Kubernetes(pods) => return pods::restart(scene, pods, instance).await,
        Restart::Rollout(way) => return rollout::restart(scene, way, instance).await,
        Restart::Http { .. } | Restart::Command { .. } => {}
    }
    if scene.bus.restarted(instance) {
        return Ok(Restarted::Before);
    }
    // No wait between the look and the intent: two pools of one instance never both restart it.
    let change = ChangeIntent::Restart {
        instance: instance.clone(),
        pod: None,
    };
    let intended = scene.bus.intend(change);
    scene.waiting(
        StepId::Pools,
        said!("restarting {instance}", "正在重启 {instance}"),
    );
    intended.await;
    ask(scene, way, instance).await?;
    Ok(Restarted::Now)
}

/// Once: a restart whose answer was lost is not asked for again, the pool tells whether it came.
async fn ask(scene: &Scene, way: &Restart, instance: &InstanceName) -> Result<(), Said> {
    let ended = match way {
        Restart::Http { url } => scene.drivers.restart(&filled(scene, url, instance)?).await,
        Restart::Command { run, timeout } => {
            let run = words(scene, run, instance)?;
            match scene.drivers.run(&run, *timeout).await {
                Ok(ended) if ended.code == Some(0) => Ok(()),
                Ok(ended) => {
                    let last = &ended.last_line;
                    let code = ended.code.map_or_else(
                        || said!("a signal", "信号"),
                        |code| said!("exit code {code}", "退出码 {code}"),
                    );
                    return Err(said!(
                        code;
                        "the restart of {instance} ended with {code}: {last}",
                        "{instance} 的重启以{code}结束：{last}"
                    ));
                }
                Err(error) => Err(error),
            }
        }
        Restart::Kubernetes(pods) => return pods::restart(scene, pods, instance).await.map(drop),
        Restart::Rollout(way) => return rollout::restart(scene, way, instance).await.map(drop),
    };
    match ended {
        Err(error) if error.landing() == Landing::NotDone => Err(error.said()),
        _ => Ok(()),
    }
}

/// Whether the restarted instances say that they are ready.
///
/// # Errors
/// Which is not, and what it says.
pub(super) async fn is_ready(scene: &Scene, pool: &PoolDrain, who: &[&InstanceName]) -> Result<(), Said> {
    for instance in who {
        match &pool.if_stuck {
            Some(Restart::Kubernetes(pods)) => pods::is_ready(scene, pods, instance).await?,
            Some(Restart::Rollout(way)) => rollout::is_ready(scene, way, instance).await?,
            _ => {}
        }
    }
    let Some(url) = &pool.ready else { return Ok(()) };
    for instance in who {
        let url = filled(scene, url, instance)?;
        let answer = scene.drivers.http().ask(Method::GET, &url, None).await;
        answer.map_err(|error| {
            said!(
                error = error.said();
                "idle, but {instance} is not ready: {error}",
                "已空闲，但 {instance} 未就绪：{error}"
            )
        })?;
    }
    Ok(())
}

/// What a person types to restart them.
pub(super) fn by_hand(scene: &Scene, pool: &PoolDrain, who: &[&InstanceName]) -> Option<String> {
    let way = pool.if_stuck.as_ref()?;
    let command = |instance: &&InstanceName| match way {
        Restart::Http { url } => Some(typed::curl("POST", &filled(scene, url, instance).ok()?)),
        Restart::Kubernetes(pods) => pods::restart_by_hand(scene, pods, instance),
        Restart::Rollout(way) => rollout::restart_by_hand(scene, way, instance),
        Restart::Command { run, .. } => Some(typed::command(scene, &words(scene, run, instance).ok()?)),
    };
    let commands: Vec<String> = who.iter().filter_map(command).collect();
    (!commands.is_empty()).then(|| commands.join("; "))
}

/// The same for whom a reading is about: one target, or all of them.
pub fn restart_by_hand(scene: &Scene, pool: &PoolDrain, query: &Query) -> Option<String> {
    let targets = &scene.plan.drill.targets.instances;
    let is_meant = |target: &&InstanceName| query.instance.as_ref().is_none_or(|one| one == *target);
    by_hand(scene, pool, &targets.iter().filter(is_meant).collect::<Vec<_>>())
}

fn filled(scene: &Scene, url: &str, instance: &InstanceName) -> Result<String, Said> {
    let fill = Fill {
        instance: Some(instance),
        name: None,
    };
    scene.drivers.places().fill(url, fill).map_err(|e| e.said())
}

fn words(scene: &Scene, run: &[String], instance: &InstanceName) -> Result<Vec<String>, Said> {
    let places = scene.drivers.places();
    let filled = run.iter().map(|word| places.fill_word(word, Some(instance)));
    filled.collect::<Result<_, _>>().map_err(|e| e.said())
}
