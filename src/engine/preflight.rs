//! Preflight: looks at everything, touches nothing, and refuses what could not be stopped, seen or put back.

use std::{collections::BTreeMap, sync::Arc};

use tokio::sync::mpsc;

use super::{
    Done, Engine,
    measuring::{Meters, of_instance},
    recovery,
};
use crate::{
    drill::{Input, faults, guard, reach},
    drivers::Drivers,
    metrics::{Probe, Source, Store, Wanted},
    model::{
        dashboard::MetricKind,
        drill::{Action, Fault},
        environment::Stage,
        event::{Body, Check, CheckOutcome},
        ids::{InstanceName, ServiceName},
        plan::Plan,
        sample::{Gap, Query, Reading},
        snapshot::Snapshot,
        time::Span,
    },
};

/// A clock of the source that differs from ours by more is worth a warning.
const SKEW: Span = Span::seconds(5);

/// A newest sample that is older, at any spacing of samples, says nothing about now.
const STALE: Span = Span::seconds(5);

/// What preflight found.
pub(super) struct Found {
    meters: Option<Meters>,
    snapshot: Snapshot,
    reach: Vec<crate::model::event::ReachLine>,
    refused: Vec<String>,
}

impl Engine {
    pub(super) fn run_preflight(&mut self) {
        let (tripwire, guard) = (
            guard::tripwire_stop(&self.plan.drill.guard),
            guard::worst_stop(&self.plan.drill.guard),
        );
        self.ledger.emit(Body::Stops { tripwire, guard });
        let inspector = Inspector {
            plan: self.plan.clone(),
            drivers: self.drivers.clone(),
            done: self.done.clone(),
            refused: Vec::new(),
        };
        let meters = Meters::open(&self.plan, &self.secrets).map_err(|e| e.to_string());
        let done = self.done.clone();
        self.spawn(async move {
            let found = inspector.inspect(meters).await;
            let _ = done.send(Done::Preflight(Box::new(found)));
        });
    }

    pub(super) async fn preflighted(&mut self, found: Found) {
        let Found {
            meters,
            snapshot,
            reach,
            mut refused,
        } = found;
        self.meters = meters;
        self.ledger.emit(Body::Reach(reach));
        self.snapshot = Arc::new(snapshot.clone());
        // A keeper that takes over has nothing else to compare with: without it on the disk nothing is begun.
        if let Err(error) = self
            .ledger
            .emit_durably(Body::SnapshotTaken(Box::new(snapshot)))
            .await
        {
            refused.push(format!("the snapshot cannot be written down: {error}"));
        }
        if refused.is_empty() {
            self.start_meters();
        }
        self.feed(Input::PreflightDone { refused });
    }
}

struct Inspector {
    plan: Arc<Plan>,
    drivers: Arc<Drivers>,
    done: mpsc::UnboundedSender<Done>,
    refused: Vec<String>,
}

impl Inspector {
    async fn inspect(mut self, meters: Result<Meters, String>) -> Found {
        self.targets();
        self.guard_is_worth_it();
        self.expiry();
        let mut meters = match meters {
            Ok(meters) => Some(meters),
            Err(why) => {
                self.say(
                    "metrics source",
                    CheckOutcome::Refused,
                    why,
                    Some("check the environment's address and secrets"),
                );
                None
            }
        };
        if let Some(open) = &mut meters {
            self.source(open).await;
        }
        let (mut snapshot, checks) = recovery::read_snapshot(&self.plan, &self.drivers).await;
        for check in checks {
            self.check(check);
        }
        snapshot.foreign.extend(self.leftovers_of_others().await);
        snapshot.foreign.sort();
        snapshot.foreign.dedup();
        let reach = match &mut meters {
            Some(open) => self.reach(open).await,
            None => Vec::new(),
        };
        Found {
            meters,
            snapshot,
            reach,
            refused: self.refused,
        }
    }

    fn check(&mut self, check: Check) {
        if check.outcome == CheckOutcome::Refused {
            let next = check.next.as_ref().map(|n| format!("; {n}")).unwrap_or_default();
            self.refused
                .push(format!("{}: {}{next}", check.what, check.found));
        }
        let _ = self.done.send(Done::Check(check));
    }

    fn say(&mut self, what: &str, outcome: CheckOutcome, found: impl Into<String>, next: Option<&str>) {
        self.check(Check {
            what: what.to_owned(),
            outcome,
            found: found.into(),
            next: next.map(str::to_owned),
        });
    }

