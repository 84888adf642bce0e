//! A plan of a drill with nothing but a playbook.

// What the small plan of the crate's own tests names.
use allclear::model::{dashboard, drill, environment, ids, plan, playbook, text, time};

#[path = "../../src/model/testing.rs"]
mod testing;

pub use testing::nothing_to_do;

/// An environment without instances.
pub fn environment() -> environment::Environment {
    testing::environment(&[])
}

/// A plan to recover by this playbook, with these targets.
pub fn plan(
    environment: environment::Environment,
    targets: &[&str],
    recovery: playbook::Playbook,
) -> plan::Plan {
    let mut drill = testing::drill(Vec::new());
    drill.baseline = time::Span::seconds(1);
    let names = targets.iter().map(|name| ids::InstanceName::new(name).unwrap());
    drill.targets.instances = names.collect();
    drill.recovery = recovery;
    testing::plan(drill, environment)
}
