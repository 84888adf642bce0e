//! Before a restore: everything is read, nothing is refused. There is no time to mend a file.

use super::{Found, Inspector};
use crate::{
    engine::{meters::Meters, recovery},
    model::{
        event::CheckOutcome,
        said::{Said, said},
        sample::Query,
    },
};

impl Inspector {
    /// Reads what the playbook puts back. A healthy state stands in for the snapshot.
    pub(super) async fn read_for_restore(mut self, meters: Result<Meters, String>) -> Found {
        let meters = meters.map_err(|why| {
            let next = Some(said!(
                "check the environment's address and secrets: without metrics nothing is proved",
                "请检查环境的地址与密钥：没有指标便无法证明任何事"
            ));
            let what = said!("metrics source", "指标来源");
            self.say(what, CheckOutcome::Warned, Said::as_it_is(why), next);
        });
        self.say_what_is_not_compared();
        let (plan, drivers) = (self.plan.clone(), self.drivers.clone());
        let (mut restoring, ()) = tokio::join!(
            recovery::read_restoring(&plan, &drivers),
            self.take_lease_if_free()
        );
        for change in restoring.changes(&self.plan) {
            let found = said!(now = change.now, then = change.then; "{now} -> {then}", "{now} -> {then}");
            self.say(change.what, CheckOutcome::Warned, found, None);
        }
        for decided in std::mem::take(&mut restoring.decided) {
            let what = said!("left as it is", "保持不变");
            self.say(what, CheckOutcome::Warned, decided, None);
        }
        for check in std::mem::take(&mut restoring.checks) {
            self.check(check);
        }
        Found {
            meters: meters.ok(),
            snapshot: restoring.healthy,
            reach: Vec::new(),
            refused: Vec::new(),
            lease: None,
            unknown: restoring.unknown,
        }
    }

    /// Without a baseline only absolute limits can be proved; nobody shall think that more was.
    fn say_what_is_not_compared(&mut self) {
        let drill = self.plan.drill.clone();
        let relative = drill
            .guard
            .steady_state
            .iter()
            .filter(|h| h.limit.needs_baseline());
        for hypothesis in relative {
            let query = Query::new(&hypothesis.metric, hypothesis.scope.as_ref());
            let found = said!(
                "compared with a baseline, and a restore has none: not looked at",
                "须与基线对比，单独恢复没有基线：不看"
            );
            let what = said!("guard {query}", "守护 {query}");
            self.say(what, CheckOutcome::Warned, found, None);
        }
        let found = said!(
            "not compared with a baseline; ALL CLEAR rests on the guard's absolute limits and on what is read back",
            "不与基线对比；全部恢复以守护的绝对上下限与回读为准"
        );
        let what = said!("the sheet's metrics", "对账单指标");
        self.say(what, CheckOutcome::Warned, found, None);
    }
}
