//! Before a restore: everything is read, nothing is refused. There is no time to mend a file.

use super::{Found, Inspector};
use crate::{
    engine::{meters::Meters, recovery},
    model::{event::CheckOutcome, sample::Query},
};

impl Inspector {
    /// Reads what the playbook puts back. A healthy state stands in for the snapshot.
    pub(super) async fn read_for_restore(mut self, meters: Result<Meters, String>) -> Found {
        let meters = meters.map_err(|why| {
            let next = Some("check the environment's address and secrets: without metrics nothing is proved");
            self.say("metrics source", CheckOutcome::Warned, why, next);
        });
        self.say_what_is_not_compared();
        let mut restoring = recovery::read_restoring(&self.plan, &self.drivers).await;
        for change in restoring.changes(&self.plan) {
            let found = format!("{} -> {}", change.now.en(), change.then.en());
            self.say(change.what.en(), CheckOutcome::Warned, found, None);
        }
        for decided in std::mem::take(&mut restoring.decided) {
            self.say("left as it is", CheckOutcome::Warned, decided.en(), None);
        }
        for check in std::mem::take(&mut restoring.checks) {
            self.check(check);
        }
        Found {
            meters: meters.ok(),
            snapshot: restoring.healthy,
            reach: Vec::new(),
            refused: Vec::new(),
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
            let found = "compared with a baseline, and a restore has none: not looked at";
            self.say(&format!("guard {query}"), CheckOutcome::Warned, found, None);
        }
        let found = "not compared with a baseline; ALL CLEAR rests on the guard's absolute limits and on what is read back";
        self.say("the sheet's metrics", CheckOutcome::Warned, found, None);
    }
}