    /// Every target has an address; none and all are both refused.
    fn targets(&mut self) {
        let plan = self.plan.clone();
        let targets = &plan.drill.targets;
        let all = plan.environment.services.get(&targets.service);
        let known = all.map_or(0, |all| all.len());
        let missing: Vec<_> = targets
            .instances
            .iter()
            .filter(|i| !all.is_some_and(|all| all.contains_key(*i)))
            .collect();
        let names: Vec<_> = targets.instances.iter().map(ToString::to_string).collect();
        let names = names.join(", ");
        let next = Some("name the instances to hit; one is enough to learn from");
        if targets.instances.is_empty() {
            self.say("targets", CheckOutcome::Refused, "no target instance", next);
        } else if !missing.is_empty() {
            let found = format!("the environment has no {} {}", targets.service, missing[0]);
            self.say(
                "targets",
                CheckOutcome::Refused,
                found,
                Some("check the environment's services"),
            );
        } else if known > 1 && targets.instances.len() >= known {
            let found = format!("{names}: that is every instance of {}", targets.service);
            self.say("targets", CheckOutcome::Refused, found, next);
        } else {
            self.say(
                "targets",
                CheckOutcome::Passed,
                format!("{names} of {known} {}", targets.service),
                None,
            );
        }
        for step in &plan.drill.steps {
            if let Err(error) = faults::intents(&plan, step) {
                self.say(
                    &format!("step {}", step.name),
                    CheckOutcome::Refused,
                    error.to_string(),
                    None,
                );
            }
        }
    }

    /// A guard without a business metric watches machines while users suffer.
    fn guard_is_worth_it(&mut self) {
        let drill = &self.plan.drill;
        let business = drill.guard.steady_state.iter().any(|h| {
            drill
                .dashboard
                .metric(&h.metric)
                .is_some_and(|m| m.kind == MetricKind::Business)
        });
        if !business {
            let next = Some("add one that users feel, such as the share of orders that succeed");
            self.say(
                "guard",
                CheckOutcome::Refused,
                "no hypothesis about a business metric",
                next,
            );
        }
    }

    fn expiry(&mut self) {
        let drill = &self.plan.drill;
        let none = drill.steps.iter().any(|s| match &s.action {
            Action::Fault { faults, .. } => faults.iter().any(|f| !f.has_native_expiry()),
            _ => false,
        });
        if !none {
            self.say(
                "expiry",
                CheckOutcome::Passed,
                "every fault expires at its target by itself",
                None,
            );
        } else if self.plan.environment.stage == Stage::Production && !drill.accept_no_expiry {
            let next = Some("say `accept_no_expiry: true` in the drill if that is meant");
            self.say(
                "expiry",
                CheckOutcome::Refused,
                "a fault without an expiry of its own, in production",
                next,
            );
        } else {
            self.say(
                "expiry",
                CheckOutcome::Warned,
                "a fault without an expiry of its own",
                None,
            );
        }
    }

    /// The source answers, its clock is near ours, and every query has a number.
    async fn source(&mut self, meters: &mut Meters) {
        let Some(mut source) = meters.source.take() else {
            return;
        };
        match source.probe().await {
            Ok(probe) => {
                let found = describe(&probe);
                for (instance, why) in &probe.silent {
                    self.say(
                        &format!("metrics of {instance}"),
                        CheckOutcome::Warned,
                        why.clone(),
                        None,
                    );
                }
                if probe.skew_ms.unsigned_abs() > SKEW.0 {
                    let next = Some("its time is used for windows; compare clocks before you compare logs");
                    self.say("metrics source", CheckOutcome::Warned, found, next);
                } else {
                    self.say("metrics source", CheckOutcome::Passed, found, None);
                }
            }
            Err(error) => {
                self.say("metrics source", CheckOutcome::Refused, error.to_string(), None);
                meters.source = Some(source);
                return;
            }
        }
        for (query, error) in source.refusals(&meters.wanted).await {
            self.say(
                &format!("query {}", label(&query)),
                CheckOutcome::Refused,
                error.to_string(),
                None,
            );
        }
        // Counters need two samples to be a number.
        for round in 0..3 {
            if round > 0 {
                tokio::time::sleep(source.every().into()).await;
            }
            let fetch = source.fetch(&meters.wanted).await;
            let now = super::clock::Clock.now();
            meters.add(fetch, now);
        }
        // A scrape of our own is as fresh as its answer; a server's samples wait until it is asked.
        let asked_every = match &source {
            Source::Prometheus(_) => source.every(),
            Source::Scrape(_) => Span::ZERO,
        };
        meters.source = Some(source);
        self.rhythm(meters, asked_every);
        self.queries(meters);
    }

