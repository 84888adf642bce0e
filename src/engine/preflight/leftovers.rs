//! Rules that are there already: other people's, or what an earlier run left.

use super::Inspector;
use crate::{
    drill::faults,
    model::{
        drill::{Action, Fault},
        event::CheckOutcome,
        ids::InstanceName,
        plan::Plan,
    },
};

impl Inspector {
    /// Rules that are there already: other people's, or what an earlier run left.
    pub(super) async fn leftovers_of_others(&mut self) -> Vec<String> {
        let plan = self.plan.clone();
        let mut bases: Vec<(InstanceName, String)> = Vec::new();
        for (instance, base, _) in rule_places(&plan) {
            if !bases.iter().any(|(_, b)| b == &base) {
                bases.push((instance, base));
            }
        }
        let mut foreign = Vec::new();
        for (instance, base) in bases {
            if let Ok(rules) = self.drivers.point().rules(&base).await {
                foreign.extend(rules.iter().map(|r| format!("{} on {instance}", r.describe())));
            }
        }
        if foreign.is_empty() {
            self.say(
                "earlier runs",
                CheckOutcome::Passed,
                "nothing left at the injectors",
                None,
            );
        } else {
            let next = Some("`allclear recover` removes what an earlier run left; others' rules stay");
            self.say("earlier runs", CheckOutcome::Warned, foreign.join("; "), next);
        }
        foreign
    }
}

/// Every place that gets a rule: instance, base URL and point, each once.
fn rule_places(plan: &Plan) -> Vec<(InstanceName, String, String)> {
    let mut all = Vec::new();
    for step in &plan.drill.steps {
        let Action::Fault { faults, envelope } = &step.action else {
            continue;
        };
        for fault in faults {
            let Fault::Rule { point, .. } = fault;
            let (service, hit) = faults::instances(plan, fault, envelope);
            for instance in hit {
                let Some(address) = plan.environment.address(service, instance) else {
                    continue;
                };
                let place = (instance.clone(), format!("http://{address}"), point.clone());
                if !all.contains(&place) {
                    all.push(place);
                }
            }
        }
    }
    all
}
