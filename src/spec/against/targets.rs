//! Targets and steps: services and instances that the environment has.

use super::Check;
use crate::{
    model::{
        drill::{Action, Fault},
        environment::Stage,
        ids::{InstanceName, ServiceName},
    },
    spec::{
        diagnostic::{Problem, Severity},
        values::Bad,
    },
};

impl Check<'_> {
    pub(super) fn targets(&mut self) {
        let targets = &self.drill.targets;
        if self.service("targets.service", &targets.service) {
            for (i, instance) in targets.instances.iter().enumerate() {
                self.instance(format!("targets.instances.{i}"), &[&targets.service], instance);
            }
        }
    }

    /// Whether the environment has the service; notes it if not.
    pub(super) fn service(&mut self, keys: impl Into<String>, service: &ServiceName) -> bool {
        let environment = self.environment;
        let known = environment.services.get(service).is_some_and(|i| !i.is_empty());
        if !known {
            let names: Vec<&str> = environment.services.keys().map(ServiceName::as_str).collect();
            self.unknown(keys, "service", service.as_str(), &names);
        }
        known
    }

    fn instance(&mut self, keys: String, services: &[&ServiceName], instance: &InstanceName) {
        let environment = self.environment;
        let names: Vec<&str> = services
            .iter()
            .filter_map(|service| environment.services.get(*service))
            .flat_map(|instances| instances.keys())
            .map(InstanceName::as_str)
            .collect();
        if !names.contains(&instance.as_str()) {
            self.unknown(keys, "instance", instance.as_str(), &names);
        }
    }

    pub(super) fn steps(&mut self) {
        let drill = self.drill;
        for (i, step) in drill.steps.iter().enumerate() {
            match &step.action {
                Action::Observe => {}
                Action::Load(load) => self.template(format!("steps.{i}.load.url"), &load.url, &[]),
                Action::Fault { faults, envelope } => {
                    let mut services = vec![&drill.targets.service];
                    for (j, fault) in faults.iter().enumerate() {
                        let Fault::Rule { service, .. } = fault;
                        if let Some(service) = service {
                            self.service(format!("steps.{i}.faults.{j}.rule.service"), service);
                            services.push(service);
                        }
                        self.expiry(format!("steps.{i}.faults.{j}"), fault);
                    }
                    for (j, instance) in envelope.instances.iter().enumerate() {
                        self.instance(format!("steps.{i}.envelope.instances.{j}"), &services, instance);
                    }
                }
            }
        }
    }

    fn expiry(&mut self, keys: String, fault: &Fault) {
        let allowed = fault.has_native_expiry() || self.drill.accept_no_expiry;
        if self.environment.stage == Stage::Production && !allowed {
            let bad = Bad::new(format!(
                "`{}` never expires by itself, and this is production",
                fault.describe()
            ))
            .help("write `accept_no_expiry: true` if that is meant");
            self.note(Severity::Error, Problem::Unsafe, keys, bad);
        }
    }
}