    /// Samples that come more seldom than the guard looks, or than windows are wide, make a run blind from its start.
    fn rhythm(&mut self, meters: &Meters, asked_every: Span) {
        let (guard, window) = (&self.plan.drill.guard, self.plan.drill.window);
        let spacing = meters.spacing();
        let patience = guard.every * u64::from(guard.samples);
        // A sample comes once in `spacing`, is fetched up to `asked_every` later, and looked at up to `every` later.
        let longest = spacing + asked_every + guard.every;
        if patience < longest {
            let found = format!(
                "a fresh sample may take {longest} (one every {spacing}), and {patience} without one aborts"
            );
            let next = format!("guard: `every` x `samples` of {longest} or more");
            self.say("guard's rhythm", CheckOutcome::Refused, found, Some(&next));
        }
        // A tenth of room: the spacing is measured, and scrapes are not punctual.
        if window * 11 < spacing * 10 {
            let found = format!("windows of {window}, a sample every {spacing}: most windows would be empty");
            let next = format!("`window: {spacing}` or more in the drill");
            self.say("windows", CheckOutcome::Refused, found, Some(&next));
        }
    }

    fn queries(&mut self, meters: &Meters) {
        let plan = self.plan.clone();
        let guarded: Vec<Query> = plan
            .drill
            .guard
            .steady_state
            .iter()
            .map(|h| Query {
                metric: h.metric.clone(),
                scope: h.scope.clone(),
            })
            .collect();
        let mut answered = 0;
        let oldest = (meters.spacing() * 3).max(STALE);
        for query in &meters.queries {
            let reading = meters.store.reading(query, Span::seconds(60));
            let what = format!("query {}", label(query));
            let stale = reading.value.is_ok() && reading.age > oldest;
            match (&reading.value, guarded.contains(query)) {
                (Ok(_), true) if reading.partial => {
                    let next = Some("the guard needs whole answers");
                    self.say(
                        &what,
                        CheckOutcome::Refused,
                        "the source calls its answer incomplete",
                        next,
                    );
                }
                (Ok(_), true) if stale => {
                    let found = format!("the newest sample is {} old", reading.age);
                    let next = Some("look at the target and at its scrape: is it still there?");
                    self.say(&what, CheckOutcome::Refused, found, next);
                }
                (Ok(_), false) if stale => {
                    let found = format!("the newest sample is {} old", reading.age);
                    self.say(&what, CheckOutcome::Warned, found, None);
                }
                (Ok(_), _) => answered += 1,
                (Err(gap), true) => {
                    let next = Some("a guard that cannot be answered now guards nothing");
                    self.say(&what, CheckOutcome::Refused, gap.to_string(), next);
                }
                (Err(Gap::NoTraffic | Gap::NoSample), false) => answered += 1,
                (Err(gap), false) => self.say(&what, CheckOutcome::Warned, gap.to_string(), None),
            }
        }
        let found = format!("{answered} of {} answered", meters.queries.len());
        self.say("queries", CheckOutcome::Passed, found, None);
    }

    /// Rules that are there already: other people's, or what an earlier run left.
    async fn leftovers_of_others(&mut self) -> Vec<String> {
        let plan = self.plan.clone();
        let mut bases: Vec<(InstanceName, String)> = Vec::new();
        for (instance, base, _) in rule_places(&plan) {
            if !bases.iter().any(|(_, b)| b == &base) {
                bases.push((instance, base));
            }
        }
        let mut foreign = Vec::new();
        for (instance, base) in bases {
            if let Ok(rules) = self.drivers.point().rules(&base).await {
                foreign.extend(rules.iter().map(|r| format!("{} on {instance}", r.describe())));
            }
        }
        if foreign.is_empty() {
            self.say(
                "earlier runs",
                CheckOutcome::Passed,
                "nothing left at the injectors",
                None,
            );
        } else {
            let next = Some("`allclear recover` removes what an earlier run left; others' rules stay");
            self.say("earlier runs", CheckOutcome::Warned, foreign.join("; "), next);
        }
        foreign
    }

