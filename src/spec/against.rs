//! What only shows once a drill meets an environment: names that it does not have, metrics that it cannot read.

use super::{
    Source,
    diagnostic::{Diagnostic, Problem, Severity},
    names::meant,
    report::locate,
    values::{Bad, address},
};
use crate::model::{
    dashboard::Read,
    drill::{Action, Drill, Fault},
    environment::{Environment, MetricsSource, Stage},
    ids::{InstanceName, ServiceName},
    playbook::{Breakers, Flags, Gateway, How, PoolDrain, Restart, RetryQueue, Via},
    time::Span,
};

/// Compares a drill with the environment it is to run in. The diagnostics know the keys they are about;
/// [`Diagnostic::located`] finds the lines.
pub fn check_against(drill: &Drill, environment: &Environment) -> Vec<Diagnostic> {
    let mut check = Check {
        drill,
        environment,
        found: Vec::new(),
    };
    check.targets();
    check.steps();
    check.recovery();
    check.metrics();
    check.found
}

impl Diagnostic {
    /// The same with the line of the drill file that it is about.
    pub fn located(self, source: &Source) -> Diagnostic {
        locate(self, source)
    }
}

struct Check<'a> {
    drill: &'a Drill,
    environment: &'a Environment,
    found: Vec<Diagnostic>,
}

