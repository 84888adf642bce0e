//! Steps: what each does, for how long, and what may be hit.

use std::collections::BTreeMap;

use super::{
    diagnostic::Problem,
    expect, faults,
    fields::Fields,
    look::Look,
    names::meant,
    secret::is_secret_header,
    shape::{Form, Scalar},
    single,
    values::{self, Bad, quoted},
};
use crate::model::{
    amount::Share,
    drill::{Action, Envelope, Fault, Load, LoadMethod, Start, Step, Targets},
    ids::{InstanceName, StepName},
    time::Span,
};

/// A step longer than this is surely a slip, and a fault that long is no drill.
const LONGEST: Span = Span::seconds(24 * 3600);

pub(super) fn read(fields: &Fields, look: Look, targets: Option<&Targets>) -> Option<Step> {
    let name = fields.name("name", StepName::new);
    let duration = fields.one("duration", duration);
    let settle = fields.one("settle", values::duration);
    if let (Some(settle), Some(duration)) = (settle, duration)
        && settle >= duration
    {
        let bad = Bad::new(format!(
            "settling for {settle} leaves nothing of a step of {duration}"
        ));
        fields.wrong("settle", Problem::Unsafe, bad);
    }
    let start = start(fields);
    let action = action(fields, targets);
    if let (Some(Action::Fault { envelope, .. }), Some(duration)) = (&action, duration)
        && envelope.window.is_some_and(|window| window < duration)
    {
        let bad = Bad::new(format!(
            "the envelope's window ends before the step of {duration} does"
        ))
        .help("rows would be judged over a time without a fault: make the step as short as the window");
        fields.wrong("duration", Problem::Unsafe, bad);
    }
    let rows = fields.maps("expect");
    let expect: Vec<_> = rows.iter().map(|row| expect::read(row, look)).collect();
    expect::check_twice(&rows);
    Some(Step {
        name: name?,
        action: action?,
        duration: duration?,
        start: start?,
        settle,
        expect: expect.into_iter().collect::<Option<_>>()?,
    })
}

fn duration(text: &str) -> Result<Span, Bad> {
    match values::some_time(text)? {
        span if span > LONGEST => Err(Bad::new(format!("{} is longer than 24 hours", quoted(text)))),
        span => Ok(span),
    }
}

fn start(fields: &Fields) -> Option<Start> {
    if fields.has("after") {
        return fields.name("after", StepName::new).map(Start::After);
    }
    if fields.has("with") {
        return fields.name("with", StepName::new).map(Start::With);
    }
    if fields.has("at") {
        return fields.one("at", at).map(Start::At);
    }
    Some(Start::InOrder)
}

fn at(text: &str) -> Result<Span, Bad> {
    match values::duration(text)? {
        span if span > LONGEST => Err(Bad::new(format!("{} is later than 24 hours", quoted(text)))),
        span => Ok(span),
    }
}

fn action(fields: &Fields, targets: Option<&Targets>) -> Option<Action> {
    let has_fault = fields.has("fault") || fields.has("faults");
    if fields.has("envelope") && !has_fault {
        let bad = Bad::new("an envelope without a fault").help("add `fault:`, or leave `envelope` out");
        fields
            .report
            .error(&fields.place("envelope"), Problem::Conflict, bad);
    }
    if has_fault {
        return fault_action(fields, targets);
    }
    match fields.has("load") {
        true => fields
            .map("load")
            .and_then(|load| read_load(&load))
            .map(Action::Load),
        false => Some(Action::Observe),
    }
}

fn fault_action(fields: &Fields, targets: Option<&Targets>) -> Option<Action> {
    let listed = fields.maps("faults");
    let one = fields.map("fault");
    let read: Vec<Option<Fault>> = one.iter().chain(&listed).map(faults::read).collect();
    if fields.is_empty_list("faults") {
        fields.wrong(
            "faults",
            Problem::MissingKey,
            Bad::new("a list of faults without a fault"),
        );
    }
    if !fields.has("envelope") {
        let bad = Bad::new("a fault without an envelope has no bound")
            .help("add `envelope:` with a `header`, a `percent` below 100%, or `max_concurrent`");
        let key = if fields.has("fault") { "fault" } else { "faults" };
        fields.report.error(&fields.place(key), Problem::Unsafe, bad);
    }
    let faults: Vec<Fault> = read.into_iter().collect::<Option<_>>()?;
    let envelope = fields
        .map("envelope")
        .and_then(|e| read_envelope(&e, &faults, targets));
    Some(Action::Fault {
        faults,
        envelope: envelope?,
    })
}

