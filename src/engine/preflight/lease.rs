//! The environment's lease: the last thing that preflight looks at, and the only one that it takes.

use super::Inspector;
use crate::{
    drivers::{
        error::DriverError,
        lease::{Hold, Lease},
    },
    journal::Clock,
    model::{
        event::CheckOutcome,
        lease::{Held, LASTS},
        said::{Said, said},
        time::Moment,
    },
};

impl Inspector {
    /// Takes the lease, if the environment has one, and says since when it lasts. Another run's refuses this one.
    pub(super) async fn take_lease(&mut self) -> Option<Moment> {
        let asked = Clock.now();
        let lease = self.lease(CheckOutcome::Refused)?;
        match lease.take().await {
            Ok(Hold::Taken | Hold::Renewed) => {
                self.is_taken();
                Some(asked)
            }
            Ok(Hold::Other(held)) => {
                let next = what_then(&held, &lease);
                self.say(self.its_name(), CheckOutcome::Refused, held.said(), Some(next));
                None
            }
            Err(error) => {
                let next = match &error {
                    DriverError::Unauthorized { .. } => lease.rights(),
                    _ => said!(
                        "nothing begins before it is taken; keep it where it can always be reached",
                        "取得租约之前不会开始；请放在始终可达之处"
                    ),
                };
                self.say(self.its_name(), CheckOutcome::Refused, error.said(), Some(next));
                None
            }
        }
    }

    /// Before a restore it is taken if it is free. Nobody who puts a system back is kept waiting for it.
    pub(super) async fn take_lease_if_free(&mut self) {
        let Some(lease) = self.lease(CheckOutcome::Warned) else {
            return;
        };
        let (found, next) = match lease.hold().await {
            Ok(Hold::Taken | Hold::Renewed) => return self.is_taken(),
            Ok(Hold::Other(held)) => (
                held.said(),
                said!(
                    "tell them: the restore goes on, and what they break meanwhile it does not put back",
                    "请告知对方：恢复照常进行，其间对方注入的故障不由本次恢复清除"
                ),
            ),
            Err(error) => (
                error.said(),
                said!(
                    "the restore goes on; see to it that nobody begins a drill meanwhile",
                    "恢复照常进行；请确保其间无人开始演练"
                ),
            ),
        };
        self.say(self.its_name(), CheckOutcome::Warned, found, Some(next));
    }

    /// The lease, if the environment has one that can be used.
    fn lease(&mut self, or_else: CheckOutcome) -> Option<Lease> {
        match self.drivers.lease() {
            Ok(lease) => lease,
            Err(error) => {
                self.say(self.its_name(), or_else, error.said(), None);
                None
            }
        }
    }

    fn its_name(&self) -> Said {
        let environment = &self.plan.environment.name;
        said!("lease of {environment}", "{environment} 的租约")
    }

    fn is_taken(&mut self) {
        let place = self.plan.environment.lease.as_ref().map(|place| place.said());
        let place = place.unwrap_or_else(|| Said::new("", ""));
        let found = said!(
            place;
            "taken in {place} until the run is over",
            "已在 {place} 取得，直至演练结束"
        );
        self.say(self.its_name(), CheckOutcome::Passed, found, None);
    }
}

/// What to do about a lease that another run holds.
fn what_then(held: &Held, lease: &Lease) -> Said {
    let (run, host) = (&held.by.run, &held.by.host);
    let by_hand = lease.freed_by();
    if host.is_empty() {
        return said!(
            "ask whoever wrote that; if nobody drills there, `{by_hand}`",
            "请询问写入者；若确无演练，`{by_hand}`"
        );
    }
    let by_itself = match held.left {
        Some(_) => said!(
            "a lease that nobody renews ends within {LASTS}",
            "无人续约的租约在 {LASTS} 内到期"
        ),
        None => said!("then `{by_hand}`", "随后 `{by_hand}`"),
    };
    said!(
        by_itself;
        "wait until that run is over, or ask them to end it; if it is dead, `allclear recover {run}` on {host}: {by_itself}",
        "请等待该演练结束，或请对方结束；若其已死，请在 {host} 上执行 `allclear recover {run}`：{by_itself}"
    )
}
