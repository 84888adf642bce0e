//! What the tests of drivers and recovery share: a plan whose targets are the instances of `order`.

pub use crate::model::testing::{environment, nothing_to_do};
use crate::model::{
    drill::{Drill, Targets},
    environment::Environment,
    ids::ServiceName,
    plan::Plan,
    playbook::Playbook,
    testing::{self, drill},
    time::Span,
};

/// A plan with no steps: targets are the instances of `order`.
pub fn plan(environment: Environment, recovery: Playbook) -> Plan {
    let service = ServiceName::new("order").unwrap();
    let instances = environment.services.get(&service);
    let drill = Drill {
        baseline: Span::seconds(1),
        targets: Targets {
            instances: instances.map(|s| s.keys().cloned().collect()).unwrap_or_default(),
            service,
        },
        recovery,
        ..drill(Vec::new())
    };
    testing::plan(drill, environment)
}
