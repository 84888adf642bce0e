//! The targets: who they are, whether they exist, and that they are not everyone.

use super::Inspector;
use crate::{
    drill::faults,
    model::{
        event::CheckOutcome,
        said::{Said, said},
    },
};

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
        let next = Some(said!(
            "name the instances to hit; one is enough to learn from",
            "请写明要命中的实例；一个就足够"
        ));
        let (what, service) = (said!("targets", "目标"), &targets.service);
        if targets.instances.is_empty() {
            let found = said!("no target instance", "没有目标实例");
            self.say(what, CheckOutcome::Refused, found, next);
        } else if let Some(first) = missing.first() {
            let found = said!(
                "the environment has no {service} {first}",
                "环境中没有 {service} 的 {first}"
            );
            let next = Some(said!("check the environment's services", "请检查环境的 services"));
            self.say(what, CheckOutcome::Refused, found, next);
        } else if known > 1 && targets.instances.len() >= known {
            let found = said!(
                "{names}: that is every instance of {service}",
                "{names}：这是 {service} 的全部实例"
            );
            self.say(what, CheckOutcome::Refused, found, next);
        } else {
            let found = said!("{names} of {known} {service}", "{names}，共 {known} 个 {service}");
            self.say(what, CheckOutcome::Passed, found, None);
        }
        for step in &plan.drill.steps {
            if let Err(error) = faults::intents(&plan, step) {
                let name = &step.name;
                let found = Said::as_it_is(error.to_string());
                self.say(
                    said!("step {name}", "步骤 {name}"),
                    CheckOutcome::Refused,
                    found,
                    None,
                );
            }
        }
    }
}
