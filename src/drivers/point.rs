//! The injection-point API of a service instance: rules that break one point of its code for a while.
//!
//! `PUT /chaos/rules/{id}`, `GET /chaos/rules`, `GET /chaos/points`, `DELETE /chaos/rules/{id}`,
//! `DELETE /chaos/rules?run=ID`. The instance drops a rule at its `ttl_ms` by itself.

use std::collections::BTreeMap;

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::model::{
    drill::{Effect, Envelope},
    event::Hits,
    ids::{FaultId, InstanceName, RunId},
    said::{Said, said},
    text::{harmless, nearest},
    time::Span,
};

use super::{error::DriverError, http::Http, place::encoded};

/// A rule as it is created.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rule {
    /// The run's mark.
    pub run: RunId,
    /// The injection point.
    pub point: String,
    /// The effect, in the API's form.
    pub fault: Value,
    /// Only calls with these headers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub header: BTreeMap<String, String>,
    /// The only instance that may obey it: the second gate.
    pub instance: InstanceName,
    /// The share of matching calls, 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// Calls held at once at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<u32>,
    /// Only for this long after its creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_ms: Option<u64>,
    /// The instance drops it by itself after that.
    pub ttl_ms: u64,
}

impl Rule {
    /// The rule of a fault on one instance, which the instance itself drops after `ttl`.
    pub fn new(
        run: &RunId,
        instance: &InstanceName,
        point: &str,
        effect: &Effect,
        envelope: &Envelope,
        ttl: Span,
    ) -> Self {
        Self {
            run: run.clone(),
            point: point.to_owned(),
            fault: fault_json(effect),
            header: envelope.header.clone(),
            instance: instance.clone(),
            percent: envelope.percent.map(|share| share.0 * 100.0),
            max_concurrent: envelope.max_concurrent,
            window_ms: envelope.window.map(|w| w.0),
            ttl_ms: ttl.0,
        }
    }
}

fn fault_json(effect: &Effect) -> Value {
    match effect {
        Effect::Delay { mean, jitter } => json!({"delay": {"mean_ms": mean.0, "jitter_ms": jitter.0}}),
        Effect::Exception { class } => json!({"exception": {"class": class}}),
        Effect::Status { code, body } => json!({"status": {"code": code, "body": body}}),
        Effect::Empty => json!("empty"),
        Effect::Tamper(values) => json!({ "tamper": values }),
        Effect::Stale => json!("stale"),
        Effect::Memory { mib } => json!({"memory": {"mib": mib}}),
    }
}

/// A rule as an instance tells of it. Fields this code does not need are ignored.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RuleSeen {
    /// Its id.
    pub id: String,
    /// The mark of the run that made it.
    #[serde(default)]
    pub run: String,
    /// The injection point.
    #[serde(default)]
    pub point: String,
    /// Calls hit.
    #[serde(default)]
    pub hits: u64,
    /// Calls looked at and let pass.
    #[serde(default)]
    pub misses: u64,
    /// Calls where the effect could not be made.
    #[serde(default)]
    pub failed: u64,
    /// Calls let pass because the cap was reached.
    #[serde(default)]
    pub capped: u64,
    /// Calls held now.
    #[serde(default)]
    pub held: u32,
    /// When the instance drops it by itself.
    #[serde(default)]
    pub expires_in_ms: Option<u64>,
}

impl RuleSeen {
    /// Its counters.
    pub fn counters(&self) -> Hits {
        Hits {
            hits: self.hits,
            misses: self.misses,
            failed: self.failed,
            capped: self.capped,
            held: self.held,
        }
    }

    /// In one line: `chaos rule 7f3a-delay-order-0-1 of run 7f3a on coupon.query`.
    pub fn describe(&self) -> String {
        self.said().en().to_owned()
    }

    /// The same in both languages.
    pub fn said(&self) -> Said {
        let Self { id, run, point, .. } = self;
        said!(
            "chaos rule {id} of run {run} on {point}",
            "混沌规则 {id}（演练 {run}，{point}）"
        )
    }
}

#[derive(Deserialize)]
struct Rules {
    rules: Vec<RuleSeen>,
}

#[derive(Deserialize)]
struct PointNames {
    points: Vec<String>,
}

#[derive(Deserialize)]
struct Removed {
    removed: u64,
}

/// The API of all instances; each call names its base, `http://host:port`.
#[derive(Debug, Clone, Copy)]
pub struct PointApi<'a> {
    http: &'a Http,
}

impl<'a> PointApi<'a> {
    /// Over this client.
    pub fn new(http: &'a Http) -> Self {
        Self { http }
    }

    /// Creates a rule. Creating the same rule again is no error; another rule of that id is a conflict.
    ///
    /// # Errors
    /// [`DriverError`]; where its landing is unknown: delete the rule, and look again.
    pub async fn create(self, base: &str, id: &FaultId, rule: &Rule) -> Result<(), DriverError> {
        let body = serde_json::to_value(rule).map_err(|e| DriverError::Setup {
            what: format!("rule {id}"),
            why: e.to_string(),
        })?;
        self.http
            .ask(Method::PUT, &rule_url(base, id.as_str()), Some(&body))
            .await
            .map(|_| ())
    }

    /// All rules of an instance, whoever made them.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn rules(self, base: &str) -> Result<Vec<RuleSeen>, DriverError> {
        let answer = self
            .http
            .ask(Method::GET, &format!("{base}/chaos/rules"), None)
            .await?;
        let mut rules = answer.json::<Rules>()?.rules;
        for rule in &mut rules {
            for text in [&mut rule.id, &mut rule.run, &mut rule.point] {
                *text = harmless(text, 300);
            }
        }
        Ok(rules)
    }

    /// The injection points that an instance has.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn points(self, base: &str) -> Result<Vec<String>, DriverError> {
        let answer = self
            .http
            .ask(Method::GET, &format!("{base}/chaos/points"), None)
            .await?;
        let points = answer.json::<PointNames>()?.points;
        Ok(points.iter().map(|p| harmless(p, 200)).collect())
    }

    /// Deletes a rule. `Ok(false)`: it was not there, which does not prove that a create under way cannot land later.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn delete(self, base: &str, id: &str) -> Result<bool, DriverError> {
        match self.http.ask(Method::DELETE, &rule_url(base, id), None).await {
            Ok(_) => Ok(true),
            Err(DriverError::NotThere { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes everything with the run's mark on an instance; how many rules that were.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn delete_run(self, base: &str, run: &RunId) -> Result<u64, DriverError> {
        let answer = self.http.ask(Method::DELETE, &run_url(base, run), None).await?;
        Ok(answer.json::<Removed>()?.removed)
    }

    /// Whether the instance has the point.
    ///
    /// # Errors
    /// [`DriverError::NotThere`] with the nearest name if it has not.
    pub async fn proves_point(self, base: &str, point: &str) -> Result<(), DriverError> {
        let points = self.points(base).await?;
        if points.iter().any(|p| p == point) {
            return Ok(());
        }
        let near = nearest(point, points.iter().map(String::as_str));
        Err(DriverError::NotThere {
            what: format!("injection point {point} at {base}"),
            answer: match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it has {} points", points.len()),
            },
        })
    }
}

/// The URL of one rule.
pub fn rule_url(base: &str, id: &str) -> String {
    format!("{base}/chaos/rules/{}", encoded(id))
}

/// The URL of all rules of a run.
pub fn run_url(base: &str, run: &RunId) -> String {
    format!("{base}/chaos/rules?run={}", encoded(run.as_str()))
}
