//! Step 4 and the end of step 6: breakers half-opened before traffic returns, and seen closed by real calls after.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

use crate::{
    drivers::error::DriverError,
    engine::recovery::{Scene, StepEnd, together},
    model::{
        plan::Purpose,
        playbook::{Breakers, Via},
        recovery::{Leftover, StepId, StepState},
        said::{Said, said},
        snapshot::{BreakerSeen, BreakerState},
    },
};

use super::{
    Found, Group, Standing, groups,
    probe::{Probed, probe_group},
    rules, state_word,
};

/// Tries to half-open or close one breaker within a step.
const TRIES: usize = 3;
/// Looks between two tries to half-open one that fell open again: real calls need time to close it.
const LOOKS_BETWEEN: usize = 8;

/// Half-opens (or closes, as the playbook says) every breaker that the drill opened, and puts lists of rules back.
pub async fn breakers_open(scene: &Scene) -> StepEnd {
    let (opened, put_back) = tokio::join!(open(scene), rules::put_back(scene));
    opened.and(put_back)
}

async fn open(scene: &Scene) -> StepEnd {
    let mut entries = scene.plan.drill.recovery.breakers.iter();
    if !entries.any(|b| matches!(b, Breakers::Resilience4j { .. })) {
        return StepEnd::absent();
    }
    let groups = groups(scene);
    if groups.is_empty() {
        let none = said!("the snapshot has no breaker", "快照中没有熔断器");
        return StepEnd::new(StepState::Nothing, none);
    }
    let (total, places) = (scene.snapshot.breakers.len(), groups.len());
    scene.working(
        StepId::Breakers,
        said!("{total} on {places} instances", "{places} 个实例，共 {total} 个"),
    );
    let opened = together(groups.iter().map(|g| open_group(scene, g))).await;
    let (mut brought, mut left_to_itself, mut leftovers) = (0, 0, Vec::new());
    for one in opened {
        brought += one.brought;
        left_to_itself += one.left_to_itself;
        leftovers.extend(one.leftovers);
    }
    let mut detail = match brought {
        0 => said!("{total} are as before", "{total} 个与演练前一致"),
        _ => said!("{brought} of {total} brought back", "已恢复 {brought}/{total} 个"),
    };
    if left_to_itself > 0 {
        detail = detail.and(&said!(
            "{left_to_itself} open, to close by themselves",
            "{left_to_itself} 个断开，待其自行闭合"
        ));
    }
    if let Some(first) = leftovers.first() {
        let well = total - leftovers.len();
        detail = said!(
            what = first.what, why = first.why;
            "{well} of {total} well; {what}: {why}",
            "{well}/{total} 个正常；{what}：{why}"
        );
    }
    let well = if brought + left_to_itself == 0 {
        StepState::Nothing
    } else {
        StepState::Done
    };
    StepEnd::of(well, detail, leftovers)
}

#[derive(Default)]
struct Opened {
    brought: usize,
    left_to_itself: usize,
    leftovers: Vec<Leftover>,
}

async fn open_group(scene: &Scene, group: &Group<'_>) -> Opened {
    match group.via {
        Via::App { .. } | Via::Close => ask_group(scene, group).await,
        Via::Wait => {
            let found = group.look(scene, scene.deadline()).await;
            let open = found.iter().filter(|f| f.standing() == Some(Standing::Stuck));
            Opened {
                left_to_itself: open.count(),
                leftovers: not_brought(scene, group, &found, &Refusals::new()),
                ..Opened::default()
            }
        }
        Via::Probe { url, after } => {
            let Probed { found, tried } = probe_group(scene, group, url, *after).await;
            let closed = found.iter().filter(|f| f.standing() == Some(Standing::Well));
            Opened {
                brought: closed.filter(|f| tried.contains(f.before.name.as_str())).count(),
                leftovers: still_open(scene, group, &found),
                ..Opened::default()
            }
        }
    }
}

/// Why an instance did not bring a breaker back, by the breaker's name.
type Refusals<'a> = BTreeMap<&'a str, DriverError>;

async fn ask_group(scene: &Scene, group: &Group<'_>) -> Opened {
    let deadline = scene.deadline();
    let to_bring = |f: &&Found<'_>| match (f.standing(), group.via) {
        (Some(Standing::Stuck), _) => true,
        // Closing is the one thing that also takes a breaker out of a state that a person sets: one that was not there
        // before the drill. A restore does not know of such a before.
        (Some(Standing::Altered), Via::Close) if scene.plan.purpose != Purpose::Restore => {
            matches!(f.before.state, BreakerState::Closed | BreakerState::HalfOpen)
        }
        _ => false,
    };
    let mut found = group.look(scene, deadline).await;
    let (mut refusals, mut asked) = (Refusals::new(), BTreeSet::new());
    for _ in 0..TRIES {
        let stuck: Vec<&BreakerSeen> = found.iter().filter(to_bring).map(|f| f.before).collect();
        if stuck.is_empty() || Instant::now() >= deadline {
            break;
        }
        if !asked.is_empty() {
            scene.pause().await;
        }
        asked.extend(stuck.iter().map(|before| before.name.as_str()));
        let ask = async |before: &&BreakerSeen| group.bring_back(scene, before).await.err();
        let refused = together(stuck.iter().map(ask)).await;
        let names = stuck.iter().map(|before| before.name.as_str());
        refusals = names
            .zip(refused)
            .filter_map(|(name, e)| Some((name, e?)))
            .collect();
        found = group.look(scene, deadline).await;
    }
    let brought = |f: &&Found<'_>| asked.contains(f.before.name.as_str()) && f.now.is_ok() && !to_bring(f);
    Opened {
        brought: found.iter().filter(brought).count(),
        leftovers: not_brought(scene, group, &found, &refusals),
        ..Opened::default()
    }
}

