//! What a playbook may say of Kubernetes: namespaces, selectors, labels, Deployments.

use super::{
    diagnostic::Problem,
    fields::Fields,
    names::meant,
    values::{self, Bad, quoted},
};
use crate::model::{
    ids::{DeploymentName, Namespace, WorkloadName},
    kubernetes::WorkloadKind,
    playbook::{PodGateway, PodsOf, QueueHold, RolloutOf},
};

/// What stands for a target in a selector.
const TARGET: &str = "{target}";
/// Kubernetes' own bound of a label's value and of a name in a key.
const MAX_LABEL: usize = 63;

pub(super) fn gateway(fields: &Fields) -> Option<PodGateway> {
    let pods = pods(fields);
    let label = fields.map("label").map(|label| {
        let key = label.one("key", key);
        let out = label.one_or("out", value);
        Some((key?, out?))
    });
    let hold = fields.some_time("hold");
    let (key, out) = label??;
    let pods = pods?;
    found_without(fields, &pods, &key);
    Some(PodGateway {
        pods,
        key,
        out,
        hold: hold?,
    })
}

fn pods(fields: &Fields) -> Option<PodsOf> {
    let namespace = in_namespace(fields);
    let selector = fields.one("pods", selector);
    Some(PodsOf {
        namespace: namespace?,
        selector: selector?,
    })
}

pub(super) fn hold(fields: &Fields) -> Option<QueueHold> {
    let namespace = in_namespace(fields);
    let deployment = fields.one("scale", deployment);
    Some(QueueHold::Scale {
        namespace: namespace?,
        deployment: deployment?,
    })
}

/// The pods of a restart. What is restarted has one word so far; a wrong one is noted.
pub(super) fn restart(fields: &Fields) -> Option<PodsOf> {
    let (what, pods) = (fields.word("restart"), pods(fields));
    what.and(pods)
}

pub(super) fn rollout(fields: &Fields) -> Option<RolloutOf> {
    let namespace = in_namespace(fields);
    let workload = fields.one("rollout", workload);
    let (kind, name) = workload?;
    Some(RolloutOf {
        namespace: namespace?,
        kind,
        name,
    })
}

/// A pod that is out of its Services must be found all the same: to come back, and to be restarted.
pub(super) fn found_without(fields: &Fields, pods: &PodsOf, label: &str) {
    let mut keys = pods.selector.split(',').filter_map(|pair| pair.split('=').next());
    if keys.any(|key| key == label) {
        let why = format!(
            "{} is the label that takes pods out: once out, none would be found by it",
            quoted(label)
        );
        let bad = Bad::new(why).help("select by labels that stay: `app=order,instance={target}`");
        fields.wrong("pods", Problem::BadValue, bad);
    }
}

/// The namespace of a route, and the Service of a target in it.
pub(super) fn backend(fields: &Fields) -> (Option<Option<Namespace>>, Option<String>) {
    (in_namespace(fields), fields.one("backend", backend_service))
}

/// An RFC 1035 label, with the target's name in it.
fn backend_service(text: &str) -> Result<String, Bad> {
    let backend = values::token(text)?;
    if !backend.contains(TARGET) {
        return Err(Bad::new("the Service lacks `{target}`")
            .help("each target has a Service of its own: `{target}`, or `order-{target}`"));
    }
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    match backend.replace(TARGET, "x").chars().all(plain) {
        true => Ok(backend),
        false => Err(Bad::new(format!("{} is not a Service's name", quoted(text)))
            .help("lower-case letters, digits and `-`, with `{target}` in it")),
    }
}

/// `None` within if the file names none.
fn in_namespace(fields: &Fields) -> Option<Option<Namespace>> {
    match fields.has("namespace") {
        true => fields.one("namespace", namespace).map(Some),
        false => Some(None),
    }
}

/// An RFC 1123 label.
pub(super) fn namespace(text: &str) -> Result<Namespace, Bad> {
    let name = values::token(text)?;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let named = !name.ends_with('-') && name.len() <= MAX_LABEL && name.chars().all(plain);
    match Namespace::new(&name).ok().filter(|_| named) {
        Some(namespace) => Ok(namespace),
        None => Err(Bad::new(format!("{} is not a namespace's name", quoted(text)))
            .help("lower-case letters, digits and `-`, 63 at most")),
    }
}

