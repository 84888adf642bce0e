//! Whatever the playbook does in Kubernetes stays in the namespaces that the environment allows.

use super::Check;
use crate::{
    model::{
        ids::Namespace,
        playbook::{KafkaQueue, QueueHold},
    },
    spec::{
        diagnostic::{Problem, Severity},
        names::meant,
        values::Bad,
    },
};

impl Check<'_> {
    pub(super) fn hold(&mut self, keys: String, queue: &KafkaQueue) {
        if let QueueHold::Scale { namespace, .. } = &queue.hold {
            self.namespace(keys, namespace.as_ref());
        }
    }

    pub(super) fn namespace(&mut self, keys: String, namespace: Option<&Namespace>) {
        let environment = self.environment;
        let Some(cluster) = &environment.kubernetes else {
            let bad = Bad::new(format!("environment `{}` has no Kubernetes", environment.name))
                .help("add `kubernetes: {namespaces: […]}` to it in allclear.yaml");
            self.note(Severity::Error, Problem::UnknownName, keys, bad);
            return;
        };
        let allowed: Vec<&str> = cluster.namespaces.iter().map(Namespace::as_str).collect();
        match namespace {
            Some(name) if allowed.contains(&name.as_str()) => {}
            Some(name) => {
                let bad = Bad::new(format!(
                    "environment `{}` does not allow the namespace `{name}`",
                    environment.name
                ))
                .help(meant(name.as_str(), "namespaces that it allows", allowed));
                self.note(Severity::Error, Problem::Unsafe, format!("{keys}.namespace"), bad);
            }
            None if allowed.len() == 1 => {}
            None => {
                let bad = Bad::new("no namespace is named, and the environment allows several")
                    .help(format!("write `namespace:` with one of {}", allowed.join(", ")));
                self.note(Severity::Error, Problem::MissingKey, keys, bad);
            }
        }
    }
}
