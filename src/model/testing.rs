//! What tests of several modules begin with: a small drill, environment and plan, to be changed where a test cares.

use std::collections::BTreeMap;

use super::{
    dashboard::Dashboard,
    drill::{Action, Drill, Effect, Envelope, Fault, Guard, Start, Step, Targets},
    environment::{Environment, MetricsSource, Stage},
    ids::{DashboardName, DrillName, EnvironmentName, InstanceName, RunId, ServiceName, StepName},
    plan::{Plan, Purpose},
    playbook::Playbook,
    text::{Lang, Localized},
    time::Span,
};

/// A drill of these steps on `order-0`, with windows of a second, without a guard, and with nothing to put back.
pub fn drill(steps: Vec<Step>) -> Drill {
    Drill {
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
        baseline: Span::seconds(60),
        window: Span::seconds(1),
        settle: None,
        guard: Guard {
            every: Span::seconds(1),
            samples: 3,
            steady_state: Vec::new(),
            tripwires: Vec::new(),
        },
        targets: Targets {
            service: ServiceName::new("order").unwrap(),
            instances: vec![InstanceName::new("order-0").unwrap()],
        },
        steps,
        recovery: Playbook {
            hold: Span::seconds(3),
            verify_within: Span::seconds(60),
            ..nothing_to_do()
        },
        accept_no_expiry: false,
    }
}

/// A step without rows; one that breaks delays `coupon.query` by two seconds.
pub fn step(name: &str, seconds: u64, start: Start, breaks: bool) -> Step {
    let rule = Fault::Rule {
        point: "coupon.query".into(),
        service: None,
        effect: Effect::Delay {
            mean: Span::seconds(2),
            jitter: Span::ZERO,
        },
    };
    Step {
        name: StepName::new(name).unwrap(),
        action: if breaks {
            Action::Fault {
                faults: vec![rule],
                envelope: Envelope::default(),
            }
        } else {
            Action::Observe
        },
        duration: Span::seconds(seconds),
        start,
        settle: None,
        expect: Vec::new(),
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

/// An environment of these (service, instance, address), scraped each second.
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
        kafka: BTreeMap::new(),
        rocketmq: BTreeMap::new(),
        kubernetes: None,
        gateways: BTreeMap::new(),
        lease: None,
        notify: Vec::new(),
    }
}

/// A plan to run that drill there.
pub fn plan(drill: Drill, environment: Environment) -> Plan {
    Plan {
        run: RunId::new("7f3a").unwrap(),
        drill,
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
