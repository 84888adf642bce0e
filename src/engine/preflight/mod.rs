//! Preflight: looks at everything, touches nothing, and refuses what could not be stopped, seen or put back.

mod again;
mod drill;
mod lease;
mod leftovers;
mod queries;
mod reach;
mod restore;
mod shares;
mod source;
mod targets;
#[cfg(test)]
mod tests;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use tokio::sync::mpsc;

use super::{Done, Engine, meters::Meters, recovery};
use crate::{
    drill::{Input, guard},
    drivers::Drivers,
    model::{
        event::{Body, Check, CheckOutcome, ReachLine},
        plan::{Plan, Purpose},
        recovery::Leftover,
        said::{Said, said},
        snapshot::Snapshot,
        time::Moment,
    },
};

/// What preflight found.
pub(super) struct Found {
    meters: Option<Meters>,
    snapshot: Snapshot,
    reach: Vec<ReachLine>,
    refused: Vec<Said>,
    /// When the lease was asked for that this run has taken.
    lease: Option<Moment>,
    /// What cannot be known to the end: of a restore alone, since a drill refuses.
    unknown: Vec<Leftover>,
}

impl Engine {
    pub(super) fn run_preflight(&mut self) {
        let (tripwire, guard) = (
            guard::tripwire_stop(&self.plan.drill.guard),
            guard::worst_stop(&self.plan.drill.guard),
        );
        self.ledger.emit(Body::Stops { tripwire, guard });
        let inspector = Inspector {
            plan: self.plan.clone(),
            drivers: self.drivers.clone(),
            done: self.done.clone(),
            refused: Vec::new(),
        };
        let meters = Meters::open(&self.plan, &self.secrets).map_err(|e| e.to_string());
        let done = self.done.clone();
        self.spawn(async move {
            let found = match inspector.plan.purpose {
                Purpose::Restore => inspector.read_for_restore(meters).await,
                _ => inspector.inspect(meters).await,
            };
            let _ = done.send(Done::Preflight(Box::new(found)));
        });
    }

    pub(super) async fn preflighted(&mut self, found: Found) {
        let Found {
            meters,
            snapshot,
            reach,
            mut refused,
            lease,
            unknown,
        } = found;
        self.meters = meters;
        self.unknown.extend(unknown);
        self.ledger.emit(Body::Reach(reach));
        self.snapshot = Arc::new(snapshot.clone());
        // A keeper that takes over has nothing else to compare with: without it on the disk nothing is begun.
        if let Err(error) = self
            .ledger
            .emit_durably(Body::SnapshotTaken(Box::new(snapshot)))
            .await
        {
            let why = said!(
                error = error.said();
                "the snapshot cannot be written down: {error}",
                "快照无法写下：{error}"
            );
            match self.plan.purpose {
                // Of two evils: a second keeper would know less, but the system is broken now.
                Purpose::Restore => self.ledger.emit(Body::Warning(why)),
                _ => refused.push(why),
            }
        }
        if let Some(asked) = lease {
            self.lease_taken(asked);
        }
        if refused.is_empty() {
            self.start_meters();
            self.keep_lease();
        }
        self.feed(Input::PreflightDone { refused });
    }
}

/// A check that stands for how far the reading is; the next one takes its place.
fn progress(found: Said) -> Check {
    Check {
        what: said!("what recovery may change", "恢复可能改动的项"),
        outcome: CheckOutcome::Passed,
        found,
        next: None,
    }
}

struct Inspector {
    plan: Arc<Plan>,
    drivers: Arc<Drivers>,
    done: mpsc::UnboundedSender<Done>,
    refused: Vec<Said>,
}

impl Inspector {
    async fn inspect(mut self, meters: Result<Meters, String>) -> Found {
        self.targets();
        self.guard_is_worth_it();
        self.guard_looks_at_now();
        self.expiry();
        let mut meters = match meters {
            Ok(meters) => Some(meters),
            Err(why) => {
                self.say(
                    said!("metrics source", "指标来源"),
                    CheckOutcome::Refused,
                    Said::as_it_is(why),
                    Some(said!(
                        "check the environment's address and secrets",
                        "请检查环境的地址与密钥"
                    )),
                );
                None
            }
        };
        let (plan, drivers, done) = (self.plan.clone(), self.drivers.clone(), self.done.clone());
        let told = AtomicBool::new(false);
        let reading = async {
            let read = recovery::read_snapshot_telling(&plan, &drivers, |read, of| {
                told.store(true, Relaxed);
                let found = said!("{read} of {of} answers read so far", "已读 {read}/{of} 项应答");
                let _ = done.send(Done::Check(progress(found)));
            });
            let read = read.await;
            if told.load(Relaxed) {
                let _ = done.send(Done::Check(progress(said!("all of it is read", "已全部读完"))));
            }
            read
        };
        let source = async {
            if let Some(open) = &mut meters {
                self.source(open).await;
            }
        };
        let ((snapshot, checks), ()) = tokio::join!(reading, source);
        for check in checks {
            self.check(check);
        }
        self.leftovers_of_others(&snapshot.foreign);
        let reach = match &mut meters {
            Some(open) => self.reach(open).await,
            None => Vec::new(),
        };
        // Last, and only for a run that will begin: whoever is refused keeps nobody else away.
        let lease = match self.refused.is_empty() {
            true => self.take_lease().await,
            false => None,
        };
        Found {
            meters,
            snapshot,
            reach,
            refused: self.refused,
            lease,
            unknown: Vec::new(),
        }
    }

    fn check(&mut self, check: Check) {
        if check.outcome == CheckOutcome::Refused {
            let (what, found) = (&check.what, &check.found);
            let reason = said!(what, found; "{what}: {found}", "{what}：{found}");
            self.refused.push(match &check.next {
                Some(next) => reason.and(next),
                None => reason,
            });
        }
        let _ = self.done.send(Done::Check(check));
    }

    fn say(&mut self, what: Said, outcome: CheckOutcome, found: Said, next: Option<Said>) {
        self.check(Check {
            what,
            outcome,
            found,
            next,
        });
    }
}
