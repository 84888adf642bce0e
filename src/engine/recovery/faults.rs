//! Step 1: every fault stopped, at once and in parallel, each read back as gone.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

use crate::{
    drivers::{
        error::DriverError,
        point::{rule_url, run_url},
    },
    model::{
        ids::FaultId,
        recovery::{Leftover, StepId, StepState},
        undo::{FaultIntent, UndoFault},
    },
};

use super::{Scene, StepEnd, by_hand, seen, together, unread};

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

async fn stop(scene: &Scene, intents: &[FaultIntent], reach: Reach) -> StepEnd {
    if intents.is_empty() {
        return StepEnd::new(StepState::Nothing, "no fault was made");
    }
    scene.working(StepId::Faults, format!("0 of {} gone", intents.len()));
    let mut by_base: BTreeMap<&str, Vec<&FaultIntent>> = BTreeMap::new();
    let mut loads = Vec::new();
    for intent in intents {
        match &intent.undo {
            UndoFault::Rule { base } => by_base.entry(base).or_default().push(intent),
            UndoFault::Load => loads.push(intent),
        }
    }
    let rules = together(
        by_base
            .into_iter()
            .map(|(base, faults)| clear(scene, base, faults, reach)),
    );
    let (rules, loads) = tokio::join!(rules, together(loads.into_iter().map(|l| stop_load(scene, l))));
    let (mut gone, mut leftovers) = (Vec::new(), Vec::new());
    for fate in rules.into_iter().flatten().chain(loads) {
        match fate {
            Ok(id) => gone.push(id),
            Err(leftover) => leftovers.push(*leftover),
        }
    }
    let detail = format!("{} of {} gone, read back", gone.len(), intents.len());
    let mut end = StepEnd::of(StepState::Done, detail, leftovers);
    end.gone = gone;
    end
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
    let what = format!("load {} on {}", intent.what, intent.instance);
    Err(Box::new(seen(
        StepId::Faults,
        what,
        "requests in flight did not end; they end with the keeper",
        None,
    )))
}

/// Deletes and looks, until a look finds none of them and none can still land.
async fn clear(scene: &Scene, base: &str, faults: Vec<&FaultIntent>, reach: Reach) -> Vec<Fate> {
    let point = scene.drivers.point();
    let (begin, deadline) = (Instant::now(), scene.deadline());
    let mut late = begin + scene.drivers.patience().late.into();
    let mut landed: BTreeSet<&FaultId> = faults
        .iter()
        .map(|f| &f.id)
        .filter(|id| scene.bus.answered(id))
        .collect();
    let mut look;
    loop {
        let deleted = delete(scene, base, &faults, reach, &mut landed).await;
        look = match point.rules(base).await {
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
        let (settled, hopeless) = match &look {
            Ok((there, deleted)) => {
                let any = faults.iter().any(|f| there.contains(f.id.as_str()));
                let all_landed = faults.iter().all(|f| landed.contains(&f.id));
                let refused = deleted.as_ref().is_err_and(|e| !e.may_pass());
                (!any && (all_landed || Instant::now() >= late), any && refused)
            }
            Err(error) => (false, !error.may_pass()),
        };
        if settled || hopeless || Instant::now() >= deadline {
            break;
        }
        scene.pause().await;
    }
    faults.into_iter().map(|fault| fate(base, fault, &look)).collect()
}

type Look = Result<(BTreeSet<String>, Result<(), DriverError>), DriverError>;

fn fate(base: &str, fault: &FaultIntent, look: &Look) -> Fate {
    let what = format!("fault {} on {} (rule {})", fault.what, fault.instance, fault.id);
    let by_hand = Some(by_hand::curl("DELETE", &rule_url(base, &fault.id)));
    let expiry = fault
        .expires_in
        .map(|span| format!("; the instance drops it by itself {span} after it was made"))
        .unwrap_or_default();
    let mut leftover = match look {
        Ok((there, _)) if !there.contains(fault.id.as_str()) => return Ok(fault.id.clone()),
        Ok((_, Ok(()))) => seen(StepId::Faults, what, "deleted, and still there", by_hand),
        Ok((_, Err(error))) => seen(StepId::Faults, what, error.to_string(), by_hand),
        Err(error) => unread(StepId::Faults, what, error, by_hand),
    };
    leftover.why.push_str(&expiry);
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
            .map(|f| async { (&f.id, point.delete(base, &f.id).await) }),
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