    /// The blast radius, with the request rates of the instances as they are now.
    async fn reach(&mut self, meters: &mut Meters) -> Vec<crate::model::event::ReachLine> {
        let rates = self.rates(meters).await;
        let lines = reach::lines(&self.plan, |service, instance| {
            rates.get(&(service.clone(), instance.clone())).copied()
        });
        let cap = self.plan.drill.steps.iter().find_map(|s| match &s.action {
            Action::Fault { envelope, .. } => envelope.max_concurrent,
            _ => None,
        });
        for line in &lines {
            if reach::fills_the_pool(line) {
                let found = format!("{} on {} would hold the whole pool", line.what, line.instance);
                let next =
                    Some("lower percent or max_concurrent: otherwise the pool is tested, not the fault");
                self.say("reach", CheckOutcome::Warned, found, next);
            } else if reach::cap_eats_hits(line, cap) {
                let found = format!(
                    "the cap lies below what {} on {} would hold",
                    line.what, line.instance
                );
                let next = Some("raise max_concurrent, or the drill shows less than it says");
                self.say("reach", CheckOutcome::Warned, found, next);
            }
        }
        lines
    }

    async fn rates(&self, meters: &mut Meters) -> BTreeMap<(ServiceName, InstanceName), f64> {
        let mut rates = BTreeMap::new();
        let Some(mut source) = meters.source.take() else {
            return rates;
        };
        for (service, instance) in rule_instances(&self.plan) {
            if let Some(rate) = self.rate(&mut source, &service, &instance).await {
                rates.insert((service, instance), rate);
            }
        }
        meters.source = Some(source);
        rates
    }

    async fn rate(&self, source: &mut Source, service: &ServiceName, instance: &InstanceName) -> Option<f64> {
        let dashboard = &self.plan.drill.dashboard;
        let node = dashboard.topology.iter().find(|n| &n.service == service)?;
        let metric = dashboard.metric(node.pool.as_ref()?.rate_metric.as_ref()?)?;
        let query = Query {
            metric: metric.id.clone(),
            scope: None,
        };
        let wanted = [Wanted {
            query: query.clone(),
            read: of_instance(&metric.read, instance),
        }];
        let mut store = Store::new(&wanted, Span::seconds(60));
        for round in 0..2 {
            if round > 0 {
                tokio::time::sleep(source.every().into()).await;
            }
            store.add(source.fetch(&wanted).await);
        }
        let Reading { value, .. } = store.reading(&query, source.every() * 4);
        value.ok().map(|v| v.0)
    }
}

fn describe(probe: &Probe) -> String {
    let version = probe
        .version
        .as_ref()
        .map_or_else(|| "direct scrape".to_owned(), |v| format!("Prometheus {v}"));
    let spacing = probe
        .scrape_interval
        .map(|i| format!(", a sample every {i}"))
        .unwrap_or_default();
    let seconds = probe.skew_ms as f64 / 1000.0;
    let skew = if probe.skew_ms.unsigned_abs() > SKEW.0 {
        format!(", its clock is {seconds:+.1}s off ours")
    } else {
        String::new()
    };
    format!("{version} answers in {}{spacing}{skew}", probe.round_trip)
}

fn label(query: &Query) -> String {
    match &query.scope {
        Some(scope) => format!("{} {scope}", query.metric),
        None => query.metric.to_string(),
    }
}

/// Every instance that gets a rule, once, with its service.
fn rule_instances(plan: &Plan) -> Vec<(ServiceName, InstanceName)> {
    let mut all = Vec::new();
    for step in &plan.drill.steps {
        let Action::Fault { faults, envelope } = &step.action else {
            continue;
        };
        for fault in faults {
            let (service, hit) = faults::instances(plan, fault, envelope);
            for instance in hit {
                let key = (service.clone(), instance.clone());
                if !all.contains(&key) {
                    all.push(key);
                }
            }
        }
    }
    all
}

/// Every place that gets a rule: instance, base URL and point, each once.
fn rule_places(plan: &Plan) -> Vec<(InstanceName, String, String)> {
    let mut all = Vec::new();
    for step in &plan.drill.steps {
        let Action::Fault { faults, envelope } = &step.action else {
            continue;
        };
        for fault in faults {
            let Fault::Rule { point, .. } = fault;
            let (service, hit) = faults::instances(plan, fault, envelope);
            for instance in hit {
                let Some(address) = plan.environment.address(service, instance) else {
                    continue;
                };
                let place = (instance.clone(), format!("http://{address}"), point.clone());
                if !all.contains(&place) {
                    all.push(place);
                }
            }
        }
    }
    all
}