/// What a step that does not wait for closing leaves over.
fn not_brought(
    scene: &Scene,
    group: &Group<'_>,
    found: &[Found<'_>],
    refusals: &Refusals<'_>,
) -> Vec<Leftover> {
    let left = found.iter().filter_map(|one| {
        let why = match (&one.now, one.standing()) {
            (Err(error), _) => error.said(),
            (_, Some(Standing::Stuck)) if *group.via == Via::Wait => return None,
            (_, Some(Standing::Stuck)) => match refusals.get(one.before.name.as_str()) {
                Some(error) => error.said(),
                None => said!(
                    "asked to half-open or close, and still open",
                    "已要求半开或闭合，仍断开"
                ),
            },
            (_, Some(Standing::Altered)) => altered(one.before),
            _ => return None,
        };
        Some(group.leftover(scene, StepId::Breakers, one, why))
    });
    left.collect()
}

fn altered(before: &BreakerSeen) -> Said {
    let was = state_word(before.state);
    said!(
        "it was {was} before the drill, and allclear did not change it",
        "演练前为 {was}，且非 allclear 所改"
    )
}

/// Sees every breaker closed by real calls. One that falls open again is half-opened again.
pub(in crate::engine::recovery) async fn confirm(scene: &Scene) -> StepEnd {
    let groups = groups(scene);
    if groups.is_empty() {
        return StepEnd::absent();
    }
    let deadline = Instant::now() + scene.drivers.patience().confirm.into();
    let confirmed = together(groups.iter().map(|g| confirm_group(scene, g, deadline))).await;
    let leftovers: Vec<Leftover> = confirmed.into_iter().flatten().collect();
    let total = scene.snapshot.breakers.len();
    let well = total - leftovers.len();
    let detail = said!(
        "breakers: {well} of {total} as before",
        "熔断器 {well}/{total} 个与演练前一致"
    );
    StepEnd::of(StepState::Nothing, detail, leftovers)
}

async fn confirm_group(scene: &Scene, group: &Group<'_>, deadline: Instant) -> Vec<Leftover> {
    let mut looks = 0_usize;
    loop {
        let found = group.look(scene, Instant::now()).await;
        // An instance that was just restarted lists a breaker again with its first call.
        let undecided = |f: &&Found<'_>| match (&f.now, f.standing()) {
            (Err(e), _) => e.may_pass() || matches!(e, DriverError::NotThere { .. }),
            (_, Some(Standing::Stuck | Standing::Trying)) => true,
            _ => false,
        };
        let open = found.iter().filter(undecided).count();
        if open == 0 || Instant::now() >= deadline {
            return still_open(scene, group, &found);
        }
        let instance = group.instance;
        scene.waiting(
            StepId::Traffic,
            said!(
                "{open} breakers on {instance} to be closed by calls",
                "{instance} 的 {open} 个熔断器待真实调用闭合"
            ),
        );
        let is = |standing| move |f: &&Found<'_>| f.standing() == Some(standing);
        if let Via::Probe { url, .. } = group.via {
            let trying = found.iter().filter(is(Standing::Trying));
            together(trying.map(|f| group.probe(scene, url, f.before))).await;
        }
        if looks.is_multiple_of(LOOKS_BETWEEN) {
            for stuck in found.iter().filter(is(Standing::Stuck)) {
                match group.via {
                    Via::Probe { url, .. } => group.probe(scene, url, stuck.before).await,
                    // The refusal, if it stays, is seen as a state that stays.
                    _ => drop(group.bring_back(scene, stuck.before).await),
                }
            }
        }
        looks += 1;
        scene.pause().await;
    }
}

fn still_open(scene: &Scene, group: &Group<'_>, found: &[Found<'_>]) -> Vec<Leftover> {
    let left = found.iter().filter_map(|f| {
        let why = match (&f.now, f.standing()) {
            (Err(error), _) => error.said(),
            (_, Some(Standing::Trying)) => said!(
                "half-open: too few real calls have closed it yet",
                "半开：真实调用还太少，尚未闭合"
            ),
            (_, Some(Standing::Stuck)) => said!("real calls did not close it", "真实调用未能使其闭合"),
            (_, Some(Standing::Altered)) => altered(f.before),
            _ => return None,
        };
        Some(group.leftover(scene, StepId::Breakers, f, why))
    });
    left.collect()
}

/// Breakers and lists of rules that are not as before now, or cannot be read.
pub(in crate::engine::recovery) async fn not_as_before(scene: &Scene) -> Vec<Leftover> {
    let groups = groups(scene);
    let look = async |group: &Group<'_>| {
        let found = group.look(scene, scene.deadline()).await;
        still_open(scene, group, &found)
    };
    let (breakers, rules) = tokio::join!(together(groups.iter().map(look)), rules::not_as_before(scene));
    breakers.into_iter().flatten().chain(rules).collect()
}
