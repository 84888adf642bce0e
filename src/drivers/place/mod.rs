//! Templates of addresses: `http://{instance}/actuator`, `{name}`, `{run}`, `{order-0}`; and of a command's words and a
//! request's body, where braces may mean other things.

mod error;

pub use error::PlaceError;

use crate::model::{
    environment::Environment,
    ids::{InstanceName, RunId, ServiceName},
    text::{harmless, nearest},
};

/// What fills a template.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    environment: &'a Environment,
    run: &'a RunId,
}

/// What one use of a template adds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fill<'a> {
    /// For `{instance}`: the address of this instance; for `{host}`: the same without its port; for `{target}`: its name.
    pub instance: Option<&'a InstanceName>,
    /// For `{name}`: percent-encoded.
    pub name: Option<&'a str>,
}

impl<'a> Places<'a> {
    /// Templates of this environment and run.
    pub fn new(environment: &'a Environment, run: &'a RunId) -> Self {
        Self { environment, run }
    }

    /// The template with all placeholders filled.
    ///
    /// # Errors
    /// [`PlaceError`] if one is unknown or has no address.
    pub fn fill(&self, template: &str, fill: Fill<'_>) -> Result<String, PlaceError> {
        let mut out = String::with_capacity(template.len() + 32);
        let mut rest = template;
        while let Some(open) = rest.find('{') {
            out.push_str(&rest[..open]);
            let inside = &rest[open + 1..];
            let close = inside.find('}').ok_or_else(|| PlaceError::Unclosed {
                template: harmless(template, 200),
            })?;
            out.push_str(&self.value(&inside[..close], template, fill)?);
            rest = &inside[close + 1..];
        }
        out.push_str(rest);
        Ok(out)
    }

    /// A word of a command or a body with `{instance}`, `{host}`, `{target}` and `{run}` filled. Other braces stay.
    ///
    /// # Errors
    /// [`PlaceError::NoAddress`] if the instance has none.
    pub fn fill_word(&self, word: &str, instance: Option<&InstanceName>) -> Result<String, PlaceError> {
        let mut filled = word.replace("{run}", self.run.as_str());
        let Some(instance) = instance else {
            return Ok(filled);
        };
        filled = filled.replace("{target}", instance.as_str());
        if filled.contains("{instance}") || filled.contains("{host}") {
            let address = self.address(instance)?;
            filled = filled
                .replace("{host}", host(address))
                .replace("{instance}", address);
        }
        Ok(filled)
    }

    /// The address of an instance.
    ///
    /// # Errors
    /// [`PlaceError::NoAddress`] if the environment has none.
    pub fn address(&self, instance: &InstanceName) -> Result<&'a str, PlaceError> {
        self.environment
            .address_of(instance)
            .ok_or_else(|| self.no_address(instance.as_str()))
    }

    fn value(&self, name: &str, template: &str, fill: Fill<'_>) -> Result<String, PlaceError> {
        match (name, fill) {
            ("run", _) => return Ok(self.run.to_string()),
            (
                "instance",
                Fill {
                    instance: Some(i), ..
                },
            ) => return self.address(i).map(str::to_owned),
            (
                "host",
                Fill {
                    instance: Some(i), ..
                },
            ) => return self.address(i).map(|a| host(a).to_owned()),
            (
                "target",
                Fill {
                    instance: Some(i), ..
                },
            ) => return Ok(i.to_string()),
            ("name", Fill { name: Some(n), .. }) => return Ok(encoded(n)),
            _ => {}
        }
        if let Some(address) = InstanceName::new(name)
            .ok()
            .and_then(|i| self.environment.address_of(&i))
        {
            return Ok(address.to_owned());
        }
        self.only_instance(name, template)
            .unwrap_or_else(|| Err(self.unknown(name, template, fill)))
    }

    fn only_instance(&self, name: &str, template: &str) -> Option<Result<String, PlaceError>> {
        let instances = self.environment.services.get(&ServiceName::new(name).ok()?)?;
        Some(match instances.values().next() {
            Some(address) if instances.len() == 1 => Ok(address.clone()),
            _ => Err(PlaceError::Several {
                service: name.to_owned(),
                count: instances.len(),
                template: harmless(template, 200),
            }),
        })
    }

    fn unknown(&self, name: &str, template: &str, fill: Fill<'_>) -> PlaceError {
        let instances = self.environment.services.values().flat_map(|s| s.keys());
        let mut known: Vec<&str> = instances.map(InstanceName::as_str).collect();
        known.push("run");
        if fill.instance.is_some() {
            known.extend(["instance", "host", "target"]);
        }
        known.extend(fill.name.map(|_| "name"));
        PlaceError::Unknown {
            name: harmless(name, 64),
            template: harmless(template, 200),
            nearest: nearest(name, known).map(str::to_owned),
        }
    }

    fn no_address(&self, name: &str) -> PlaceError {
        PlaceError::NoAddress {
            name: harmless(name, 64),
            environment: self.environment.name.to_string(),
        }
    }
}

