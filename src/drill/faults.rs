//! From a step to the faults it makes: one intent an instance and fault, named before anything is created.

use crate::model::{
    drill::{Action, Envelope, Fault, Load, Step},
    ids::{FaultId, InstanceName, ServiceName},
    plan::Plan,
    said::Said,
    time::Span,
    undo::{FaultIntent, UndoFault},
};

/// How long after the planned end the target itself drops a fault that nobody stopped.
pub const EXPIRY_MARGIN: Span = Span::seconds(5);

/// Why a step cannot be turned into faults.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoTarget {
    /// The environment has no such instance.
    #[error(
        "instance `{instance}` of service `{service}` has no address in the environment; add it to allclear.yaml"
    )]
    NoAddress {
        /// The service.
        service: ServiceName,
        /// The instance.
        instance: InstanceName,
    },
    /// Nothing would be hit.
    #[error(
        "step `{step}` has no target instance: its envelope leaves none of the targets; name one of them in it"
    )]
    Nothing {
        /// The step.
        step: String,
    },
}

impl NoTarget {
    /// The same in both languages.
    pub fn said(&self) -> Said {
        let zh = match self {
            NoTarget::NoAddress { service, instance } => {
                format!("服务 `{service}` 的实例 `{instance}` 在环境中没有地址；请补进 allclear.yaml")
            }
            NoTarget::Nothing { step } => {
                format!("步骤 `{step}` 没有目标实例：其 envelope 未留下任何目标；请在其中写明一个")
            }
        };
        Said::new(self.to_string(), zh)
    }
}

/// A fault aimed at one of the instances that it hits.
#[derive(Debug, Clone, Copy)]
pub struct Aim<'a> {
    /// Which fault of its step.
    pub n: usize,
    /// The fault.
    pub fault: &'a Fault,
    /// What it may hit there.
    pub envelope: &'a Envelope,
    /// The service of the instance.
    pub service: &'a ServiceName,
    /// The instance.
    pub instance: &'a InstanceName,
}

impl<'a> Aim<'a> {
    /// The injection point.
    pub fn point(&self) -> &'a str {
        let Fault::Rule { point, .. } = self.fault;
        point
    }
}

/// Every fault of the drill at every instance that it hits: step by step, in the file's order.
pub fn aims(plan: &Plan) -> impl Iterator<Item = Aim<'_>> {
    plan.drill.steps.iter().flat_map(|step| aims_of(plan, step))
}

/// The faults of one step, each at every instance that it hits.
pub fn aims_of<'a>(plan: &'a Plan, step: &'a Step) -> impl Iterator<Item = Aim<'a>> {
    let (faults, envelope) = match &step.action {
        Action::Fault { faults, envelope } => (faults.as_slice(), Some(envelope)),
        Action::Observe | Action::Load(_) => (&[][..], None),
    };
    let numbered = faults.iter().enumerate();
    let aimed = numbered.filter_map(move |(n, fault)| Some((n, fault, envelope?)));
    aimed.flat_map(move |(n, fault, envelope)| {
        let (service, hit) = instances(plan, fault, envelope);
        hit.into_iter().map(move |instance| Aim {
            n,
            fault,
            envelope,
            service,
            instance,
        })
    })
}

/// The instances that a fault hits: the drill's targets, or all instances of the fault's own service, narrowed by the
/// envelope.
fn instances<'a>(
    plan: &'a Plan,
    fault: &'a Fault,
    envelope: &Envelope,
) -> (&'a ServiceName, Vec<&'a InstanceName>) {
    let targets = &plan.drill.targets;
    let Fault::Rule { service, .. } = fault;
    let (service, all): (_, Vec<_>) = match service {
        Some(other) if other != &targets.service => {
            let known = plan.environment.services.get(other);
            (other, known.map(|m| m.keys().collect()).unwrap_or_default())
        }
        _ => (&targets.service, targets.instances.iter().collect()),
    };
    let kept = all
        .into_iter()
        .filter(|i| envelope.instances.is_empty() || envelope.instances.contains(i))
        .collect();
    (service, kept)
}

/// The intents of `step`, in a stable order, each with the fault it stands for.
///
/// # Errors
/// [`NoTarget`] if an instance has no address, or nothing would be hit.
pub fn intents<'a>(
    plan: &'a Plan,
    step: &'a Step,
) -> Result<Vec<(FaultIntent, Option<&'a Fault>)>, NoTarget> {
    match &step.action {
        Action::Observe => Ok(Vec::new()),
        Action::Load(load) => Ok(vec![(load_intent(plan, step, load), None)]),
        Action::Fault { .. } => {
            let all: Vec<_> = aims_of(plan, step)
                .map(|aim| Ok((rule_intent(plan, step, aim)?, Some(aim.fault))))
                .collect::<Result<_, NoTarget>>()?;
            if all.is_empty() {
                return Err(NoTarget::Nothing {
                    step: step.name.to_string(),
                });
            }
            Ok(all)
        }
    }
}

fn lifetime(step: &Step) -> Span {
    step.duration + EXPIRY_MARGIN
}

fn load_intent(plan: &Plan, step: &Step, load: &Load) -> FaultIntent {
    let sender = InstanceName::new("allclear").expect("a constant that is a name");
    FaultIntent {
        id: FaultId::new(&plan.run, &step.name, &sender, 0),
        step: step.name.clone(),
        instance: sender,
        what: load.describe(),
        undo: UndoFault::Load,
        expires_in: Some(lifetime(step)),
    }
}

fn rule_intent(plan: &Plan, step: &Step, aim: Aim<'_>) -> Result<FaultIntent, NoTarget> {
    let Aim {
        n,
        fault,
        service,
        instance,
        ..
    } = aim;
    let address = plan
        .environment
        .address(service, instance)
        .ok_or_else(|| NoTarget::NoAddress {
            service: service.clone(),
            instance: instance.clone(),
        })?;
    Ok(FaultIntent {
        id: FaultId::new(&plan.run, &step.name, instance, n),
        step: step.name.clone(),
        instance: instance.clone(),
        what: fault.describe(),
        undo: UndoFault::Rule {
            base: format!("http://{address}"),
        },
        expires_in: fault.has_native_expiry().then_some(lifetime(step)),
    })
}
