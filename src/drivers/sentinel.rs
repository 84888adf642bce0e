//! Sentinel's rules through its command API (`sentinel-transport-simple-http`): `getRules` and `setRules`.
//!
//! `setRules` replaces a whole list, and drops without a word a rule that it holds invalid: so what counts is what
//! `getRules` tells afterwards. No command reads or sets the state of a breaker.

use reqwest::Method;
use serde_json::Value;

use crate::model::{playbook::SentinelRules, text::harmless};

use super::{error::DriverError, http::Http};

/// More rules than that are surely not a person's.
const MAX_RULES: usize = 5000;

/// The command APIs of all instances; each call names its base, `http://host:8719`.
#[derive(Debug, Clone, Copy)]
pub struct Sentinel<'a> {
    http: &'a Http,
}

impl<'a> Sentinel<'a> {
    /// Over this client.
    pub fn new(http: &'a Http) -> Self {
        Self { http }
    }

    /// A list of rules, whole.
    ///
    /// # Errors
    /// [`DriverError::Garbage`] if it is not a list of rules; others as they come.
    pub async fn rules(self, base: &str, which: SentinelRules) -> Result<Vec<Value>, DriverError> {
        let url = format!("{}?type={which}", command(base, "getRules"));
        let answer = self.http.ask(Method::GET, &url, None).await?;
        let rules: Vec<Value> = answer.json()?;
        if rules.len() > MAX_RULES {
            return Err(DriverError::Garbage {
                what: answer.what,
                why: format!("{} rules, more than {MAX_RULES}", rules.len()),
            });
        }
        match rules.iter().find(|rule| !rule["resource"].is_string()) {
            None => Ok(rules),
            Some(other) => Err(DriverError::Garbage {
                what: answer.what,
                why: format!("a rule without a resource: {}", harmless(&other.to_string(), 100)),
            }),
        }
    }

    /// Replaces a list of rules. Whether it then stands so, [`Sentinel::rules`] tells.
    ///
    /// # Errors
    /// [`DriverError::Refused`] if the answer is not `success`: `partial success` means that the instance has the rules
    /// now, and the source that it takes them from has not. Others as they come.
    pub async fn set(self, base: &str, which: SentinelRules, rules: &[Value]) -> Result<(), DriverError> {
        let form = [("type", which.as_str()), ("data", &data(rules))];
        let answer = self.http.ask_form(&set_url(base), &form).await?;
        match answer.body.trim_ascii() {
            b"success" => Ok(()),
            _ => Err(DriverError::Refused {
                answer: answer.text(),
                what: answer.what,
                status: None,
            }),
        }
    }

    /// Proves that the API has a command that sets rules, without setting any.
    ///
    /// # Errors
    /// [`DriverError::NotThere`] if it has not; others as they come.
    pub async fn proves_set(self, base: &str) -> Result<(), DriverError> {
        let answer = self.http.ask(Method::GET, &command(base, "api"), None).await?;
        let commands: Vec<Value> = answer.json()?;
        match commands.iter().any(|c| c["url"] == "/setRules") {
            true => Ok(()),
            false => Err(DriverError::NotThere {
                what: answer.what,
                answer: "the API lists no command /setRules".to_owned(),
            }),
        }
    }
}

/// Where rules are set: `POST` with `type` and `data`.
pub fn set_url(base: &str) -> String {
    command(base, "setRules")
}

/// Rules as `setRules` takes them. It decodes what the form has brought once more: what that would change is encoded.
pub fn data(rules: &[Value]) -> String {
    let json = serde_json::Value::from(rules).to_string();
    json.replace('%', "%25").replace('+', "%2B")
}

/// Whether two lists hold the same rules. The order of rules and of their fields means nothing to Sentinel.
pub fn same(one: &[Value], other: &[Value]) -> bool {
    let mut unmatched: Vec<&Value> = other.iter().collect();
    one == other
        || one.len() == other.len()
            && one.iter().all(|rule| {
                let at = unmatched.iter().position(|candidate| *candidate == rule);
                at.map(|at| unmatched.swap_remove(at)).is_some()
            })
}

fn command(base: &str, name: &str) -> String {
    format!("{}/{name}", base.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_are_the_same_whatever_their_order_and_not_if_one_rule_differs() {
        let rule = |name: &str, count: f64| json!({"resource": name, "count": count});
        let (a, b) = (rule("a", 1.0), rule("b", 2.0));
        assert!(same(
            &[a.clone(), b.clone()],
            &[b.clone(), json!({"count": 1.0, "resource": "a"})]
        ));
        assert!(!same(&[a.clone(), a.clone()], &[a.clone(), b.clone()]));
        assert!(!same(std::slice::from_ref(&a), &[rule("a", 1.5)]));
        assert!(!same(std::slice::from_ref(&a), &[a.clone(), b]));
        assert!(same(&[], &[]));
    }
}
