//! What fills the `{…}` of an address.

use super::Check;
use crate::{
    model::ids::{InstanceName, ServiceName},
    spec::{
        diagnostic::{Problem, Severity},
        names::meant,
        values::{Bad, one_line},
    },
};

impl Check<'_> {
    /// Every `{…}` of a URL must be filled: by `run`, by what its place gives, by an instance, or by a service that has
    /// one instance.
    pub(super) fn template(&mut self, keys: String, url: &str, given: &[&str]) {
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
                    one_line(name),
                    environment.name
                ))
                .help(meant(name, "names", known)),
            };
            self.note(Severity::Error, Problem::UnknownName, keys.clone(), bad);
        }
    }
}
