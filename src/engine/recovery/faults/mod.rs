//! Step 1: every fault stopped, at once and in parallel, each read back as gone.

pub(super) mod injector;
mod silent;

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

use crate::{
    drivers::{
        error::DriverError,
        point::{rule_url, run_url},
    },
    model::{
        ids::FaultId,
        recovery::{Certainty, Leftover, StepId, StepState},
        said::{Said, said},
        time::Span,
        undo::{FaultIntent, UndoFault},
    },
};

use self::silent::{Silence, together_but_for_the_silent};
use super::{Scene, StepEnd, by_hand, together, unread};

/// Between two rounds for targets that do not answer.
const TRY_ON: Span = Span::seconds(1);

/// How rules are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Everything with the run's mark, in one request an instance.
    WholeRun,
    /// One request a rule: others of the run go on.
    Each,
}

/// Stops all faults of the run. Everything with the run's mark goes, also on behalf of faults not listed.
pub async fn faults(scene: &Scene, intents: &[FaultIntent]) -> StepEnd {
    stop(scene, intents, Reach::WholeRun).await
}

/// Ends only these faults, as a step's end does: others of the run go on.
pub async fn end_faults(scene: &Scene, intents: &[FaultIntent]) -> StepEnd {
    stop(scene, intents, Reach::Each).await
}

/// The faults whose targets did not answer within their step.
pub fn left_silent(intents: &[FaultIntent], end: &StepEnd) -> Vec<FaultIntent> {
    if end.leftovers.iter().all(|l| l.certainty == Certainty::Seen) {
        return Vec::new();
    }
    let left = intents.iter().filter(|i| !end.gone.contains(&i.id));
    left.cloned().collect()
}

/// Tries to stop the faults of silent targets, round after round, until they are read back; tells how each round ended.
pub async fn try_on(scene: &Scene, mut silent: Vec<FaultIntent>, tell: impl Fn(StepEnd)) {
    while !silent.is_empty() {
        tokio::time::sleep(TRY_ON.into()).await;
        let end = faults(scene, &silent).await;
        silent = left_silent(&silent, &end);
        tell(end);
    }
}

async fn stop(scene: &Scene, intents: &[FaultIntent], reach: Reach) -> StepEnd {
    if intents.is_empty() {
        return StepEnd::new(StepState::Nothing, said!("no fault left to stop", "已无故障可停"));
    }
    let all = intents.len();
    scene.working(StepId::Faults, said!("0 of {all} gone", "已清 0/{all} 项"));
    let mut by_base: BTreeMap<&str, Vec<&FaultIntent>> = BTreeMap::new();
    let mut loads = Vec::new();
    for intent in intents {
        match &intent.undo {
            UndoFault::Rule { base } => by_base.entry(base).or_default().push(intent),
            UndoFault::Load => loads.push(intent),
        }
    }
    let by_base: Vec<_> = by_base.into_iter().collect();
    let parts = by_base.iter().map(|(base, faults)| {
        let silence = Silence::default();
        (silence.clone(), clear(scene, base, faults, reach, silence))
    });
    let go_on = |so_far: &[Option<Vec<Fate>>]| {
        if reach == Reach::WholeRun {
            scene
                .bus
                .go_on(StepId::Faults, but_for_the_silent(&by_base, so_far));
        }
    };
    let rules = together_but_for_the_silent(parts.collect(), go_on);
    let (rules, loads) = tokio::join!(rules, together(loads.into_iter().map(|l| stop_load(scene, l))));
    let (gone, leftovers) = sorted(rules.into_iter().flatten().chain(loads));
    let cleared = gone.len();
    let detail = said!(
        "{cleared} of {all} gone, read back",
        "已清 {cleared}/{all} 项，已回读"
    );
    let mut end = StepEnd::of(StepState::Done, detail, leftovers);
    end.gone = gone;
    end
}