/// Whether a text has a place for an instance: what it says is then done for each.
pub fn is_per_instance(text: &str) -> bool {
    ["{instance}", "{host}", "{target}"]
        .iter()
        .any(|p| text.contains(p))
}

/// The host of `host:port`; the brackets of an IPv6 address stay, as a URL needs them.
fn host(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}

/// A text inside one segment of a URL path.
pub fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, b| {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(b as char),
            _ => out.push_str(&format!("%{b:02X}")),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drivers::testing::environment;

    fn fill(template: &str) -> Result<String, PlaceError> {
        let environment = environment(&[
            ("order", "order-0", "h0:1"),
            ("order", "order-1", "h1:1"),
            ("retry", "retry-a", "r:2"),
        ]);
        let run = RunId::new("7f3a").unwrap();
        let first = InstanceName::new("order-0").unwrap();
        Places::new(&environment, &run).fill(
            template,
            Fill {
                instance: Some(&first),
                name: Some("a b/c"),
            },
        )
    }

    #[test]
    fn every_kind_of_placeholder_is_filled() {
        assert_eq!(
            fill("http://{instance}/x/{name}?r={run}&o={order-1}&s={retry}&h={host}").unwrap(),
            "http://h0:1/x/a%20b%2Fc?r=7f3a&o=h1:1&s=r:2&h=h0"
        );
    }

    #[test]
    fn an_unknown_placeholder_is_an_error_with_the_nearest_name() {
        assert_eq!(
            fill("http://{instanse}/").unwrap_err().to_string(),
            "`{instanse}` in `http://{instanse}/` is unknown here; did you mean `{instance}`?"
        );
        assert!(matches!(
            fill("http://{order}/"),
            Err(PlaceError::Several { count: 2, .. })
        ));
        assert!(matches!(fill("http://{run"), Err(PlaceError::Unclosed { .. })));
    }

    #[test]
    fn words_are_filled_and_keep_their_other_braces() {
        let environment = environment(&[("order", "order-0", "h0:1")]);
        let run = RunId::new("7f3a").unwrap();
        let (places, first) = (
            Places::new(&environment, &run),
            InstanceName::new("order-0").unwrap(),
        );
        let word = "{target} {host} {instance} {run} {print $1} {";
        assert_eq!(
            places.fill_word(word, Some(&first)).unwrap(),
            "order-0 h0 h0:1 7f3a {print $1} {"
        );
        assert_eq!(places.fill_word("{host} {run}", None).unwrap(), "{host} 7f3a");
        let unknown = InstanceName::new("order-7").unwrap();
        assert!(places.fill_word("{host}", Some(&unknown)).is_err());
        assert_eq!(fill("http://{host}:81/{target}").unwrap(), "http://h0:81/order-0");
    }

    proptest::proptest! {
        #[test]
        fn no_template_panics_or_leaves_a_placeholder(template in ".{0,60}") {
            if let Ok(filled) = fill(&template) {
                let left = filled.contains("{run}") || filled.contains("{instance}");
                proptest::prop_assert!(!left);
            }
        }
    }
}
