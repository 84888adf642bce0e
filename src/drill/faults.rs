//! From a step to the faults it makes: one intent an instance and fault, named before anything is created.

use crate::model::{
    drill::{Action, Envelope, Fault, Step},
    ids::{FaultId, InstanceName, ServiceName},
    plan::Plan,
    time::Span,
    undo::{FaultIntent, UndoFault},
};

/// How long after the planned end the target itself drops a fault that nobody stopped.
pub const EXPIRY_MARGIN: Span = Span::seconds(5);

/// Why a step cannot be turned into faults.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoTarget {
    /// The environment has no such instance.
    #[error("instance `{instance}` of service `{service}` has no address in the environment")]
    NoAddress {
        /// The service.
        service: ServiceName,
        /// The instance.
        instance: InstanceName,
    },
    /// Nothing would be hit.
    #[error("step `{step}` has no target instance: its envelope leaves none of the targets")]
    Nothing {
        /// The step.
        step: String,
    },
}

/// The instances that a fault of `step` hits: the drill's targets, or all instances of the fault's own service,
/// narrowed by the envelope.
pub fn instances<'a>(
    plan: &'a Plan,
    fault: &'a Fault,
    envelope: &Envelope,
) -> (&'a ServiceName, Vec<&'a InstanceName>) {
    let targets = &plan.drill.targets;
    let Fault::Rule { service, .. } = fault;
    let (service, all): (_, Vec<_>) = match service {
        Some(other) if other != &targets.service => (
            other,
            plan.environment
                .services
                .get(other)
                .map(|m| m.keys().collect())
                .unwrap_or_default(),
        ),
        _ => (&targets.service, targets.instances.iter().collect()),
    };
    let kept = all
        .into_iter()
        .filter(|i| envelope.instances.is_empty() || envelope.instances.contains(i))
        .collect();
    (service, kept)
}

/// The intents of `step`, in a stable order, each with the fault it stands for.
pub fn intents<'a>(
    plan: &'a Plan,
    step: &'a Step,
) -> Result<Vec<(FaultIntent, Option<&'a Fault>)>, NoTarget> {
    let lifetime = step.duration + EXPIRY_MARGIN;
    match &step.action {
        Action::Observe => Ok(Vec::new()),
        Action::Load(load) => {
            let sender = InstanceName::new("allclear").expect("a constant that is a name");
            let intent = FaultIntent {
                id: FaultId::new(&plan.run, &step.name, &sender, 0),
                step: step.name.clone(),
                instance: sender,
                what: format!("load {}/s", load.rate),
                undo: UndoFault::Load,
                expires_in: Some(lifetime),
            };
            Ok(vec![(intent, None)])
        }
        Action::Fault { faults, envelope } => {
            let mut all = Vec::new();
            for (n, fault) in faults.iter().enumerate() {
                let (service, hit) = instances(plan, fault, envelope);
                for instance in hit {
                    let address =
                        plan.environment
                            .address(service, instance)
                            .ok_or_else(|| NoTarget::NoAddress {
                                service: service.clone(),
                                instance: instance.clone(),
                            })?;
                    all.push((
                        rule_intent(plan, step, fault, instance, address, n, lifetime),
                        Some(fault),
                    ));
                }
            }
            if all.is_empty() {
                return Err(NoTarget::Nothing {
                    step: step.name.to_string(),
                });
            }
            Ok(all)
        }
    }
}

fn rule_intent(
    plan: &Plan,
    step: &Step,
    fault: &Fault,
    instance: &InstanceName,
    address: &str,
    n: usize,
    lifetime: Span,
) -> FaultIntent {
    FaultIntent {
        id: FaultId::new(&plan.run, &step.name, instance, n),
        step: step.name.clone(),
        instance: instance.clone(),
        what: fault.describe(),
        undo: UndoFault::Rule {
            base: format!("http://{address}"),
        },
        expires_in: fault.has_native_expiry().then_some(lifetime),
    }
}