fn sorted(fates: impl Iterator<Item = Fate>) -> (Vec<FaultId>, Vec<Leftover>) {
    let (mut gone, mut leftovers) = (Vec::new(), Vec::new());
    for fate in fates {
        match fate {
            Ok(id) => gone.push(id),
            Err(leftover) => leftovers.push(*leftover),
        }
    }
    (gone, leftovers)
}

/// How the step stands while it waits only for targets that do not answer: theirs are leftovers until read back.
fn but_for_the_silent(by_base: &[(&str, Vec<&FaultIntent>)], so_far: &[Option<Vec<Fate>>]) -> StepEnd {
    let (gone, mut leftovers) = sorted(so_far.iter().flatten().flatten().cloned());
    let silent = by_base.iter().zip(so_far).filter(|(_, end)| end.is_none());
    let mut instances = BTreeSet::new();
    for ((base, faults), _) in silent {
        instances.extend(faults.iter().map(|f| f.instance.as_str()));
        let left = faults.iter().map(|fault| {
            let by_hand = by_hand::curl("DELETE", &rule_url(base, fault.id.as_str()));
            let why = with_expiry(no_answer_yet(), fault);
            Leftover::unknown(StepId::Faults, named(fault), why, Some(by_hand))
        });
        leftovers.extend(left);
    }
    let silent: Vec<&str> = instances.into_iter().collect();
    let (cleared, silent) = (gone.len(), silent.join(", "));
    StepEnd {
        state: StepState::Waiting,
        detail: said!(
            "{cleared} gone, read back; no answer yet from {silent}, tried again beside",
            "已清 {cleared} 项，已回读；{silent} 尚无应答，另行重试"
        ),
        leftovers,
        gone,
    }
}

fn named(fault: &FaultIntent) -> Said {
    let FaultIntent {
        id, what, instance, ..
    } = fault;
    said!(
        "fault {what} on {instance} (rule {id})",
        "{instance} 的故障 {what}（规则 {id}）"
    )
}

/// The reason, and when the fault ends all the same.
fn with_expiry(why: Said, fault: &FaultIntent) -> Said {
    match fault.expires_in {
        Some(span) => why.and(&said!(
            "the instance drops it by itself {span} after it was made",
            "注入 {span} 后由实例自行清除"
        )),
        None => why,
    }
}

/// Gone, or left over.
type Fate = Result<FaultId, Box<Leftover>>;

async fn stop_load(scene: &Scene, intent: &FaultIntent) -> Fate {
    let loads = scene.drivers.loads();
    let stopping = loads.stop(&intent.id);
    let stopped = tokio::time::timeout(scene.drivers.patience().step.into(), stopping).await;
    if stopped.is_ok() && !loads.runs(&intent.id).await {
        return Ok(intent.id.clone());
    }
    let (what, instance) = (&intent.what, &intent.instance);
    let what = said!("load {what} on {instance}", "{instance} 的负载 {what}");
    Err(Box::new(Leftover::seen(
        StepId::Faults,
        what,
        said!(
            "requests in flight did not end; they end with the keeper",
            "在途请求未结束；随守护进程结束"
        ),
        None,
    )))
}

