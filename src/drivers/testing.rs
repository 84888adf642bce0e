//! What the tests of drivers and recovery share: a small environment and plan.

use std::collections::BTreeMap;

use crate::model::{
    dashboard::Dashboard,
    drill::{Drill, Guard, Targets},
    environment::{Environment, MetricsSource, Stage},
    ids::{DashboardName, DrillName, EnvironmentName, InstanceName, RunId, ServiceName},
    plan::{Plan, Purpose},
    playbook::Playbook,
    text::{Lang, Localized},
    time::Span,
};

/// An environment of these (service, instance, address).
pub fn environment(instances: &[(&str, &str, &str)]) -> Environment {
    let mut services: BTreeMap<ServiceName, BTreeMap<InstanceName, String>> = BTreeMap::new();
    for (service, instance, address) in instances {
        let of_service = services.entry(ServiceName::new(service).unwrap()).or_default();
        of_service.insert(InstanceName::new(instance).unwrap(), (*address).to_owned());
    }
    Environment {
        name: EnvironmentName::new("here").unwrap(),
        stage: Stage::Practice,
        metrics: MetricsSource::Scrape {
            every: Span::seconds(1),
            path: "/metrics".into(),
        },
        services,
        redis: BTreeMap::new(),
        gateways: BTreeMap::new(),
        notify: Vec::new(),
    }
}

/// A plan with no steps: targets are the instances of `order`.
pub fn plan(environment: Environment, recovery: Playbook) -> Plan {
    let service = ServiceName::new("order").unwrap();
    let targets = environment
        .services
        .get(&service)
        .map(|s| s.keys().cloned().collect());
    Plan {
        run: RunId::new("7f3a").unwrap(),
        drill: Drill {
            name: DrillName::new("coupon-slow").unwrap(),
            title: Localized::plain("t"),
            hypothesis: Localized::plain("h"),
            dashboard: Dashboard {
                name: DashboardName::new("shop").unwrap(),
                scopes: Vec::new(),
                metrics: Vec::new(),
                panels: Vec::new(),
                topology: Vec::new(),
            },
            risk: None,
            baseline: Span::seconds(1),
            window: Span::seconds(1),
            settle: None,
            guard: Guard {
                every: Span::seconds(1),
                samples: 3,
                steady_state: Vec::new(),
                tripwires: Vec::new(),
            },
            targets: Targets {
                service,
                instances: targets.unwrap_or_default(),
            },
            steps: Vec::new(),
            recovery,
            accept_no_expiry: false,
        },
        drill_source: String::new(),
        drill_folder: "/".into(),
        environment,
        started_by: "someone".into(),
        purpose: Purpose::Drill,
        attended: true,
        lang: Lang::En,
        allclear_version: "0".into(),
    }
}

/// A playbook that has nothing.
pub fn nothing_to_do() -> Playbook {
    Playbook {
        gateway: None,
        breakers: Vec::new(),
        flags: Vec::new(),
        retry_queues: Vec::new(),
        pools: Vec::new(),
        commands: Vec::new(),
        hold: Span::seconds(1),
        verify_within: Span::seconds(5),
    }
}
