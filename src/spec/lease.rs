//! The lease of an environment: where it lies must be something that the environment has.

use super::{
    diagnostic::Problem,
    fields::Fields,
    names::meant,
    tree::Value,
    values::{Bad, quoted},
};
use crate::model::{
    environment::Kubernetes,
    ids::{EnvironmentName, Namespace, ServerName},
    lease::LeasePlace,
};

/// Reads where the lease of an environment of this name lies, if it has one; `fields` are the environment's,
/// `kubernetes` its cluster as far as it could be read.
pub(super) fn read(
    fields: &Fields,
    environment: &EnvironmentName,
    kubernetes: Option<&Kubernetes>,
) -> Option<LeasePlace> {
    let lease = fields.map("lease")?;
    if lease.has("kubernetes") {
        let namespace = lease
            .map("kubernetes")?
            .one("namespace", super::kubernetes::namespace)?;
        can_be_named(&lease, environment);
        is_allowed(fields, &lease, environment, &namespace, kubernetes);
        return Some(LeasePlace::Kubernetes(namespace));
    }
    let name = lease.name("redis", ServerName::new)?;
    is_there(fields, &lease, environment, &name);
    Some(LeasePlace::Redis(name))
}

fn is_there(fields: &Fields, lease: &Fields, environment: &EnvironmentName, name: &ServerName) {
    // By what the file names: a server that is wrong in itself is told of by its own errors.
    let named = match fields.node("redis").map(|node| &node.value) {
        Some(Value::Map(servers)) => servers.iter().map(|entry| entry.key.as_str()).collect(),
        _ => Vec::new(),
    };
    if !named.contains(&name.as_str()) {
        let bad = Bad::new(format!("environment `{environment}` has no Redis `{name}`")).help(meant(
            name.as_str(),
            "Redis servers there",
            named,
        ));
        lease.wrong("redis", Problem::UnknownName, bad);
    }
}

fn is_allowed(
    fields: &Fields,
    lease: &Fields,
    environment: &EnvironmentName,
    namespace: &Namespace,
    kubernetes: Option<&Kubernetes>,
) {
    if !fields.has("kubernetes") {
        let bad = Bad::new(format!("environment `{environment}` has no Kubernetes"))
            .help("add `kubernetes: {namespaces: […]}` to it");
        lease.wrong("kubernetes", Problem::UnknownName, bad);
    }
    if let Some(cluster) = kubernetes.filter(|cluster| !cluster.namespaces.contains(namespace)) {
        let allowed = cluster.namespaces.iter().map(Namespace::as_str);
        let bad = Bad::new(format!(
            "environment `{environment}` does not allow the namespace `{namespace}`"
        ))
        .help(meant(namespace.as_str(), "namespaces that it allows", allowed));
        lease.wrong("kubernetes", Problem::Unsafe, bad);
    }
}

/// The environment's name becomes part of an object's, which is an RFC 1123 subdomain.
fn can_be_named(lease: &Fields, environment: &EnvironmentName) {
    let parts = environment.as_str().split('.');
    let fits = |part: &str| {
        !part.is_empty()
            && !part.ends_with('-')
            && part
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    // Only the first part has `allclear-` before it.
    if !parts
        .enumerate()
        .all(|(i, part)| fits(part) && (i == 0 || !part.starts_with('-')))
    {
        let bad = Bad::new(format!(
            "{} cannot be part of a Lease's name",
            quoted(environment.as_str())
        ))
        .help("name the environment with lower-case letters, digits and `-`, or keep its lease in a Redis");
        lease.wrong("kubernetes", Problem::BadValue, bad);
    }
}