/// Deletes and looks, until a look finds none of them and none can still land.
async fn clear(
    scene: &Scene,
    base: &str,
    faults: &[&FaultIntent],
    reach: Reach,
    silence: Silence,
) -> Vec<Fate> {
    silence.begins();
    let point = scene.drivers.point();
    let (begin, deadline) = (Instant::now(), scene.deadline());
    let mut late = begin + scene.drivers.patience().late.into();
    let mut landed: BTreeSet<&FaultId> = faults
        .iter()
        .map(|f| &f.id)
        .filter(|id| scene.bus.answered(id))
        .collect();
    let (mut look, mut over);
    loop {
        let deleted = delete(scene, base, faults, reach, &mut landed).await;
        silence.note(&deleted);
        let rules = point.rules(base).await;
        silence.note(&rules);
        look = match rules {
            Ok(rules) => {
                let there: BTreeSet<String> = rules.into_iter().map(|r| r.id).collect();
                landed.extend(
                    faults
                        .iter()
                        .map(|f| &f.id)
                        .filter(|id| there.contains(id.as_str())),
                );
                Ok((there, deleted))
            }
            Err(error) => {
                // One that does not answer may have our create lying before it: the wait begins when it answers again.
                late = Instant::now() + scene.drivers.patience().late.into();
                Err(error)
            }
        };
        over = Instant::now() >= late;
        let (settled, hopeless) = match &look {
            Ok((there, deleted)) => {
                let any = faults.iter().any(|f| there.contains(f.id.as_str()));
                let all_landed = faults.iter().all(|f| landed.contains(&f.id));
                let refused = deleted.as_ref().is_err_and(|e| !e.may_pass());
                (!any && (all_landed || over), any && refused)
            }
            Err(error) => (false, !error.may_pass()),
        };
        if settled || hopeless || Instant::now() >= deadline {
            break;
        }
        scene.pause().await;
    }
    let may_land = |fault: &FaultIntent| !over && !landed.contains(&fault.id);
    faults
        .iter()
        .map(|fault| fate(base, fault, &look, may_land(fault)))
        .collect()
}

/// Why what is at a silent target is not known.
fn no_answer_yet() -> Said {
    said!(
        "no answer yet; tried again until there is one",
        "尚无应答；将一直重试"
    )
}

type Look = Result<(BTreeSet<String>, Result<(), DriverError>), DriverError>;

fn fate(base: &str, fault: &FaultIntent, look: &Look, may_land: bool) -> Fate {
    let what = named(fault);
    let by_hand = Some(by_hand::curl("DELETE", &rule_url(base, fault.id.as_str())));
    let mut leftover = match look {
        Ok((there, _)) if !there.contains(fault.id.as_str()) && !may_land => return Ok(fault.id.clone()),
        Ok((there, _)) if !there.contains(fault.id.as_str()) => {
            let why = said!(
                "it is not there, but nobody answered when it was made: it may still land",
                "目前不存在，但注入时未获应答，仍可能生效"
            );
            Leftover::unknown(StepId::Faults, what, why, by_hand)
        }
        Ok((_, Ok(()))) => {
            let why = said!("deleted, and still there", "已删除，仍存在");
            Leftover::seen(StepId::Faults, what, why, by_hand)
        }
        Ok((_, Err(error))) => Leftover::seen(StepId::Faults, what, error.said(), by_hand),
        Err(error) => unread(StepId::Faults, what, error, by_hand),
    };
    leftover.why = with_expiry(leftover.why, fault);
    Err(Box::new(leftover))
}

/// One delete of what is asked; the last error, if one stays.
async fn delete<'f>(
    scene: &Scene,
    base: &str,
    faults: &[&'f FaultIntent],
    reach: Reach,
    landed: &mut BTreeSet<&'f FaultId>,
) -> Result<(), DriverError> {
    let point = scene.drivers.point();
    if reach == Reach::WholeRun && faults.len() > 1 {
        match point.delete_run(base, &scene.plan.run).await {
            Ok(removed) => {
                if removed >= faults.len() as u64 {
                    landed.extend(faults.iter().map(|f| &f.id));
                }
                return Ok(());
            }
            Err(error) if error.may_pass() => return Err(error),
            // An older injector may not know the run's mark: rule by rule.
            Err(_) => {}
        }
    }
    let each = together(
        faults
            .iter()
            .map(|f| async { (&f.id, point.delete(base, f.id.as_str()).await) }),
    )
    .await;
    let mut last = Ok(());
    for (id, deleted) in each {
        match deleted {
            Ok(true) => drop(landed.insert(id)),
            Ok(false) => {}
            Err(error) => last = Err(error),
        }
    }
    last
}

/// By hand: everything with the run's mark on an instance.
pub(super) fn by_hand_run(scene: &Scene, base: &str) -> String {
    by_hand::curl("DELETE", &run_url(base, &scene.plan.run))
}
