//! HTTPRoutes of the Gateway API (`gateway.networking.k8s.io/v1`): the weights by which they spread requests over Services.
//!
//! A weight is 0 to 1,000,000, and the API server writes 1 where none is given:
//! <https://gateway-api.sigs.k8s.io/reference/spec/#backendref>.

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::model::{
    ids::{Namespace, RouteName},
    text::harmless,
};

use super::{Kubernetes, Meta, Write, ask::Ask, doubt::Base};
use crate::drivers::error::DriverError;

/// An HTTPRoute as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpRoute {
    /// This route, and no other that may have its name later.
    pub uid: String,
    /// Its rules: where each sends to.
    pub rules: Vec<Vec<Backend>>,
    /// The rules whole, with all that is not looked at here.
    raw: Value,
    /// What a change that builds on this must name.
    version: String,
}

/// Where a rule sends to, and how much of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backend {
    /// The Service of the route's own namespace; `None`: it is something else.
    pub service: Option<String>,
    /// Its part of the sum of all weights of the rule.
    pub weight: u32,
}

#[derive(Debug, Deserialize)]
struct RawRoute {
    metadata: Meta,
    #[serde(default)]
    spec: RawSpec,
}

#[derive(Debug, Default, Deserialize)]
struct RawSpec {
    #[serde(default)]
    rules: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawRule {
    #[serde(default)]
    backend_refs: Vec<RawBackend>,
}

#[derive(Debug, Deserialize)]
struct RawBackend {
    name: String,
    #[serde(default)]
    group: String,
    #[serde(default = "service")]
    kind: String,
    namespace: Option<String>,
    #[serde(default = "one")]
    weight: u32,
}

fn service() -> String {
    "Service".to_owned()
}

fn one() -> u32 {
    1
}

impl RawBackend {
    fn is_service_in(&self, namespace: &Namespace) -> bool {
        let here = self.namespace.as_deref().is_none_or(|n| n == namespace.as_str());
        self.group.is_empty() && self.kind == "Service" && here
    }
}

pub(super) fn place<'a>(namespace: &'a Namespace, route: &'a RouteName) -> Vec<&'a str> {
    let group = ["apis", "gateway.networking.k8s.io", "v1"];
    let object = ["namespaces", namespace.as_str(), "httproutes", route.as_str()];
    [group.as_slice(), &object].concat()
}

impl Kubernetes {
    /// An HTTPRoute.
    ///
    /// # Errors
    /// [`DriverError`]; [`DriverError::NotThere`] also where the Gateway API is not installed.
    pub async fn http_route(
        &self,
        namespace: &Namespace,
        route: &RouteName,
    ) -> Result<HttpRoute, DriverError> {
        let ask = Ask::new(Method::GET, place(namespace, route));
        let what = self.what(&ask);
        let RawRoute { metadata, spec } = self.ask(ask, "HTTPRoute").await?;
        let raw = spec.rules;
        let rules: Option<Vec<RawRule>> =
            Deserialize::deserialize(&raw).map_err(|e: serde_json::Error| {
                let why = harmless(&e.to_string(), 200);
                DriverError::Garbage { what, why }
            })?;
        let backend = |raw: RawBackend| Backend {
            service: raw.is_service_in(namespace).then(|| harmless(&raw.name, 253)),
            weight: raw.weight,
        };
        let backends = |rule: RawRule| rule.backend_refs.into_iter().map(backend).collect();
        Ok(HttpRoute {
            uid: harmless(&metadata.uid, 64),
            rules: rules.unwrap_or_default().into_iter().map(backends).collect(),
            raw,
            version: metadata.resource_version,
        })
    }

    /// Sets the weight of one Service in all rules of an HTTPRoute that was read just now. Nothing else of it changes.
    ///
    /// # Errors
    /// [`DriverError`]; [`DriverError::Conflict`] if it has changed since it was read.
    pub async fn set_backend_weight(
        &self,
        (namespace, name): (&Namespace, &RouteName),
        seen: &HttpRoute,
        service: &str,
        weight: u32,
        write: Write,
    ) -> Result<(), DriverError> {
        let base = Base {
            uid: &seen.uid,
            version: &seen.version,
        };
        let patch = json!({"spec": {"rules": seen.with(service, weight)}});
        self.patch::<Value>(("HTTPRoute", place(namespace, name)), base, patch, write)
            .await
            .map(drop)
    }
}

impl HttpRoute {
    /// Where a Service stands: rule, backend, weight.
    pub fn places<'a>(&'a self, service: &'a str) -> impl Iterator<Item = (usize, usize, u32)> + 'a {
        let is_it = move |b: &Backend| b.service.as_deref() == Some(service);
        self.rules.iter().enumerate().flat_map(move |(rule, backends)| {
            let here = backends.iter().enumerate().filter(move |(_, b)| is_it(b));
            here.map(move |(backend, b)| (rule, backend, b.weight))
        })
    }

    /// The rules whole, with another weight of a Service.
    fn with(&self, service: &str, weight: u32) -> Value {
        let mut rules = self.raw.clone();
        for (rule, backend, _) in self.places(service) {
            rules[rule]["backendRefs"][backend]["weight"] = weight.into();
        }
        rules
    }
}
