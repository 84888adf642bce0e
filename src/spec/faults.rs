//! Faults: the rule of an injection point and its one effect.

use std::collections::BTreeMap;

use super::{
    diagnostic::Problem,
    fields::Fields,
    shape::{Form, Scalar},
    shapes::steps::{DELAY, EXCEPTION, STATUS},
    single,
    tree::{Node, Value},
    values::{self, Bad, quoted},
};
use crate::model::{
    drill::{Effect, Fault},
    ids::ServiceName,
    time::Span,
};

const MIB: f64 = 1024.0 * 1024.0;

pub(super) fn read(fields: &Fields) -> Option<Fault> {
    let rule = fields.map("rule")?;
    let point = rule.one("point", point);
    let service = rule.name("service", ServiceName::new);
    let effect = effect(&rule);
    if rule.has("service") && service.is_none() {
        return None;
    }
    Some(Fault::Rule {
        point: point?,
        service,
        effect: effect?,
    })
}

fn point(text: &str) -> Result<String, Bad> {
    let fits = text.len() <= 128
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.:/#".contains(c));
    if fits && !text.is_empty() {
        Ok(text.to_owned())
    } else {
        Err(Bad::new(format!("{} is not an injection point", quoted(text)))
            .help("write a point of the service's code, such as `coupon.query`"))
    }
}

fn effect(rule: &Fields) -> Option<Effect> {
    if let Some(node) = rule.node("delay") {
        return delay(rule, node);
    }
    if let Some(node) = rule.node("exception") {
        let class = match is_map(node) {
            true => Fields::open(rule.report, node, &EXCEPTION)?.one("class", values::token),
            false => rule.one("exception", values::token),
        };
        return Some(Effect::Exception { class: class? });
    }
    if let Some(node) = rule.node("status") {
        return status(rule, node);
    }
    if rule.has("tamper") {
        return tamper(rule);
    }
    if let Some(bytes) = rule.one("memory", memory) {
        return Some(Effect::Memory { mib: bytes });
    }
    if rule.has("empty") {
        return yes(rule, "empty").then_some(Effect::Empty);
    }
    if rule.has("stale") {
        return yes(rule, "stale").then_some(Effect::Stale);
    }
    None
}

fn is_map(node: &Node) -> bool {
    matches!(node.value, Value::Map(_))
}

fn delay(rule: &Fields, node: &Node) -> Option<Effect> {
    if !is_map(node) {
        let mean = rule.one("delay", values::some_time)?;
        return Some(Effect::Delay {
            mean,
            jitter: Span::ZERO,
        });
    }
    let fields = Fields::open(rule.report, node, &DELAY)?;
    let (mean, jitter) = (
        fields.some_time("mean"),
        fields.one_or("jitter", values::duration),
    );
    if let (Some(mean), Some(jitter)) = (mean, jitter)
        && jitter > mean
    {
        let bad = Bad::new(format!("a jitter of {jitter} is more than the mean of {mean}"))
            .help("a delay cannot be below zero");
        fields.wrong("jitter", Problem::BadValue, bad);
    }
    Some(Effect::Delay {
        mean: mean?,
        jitter: jitter?,
    })
}

fn status(rule: &Fields, node: &Node) -> Option<Effect> {
    if !is_map(node) {
        let code = rule.one("status", values::whole(100, 599))?;
        return Some(Effect::Status {
            code: code as u16,
            body: String::new(),
        });
    }
    let fields = Fields::open(rule.report, node, &STATUS)?;
    let code = fields.one("code", values::whole(100, 599));
    let body = match fields.has("body") {
        true => fields.one("body", body),
        false => Some(String::new()),
    };
    Some(Effect::Status {
        code: code? as u16,
        body: body?,
    })
}

fn body(text: &str) -> Result<String, Bad> {
    match text.len() {
        0..=65_536 => Ok(text.to_owned()),
        _ => Err(Bad::new("a body longer than 64 KiB")),
    }
}

fn tamper(rule: &Fields) -> Option<Effect> {
    let mut values = BTreeMap::new();
    for entry in rule.named("tamper") {
        if !entry.key.starts_with('/') {
            let bad = Bad::new(format!("{} is not a JSON pointer", quoted(&entry.key)))
                .help(format!("write `/{}`", values::one_line(&entry.key)));
            rule.report.error(&entry.key_span, Problem::BadValue, bad);
        }
        values.insert(entry.key.clone(), entry.value.to_json());
    }
    if values.is_empty() {
        let bad = Bad::new("nothing is tampered with").help("write `{\"/stock\": -1}`");
        rule.wrong("tamper", Problem::MissingKey, bad);
        return None;
    }
    Some(Effect::Tamper(values))
}

fn memory(text: &str) -> Result<u32, Bad> {
    let mib = values::bytes(text)? / MIB;
    if (1.0..=1_048_576.0).contains(&mib) && mib.fract() == 0.0 {
        Ok(mib as u32)
    } else {
        Err(Bad::new(format!(
            "{} is not a whole number of MiB, from 1MiB to 1TiB",
            quoted(text)
        )))
    }
}

/// `empty: true`. `false` would be a fault that does nothing.
fn yes(rule: &Fields, key: &str) -> bool {
    let Some(node) = rule.node(key) else { return false };
    let form = Form::One(Scalar::Flag);
    let said = single::one(rule.report, node, &form, values::flag);
    if said == Some(false) {
        let bad = Bad::new(format!("`{key}: false` is a fault that does nothing"))
            .help(format!("write `{key}: true`, or leave it out"));
        rule.wrong(key, Problem::BadValue, bad);
    }
    said == Some(true)
}