/// A kind, and a name that becomes one of a workload once the target's is in it.
fn workload(text: &str) -> Result<(WorkloadKind, String), Bad> {
    const WRITE: &str =
        "write `deployment/NAME` or `statefulset/NAME`, with `{target}` where the target's name belongs";
    let told = values::token(text)?;
    let Some((kind, name)) = told.split_once('/') else {
        return Err(Bad::new(format!("{} names no kind", quoted(text))).help(WRITE));
    };
    let kind = match kind {
        "deployment" => WorkloadKind::Deployment,
        "statefulset" => WorkloadKind::StatefulSet,
        other => {
            let kinds = meant(other, "kinds", ["deployment", "statefulset"]);
            return Err(Bad::new(format!("{} has no rollout here", quoted(other))).help(kinds));
        }
    };
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    let filled = name.replace(TARGET, "x");
    match WorkloadName::new(&filled).is_ok() && filled.chars().all(plain) {
        true => Ok((kind, name.to_owned())),
        false => Err(Bad::new(format!("{} is not a workload's name", quoted(name)))
            .help("lower-case letters, digits, `-` and `.`, 64 at most, with `{target}` where the target's name belongs")),
    }
}

fn deployment(text: &str) -> Result<DeploymentName, Bad> {
    let told = values::token(text)?;
    let Some((kind, name)) = told.split_once('/') else {
        return Err(Bad::new(format!("{} names no kind", quoted(text))).help("write `deployment/NAME`"));
    };
    if kind != "deployment" {
        return Err(
            Bad::new(format!("{} cannot be scaled here", quoted(kind))).help(meant(
                kind,
                "kinds",
                ["deployment"],
            )),
        );
    }
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    let named = DeploymentName::new(name)
        .ok()
        .filter(|n| n.as_str().chars().all(plain));
    named.ok_or_else(|| {
        Bad::new(format!("{} is not a Deployment's name", quoted(name)))
            .help("lower-case letters, digits, `-` and `.`, 64 at most")
    })
}

/// Pairs of key and value alone: what each matches can be seen. One of them tells the targets apart.
fn selector(text: &str) -> Result<String, Bad> {
    let selector = values::token(text)?;
    for pair in selector.split(',') {
        let Some((k, v)) = pair.split_once('=').filter(|(_, v)| !v.contains('=')) else {
            return Err(Bad::new(format!("{} is not KEY=VALUE", quoted(pair)))
                .help("write `app=order,instance={target}`"));
        };
        key(k)?;
        value(&v.replace(TARGET, "x"))?;
    }
    match selector.contains(TARGET) {
        true => Ok(selector),
        false => Err(Bad::new("the selector lacks `{target}`")
            .help("it must match one pod of each target: `app=order,instance={target}`, or `statefulset.kubernetes.io/pod-name={target}`")),
    }
}

/// A label's key: a name, and perhaps a domain before it.
fn key(text: &str) -> Result<String, Bad> {
    let key = values::token(text)?;
    let (domain, name) = key.rsplit_once('/').unwrap_or(("x", &key));
    let is_domain = domain
        .chars()
        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c));
    match is_domain && !domain.is_empty() && domain.len() <= 253 && !name.is_empty() && is_label(name) {
        true => Ok(key),
        false => Err(Bad::new(format!("{} is not a label's key", quoted(text)))),
    }
}

fn value(text: &str) -> Result<String, Bad> {
    match is_label(text) {
        true => Ok(text.to_owned()),
        false => Err(Bad::new(format!("{} is not a label's value", quoted(text)))
            .help("letters, digits, `-`, `_` and `.`, 63 at most")),
    }
}

fn is_label(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let ends = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    text.len() <= MAX_LABEL
        && text.chars().all(plain)
        && ends(text.chars().next())
        && ends(text.chars().last())
}