fn read_envelope(fields: &Fields, faults: &[Fault], targets: Option<&Targets>) -> Option<Envelope> {
    let header = headers(fields, "header");
    let instances = fields.ones("instances", |text| single::name(text, InstanceName::new));
    let percent = fields.one("percent", values::share);
    let max_concurrent = fields.one("max_concurrent", values::whole(1, 1_000_000));
    let window = fields.some_time("window");
    if fields.is_empty_list("instances") {
        fields.wrong(
            "instances",
            Problem::Unsafe,
            Bad::new("no instance may be hit").help("leave `instances` out, or name some"),
        );
    }
    let wrong = ["percent", "max_concurrent", "header"]
        .iter()
        .any(|key| fields.has(key));
    let bounded = !header.is_empty() || max_concurrent.is_some() || percent.is_some_and(|p| p < Share::ALL);
    if !bounded && (!wrong || percent == Some(Share::ALL)) {
        let bad = Bad::new("the envelope has no bound")
            .help("add a `header`, a `percent` below 100%, or `max_concurrent`");
        fields
            .report
            .error(&fields.place("percent"), Problem::Unsafe, bad);
    }
    if let Some(targets) = targets.filter(|t| faults.iter().all(|f| hits(f, t))) {
        check_instances(fields, targets);
    }
    Some(Envelope {
        header,
        instances,
        percent,
        max_concurrent,
        window,
    })
}

/// Whether a fault is on the drill's targets, not on another service.
fn hits(fault: &Fault, targets: &Targets) -> bool {
    match fault {
        Fault::Rule { service, .. } => service.as_ref().is_none_or(|s| *s == targets.service),
    }
}

fn check_instances(fields: &Fields, targets: &Targets) {
    for node in fields.list("instances") {
        let super::tree::Value::Text { text, .. } = &node.value else {
            continue;
        };
        if !targets.instances.iter().any(|i| i.as_str() == text) {
            let names = targets.instances.iter().map(InstanceName::as_str);
            let bad = Bad::new(format!("{} is not one of the drill's targets", quoted(text)))
                .help(meant(text, "targets", names));
            fields.report.error(&node.span, Problem::UnknownName, bad);
        }
    }
}

/// Headers by name. Neither name nor value may break out of its line.
pub(super) fn headers(fields: &Fields, key: &str) -> BTreeMap<String, String> {
    let form = Form::One(Scalar::Token);
    fields
        .named(key)
        .into_iter()
        .filter_map(|entry| {
            let is_name = !entry.key.is_empty()
                && entry
                    .key
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
            if !is_name {
                let bad = Bad::new(format!("{} is not a header's name", quoted(&entry.key)));
                fields.report.error(&entry.key_span, Problem::BadValue, bad);
            }
            let value = single::one(fields.report, &entry.value, &form, values::token)?;
            Some((entry.key.clone(), value))
        })
        .collect()
}

fn read_load(fields: &Fields) -> Option<Load> {
    let url = fields.one("url", values::url(&[]));
    let method = fields.word("method").map(|word| match word.as_str() {
        "POST" => LoadMethod::Post,
        _ => LoadMethod::Get,
    });
    let headers = headers(fields, "headers");
    for entry in fields
        .named("headers")
        .into_iter()
        .filter(|e| is_secret_header(&e.key))
    {
        fields.report.hide_all(&entry.value);
        let bad = Bad::new(format!(
            "header {} goes into the evidence of every run",
            quoted(&entry.key)
        ))
        .help("use one that is worth nothing outside of drills");
        fields.report.warn(&entry.value.span, Problem::LiteralSecret, bad);
    }
    let rate = fields.one("rate", values::rate);
    let max_concurrent = fields.one_or("max_concurrent", values::whole(1, 100_000));
    let timeout = fields.some_time("timeout");
    Some(Load {
        url: url?,
        method: method?,
        headers,
        rate: rate?,
        max_concurrent: max_concurrent?,
        timeout: timeout?,
    })
}
