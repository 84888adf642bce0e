//! The targets: who they are, whether they exist, and that they are not everyone.

use super::Inspector;
use crate::{drill::faults, model::event::CheckOutcome};

impl Inspector {
    /// Every target has an address; none and all are both refused.
    pub(super) fn targets(&mut self) {
        let plan = self.plan.clone();
        let targets = &plan.drill.targets;
        let all = plan.environment.services.get(&targets.service);
        let known = all.map_or(0, |all| all.len());
        let missing: Vec<_> = targets
            .instances
            .iter()
            .filter(|i| !all.is_some_and(|all| all.contains_key(*i)))
            .collect();
        let names: Vec<_> = targets.instances.iter().map(ToString::to_string).collect();
        let names = names.join(", ");
        let next = Some("name the instances to hit; one is enough to learn from");
        if targets.instances.is_empty() {
            self.say("targets", CheckOutcome::Refused, "no target instance", next);
        } else if !missing.is_empty() {
            let found = format!("the environment has no {} {}", targets.service, missing[0]);
            self.say(
                "targets",
                CheckOutcome::Refused,
                found,
                Some("check the environment's services"),
            );
        } else if known > 1 && targets.instances.len() >= known {
            let found = format!("{names}: that is every instance of {}", targets.service);
            self.say("targets", CheckOutcome::Refused, found, next);
        } else {
            self.say(
                "targets",
                CheckOutcome::Passed,
                format!("{names} of {known} {}", targets.service),
                None,
            );
        }
        for step in &plan.drill.steps {
            if let Err(error) = faults::intents(&plan, step) {
                self.say(
                    &format!("step {}", step.name),
                    CheckOutcome::Refused,
                    error.to_string(),
                    None,
                );
            }
        }
    }
}
