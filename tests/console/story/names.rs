//! The names of the story.

use allclear::model::{ids::*, sample::Query, text::Localized};

pub(super) fn text(en: &str, zh: &str) -> Localized {
    Localized {
        en: en.into(),
        zh: Some(zh.into()),
    }
}

pub(super) fn metric(name: &str) -> MetricId {
    MetricId::new(name).unwrap()
}

pub(super) fn scope(name: &str) -> Option<ScopeName> {
    (!name.is_empty()).then(|| ScopeName::new(name).unwrap())
}

pub(super) fn query(metric_name: &str, scope_name: &str) -> Query {
    Query {
        metric: metric(metric_name),
        scope: scope(scope_name),
        instance: None,
    }
}

pub(super) fn instance(name: &str) -> InstanceName {
    InstanceName::new(name).unwrap()
}

pub(super) fn service(name: &str) -> ServiceName {
    ServiceName::new(name).unwrap()
}

pub(super) fn step() -> StepName {
    StepName::new("coupon-delay").unwrap()
}

pub(super) fn run() -> RunId {
    RunId::new("7f3a21").unwrap()
}

pub fn fault() -> FaultId {
    FaultId::new(&run(), &step(), &instance("order-0"), 0)
}
