//! The direct readings of the target instances, for the tripwires.

use crate::{
    metrics::{MetricsError, Source, Store, Wanted, wanted},
    model::{ids::InstanceName, plan::Plan, time::Span},
};

/// The direct reading of one target instance.
pub(in crate::engine) struct Trip {
    pub instance: InstanceName,
    pub store: Store,
    pub(super) wanted: Vec<Wanted>,
    pub(super) source: Option<Source>,
}

pub(super) fn open_trips(plan: &Plan) -> Result<Vec<Trip>, MetricsError> {
    if plan.drill.guard.tripwires.is_empty() {
        return Ok(Vec::new());
    }
    let asked: Vec<_> = plan
        .drill
        .guard
        .tripwires
        .iter()
        .map(|t| (t.metric.clone(), t.scope.clone()))
        .collect();
    let service = &plan.drill.targets.service;
    plan.drill
        .targets
        .instances
        .iter()
        .map(|instance| {
            let one = std::slice::from_ref(instance);
            let wanted = wanted(&plan.drill.dashboard, &asked, one);
            let source = Source::targets(&plan.environment, &[(service.clone(), instance.clone())])?;
            Ok(Trip {
                instance: instance.clone(),
                store: Store::new(&wanted, Span::seconds(30)),
                wanted,
                source: Some(source),
            })
        })
        .collect()
}