impl Check<'_> {
    fn note(&mut self, severity: Severity, problem: Problem, keys: impl Into<String>, bad: Bad) {
        self.found.push(Diagnostic {
            severity,
            problem,
            message: bad.message,
            help: bad.help,
            span: None,
            keys: keys.into(),
            path: format!("drill {}", self.drill.name),
            source: None,
        });
    }

    fn unknown(&mut self, keys: impl Into<String>, what: &str, name: &str, known: &[&str]) {
        let bad = Bad::new(format!(
            "environment `{}` has no {what} `{name}`",
            self.environment.name
        ))
        .help(meant(name, &format!("{what}s there"), known.iter().copied()));
        self.note(Severity::Error, Problem::UnknownName, keys, bad);
    }

    fn targets(&mut self) {
        let targets = &self.drill.targets;
        if self.service("targets.service", &targets.service) {
            for (i, instance) in targets.instances.iter().enumerate() {
                self.instance(format!("targets.instances.{i}"), &[&targets.service], instance);
            }
        }
    }

    /// Whether the environment has the service; notes it if not.
    fn service(&mut self, keys: impl Into<String>, service: &ServiceName) -> bool {
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

    fn steps(&mut self) {
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

    fn recovery(&mut self) {
        let (playbook, environment) = (&self.drill.recovery, self.environment);
        if let Some(Gateway::Haproxy { sockets, .. }) = &playbook.gateway {
            let names: Vec<&str> = environment.gateways.keys().map(|name| name.as_str()).collect();
            for (i, socket) in sockets.iter().enumerate() {
                let is_address = socket.starts_with('/') || address(socket).is_ok();
                if !is_address && !names.contains(&socket.as_str()) {
                    let keys = match sockets.len() {
                        1 => "recovery.gateway.haproxy.socket".to_owned(),
                        _ => format!("recovery.gateway.haproxy.socket.{i}"),
                    };
                    self.unknown(keys, "gateway", socket, &names);
                }
            }
        }
        for (i, entry) in playbook.breakers.iter().enumerate() {
            match entry {
                Breakers::Resilience4j {
                    actuator,
                    callers,
                    via,
                    ..
                } => {
                    let keys = format!("recovery.breakers.{i}.resilience4j");
                    self.service(format!("{keys}.callers"), callers);
                    self.template(format!("{keys}.actuator"), actuator, &["instance", "host"]);
                    let given = &["instance", "host", "name"];
                    match via {
                        Via::App { url } => self.template(format!("{keys}.via.app"), url, given),
                        Via::Probe { url, .. } => self.template(format!("{keys}.via.wait.probe"), url, given),
                        Via::Close | Via::Wait => {}
                    }
                }
                Breakers::Sentinel { api, callers, .. } => {
                    let keys = format!("recovery.breakers.{i}.sentinel");
                    self.service(format!("{keys}.callers"), callers);
                    self.template(format!("{keys}.api"), api, &["instance", "host"]);
                }
            }
        }
        for (i, entry) in playbook.flags.iter().enumerate() {
            let Flags::Redis { server, .. } = entry;
            if !environment.redis.contains_key(server) {
                let names: Vec<&str> = environment.redis.keys().map(|name| name.as_str()).collect();
                self.unknown(
                    format!("recovery.flags.{i}.redis.server"),
                    "Redis server",
                    server.as_str(),
                    &names,
                );
            }
        }
        for (i, entry) in playbook.retry_queues.iter().enumerate() {
            match entry {
                RetryQueue::Http { url, .. } => {
                    self.template(format!("recovery.retry_queues.{i}.http.url"), url, &[]);
                }
                RetryQueue::Kafka(queue) if !environment.kafka.contains_key(&queue.cluster) => {
                    let names: Vec<&str> = environment.kafka.keys().map(|name| name.as_str()).collect();
                    let keys = format!("recovery.retry_queues.{i}.kafka.cluster");
                    self.unknown(keys, "Kafka cluster", queue.cluster.as_str(), &names);
                }
                RetryQueue::Kafka(_) => {}
            }
        }
        for (i, pool) in playbook.pools.iter().enumerate() {
            let keys = format!("recovery.pools.{i}");
            if let Some(Restart::Http { url }) = &pool.if_stuck {
                self.template(format!("{keys}.if_stuck.http.restart"), url, OF_INSTANCE);
            }
            if let Some(url) = &pool.ready {
                self.template(format!("{keys}.ready"), url, OF_INSTANCE);
            }
            self.restart(keys, pool);
        }
        for (i, command) in playbook.commands.iter().enumerate() {
            let keys = format!("recovery.commands.{i}.http");
            if let How::Http {
                method, url, check, ..
            } = &command.how
            {
                let method = method.as_str().to_lowercase();
                self.template(format!("{keys}.{method}"), url, OF_INSTANCE);
                if let Some(check) = check {
                    self.template(format!("{keys}.check.get"), &check.url, OF_INSTANCE);
                }
            }
        }
    }

    /// A program that names no instance would restart the same thing for each.
    fn restart(&mut self, keys: String, pool: &PoolDrain) {
        let Some(Restart::Command { run, .. }) = &pool.if_stuck else {
            return;
        };
        let places: Vec<String> = OF_INSTANCE.iter().map(|name| format!("{{{name}}}")).collect();
        let is_told_apart = run.iter().any(|w| places.iter().any(|p| w.contains(p)));
        if !is_told_apart && self.drill.targets.instances.len() > 1 {
            let bad = Bad::new("the restart names no instance, and there are several targets")
                .help("write `{instance}`, `{host}` or `{target}` where the instance belongs");
            self.note(
                Severity::Error,
                Problem::BadValue,
                format!("{keys}.if_stuck"),
                bad,
            );
        }
    }

    /// Every `{…}` of a URL must be filled: by `run`, by what its place gives, by an instance, or by a service that has
    /// one instance.
    fn template(&mut self, keys: String, url: &str, given: &[&str]) {
        let environment = self.environment;
        for inside in url.split('{').skip(1) {
            let Some((name, _)) = inside.split_once('}') else {
                let bad = Bad::new("a `{` without `}` in a URL");
                self.note(Severity::Error, Problem::BadValue, keys.clone(), bad);
                continue;
            };
            let instances = environment
                .services
                .values()
                .flat_map(|i| i.keys())
                .map(InstanceName::as_str);
            let alone = environment
                .services
                .iter()
                .filter(|(_, i)| i.len() == 1)
                .map(|(s, _)| s.as_str());
            let known: Vec<&str> = given
                .iter()
                .copied()
                .chain(["run"])
                .chain(instances)
                .chain(alone)
                .collect();
            if known.contains(&name) {
                continue;
            }
            let several = ServiceName::new(name)
                .ok()
                .and_then(|s| environment.services.get(&s));
            let bad = match several {
                Some(instances) => Bad::new(format!("`{{{name}}}` has {} instances", instances.len()))
                    .help("name one of them: a URL leads to one address"),
                None => Bad::new(format!(
                    "nothing fills `{{{}}}` in environment `{}`",
                    super::values::one_line(name),
                    environment.name
                ))
                .help(meant(name, "names", known)),
            };
            self.note(Severity::Error, Problem::UnknownName, keys.clone(), bad);
        }
    }

    fn metrics(&mut self) {
        let interval = match &self.environment.metrics {
            MetricsSource::Prometheus(p) => p.scrape_interval,
            MetricsSource::Scrape { every, .. } => {
                self.without_server();
                Some(*every)
            }
        };
        if let Some(interval) = interval.filter(|i| *i > self.drill.window) {
            let bad = Bad::new(format!(
                "samples come every {interval}: most windows of {} stay empty",
                self.drill.window
            ))
            .help(format!("write `window: {}` or more", longer(interval)));
            self.note(Severity::Warning, Problem::Weak, "window", bad);
        }
    }

    /// Notes every metric in use that only a Prometheus server can answer.
    fn without_server(&mut self) {
        let drill = self.drill;
        for (id, _) in drill.watched() {
            let needs_server = drill
                .dashboard
                .metric(&id)
                .is_some_and(|m| matches!(m.read, Read::Promql { .. }));
            if needs_server {
                let bad = Bad::new(format!(
                    "`{id}` is a `promql` metric, and environment `{}` has no Prometheus server",
                    self.environment.name
                ))
                .help("read it as a `ratio`, `rate`, `quantile` or `gauge`, or add `prometheus:` to the environment");
                let keys = keys_of(drill, id.as_str());
                self.note(Severity::Error, Problem::Unsafe, keys, bad);
            }
        }
    }
}

/// What a place that is filled for an instance gives.
const OF_INSTANCE: &[&str] = &["instance", "host", "target"];

/// A window that holds two samples.
fn longer(interval: Span) -> Span {
    interval * 2
}

/// Where a drill first uses a metric.
fn keys_of(drill: &Drill, id: &str) -> String {
    let guard = drill
        .guard
        .steady_state
        .iter()
        .position(|h| h.metric.as_str() == id);
    if let Some(i) = guard {
        return format!("guard.steady_state.{i}.metric");
    }
    for (i, step) in drill.steps.iter().enumerate() {
        if let Some(j) = step.expect.iter().position(|e| e.metric.as_str() == id) {
            return format!("steps.{i}.expect.{j}.metric");
        }
    }
    match drill.recovery.pools.iter().position(|p| p.metric.as_str() == id) {
        Some(i) => format!("recovery.pools.{i}.metric"),
        None => "guard".to_owned(),
    }
}
