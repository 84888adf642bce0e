//! What only shows once a drill meets an environment: names that it does not have, metrics that it cannot read.

mod kubernetes;
mod metrics;
mod playbook;
mod targets;
mod template;

use super::{
    Source,
    diagnostic::{Diagnostic, Problem, Severity},
    names::meant,
    report::locate,
    values::Bad,
};
use crate::model::{drill::Drill, environment::Environment};

/// Compares a drill with the environment it is to run in. The diagnostics know the keys they are about;
/// [`Diagnostic::located`] finds the lines.
pub fn check_against(drill: &Drill, environment: &Environment) -> Vec<Diagnostic> {
    let mut check = Check {
        drill,
        environment,
        found: Vec::new(),
    };
    check.targets();
    check.steps();
    check.recovery();
    check.metrics();
    check.found
}

impl Diagnostic {
    /// The same with the line of the drill file that it is about.
    pub fn located(self, source: &Source) -> Diagnostic {
        locate(self, source)
    }
}

struct Check<'a> {
    drill: &'a Drill,
    environment: &'a Environment,
    found: Vec<Diagnostic>,
}

impl Check<'_> {
    fn note(&mut self, severity: Severity, problem: Problem, keys: impl Into<String>, bad: Bad) {
        self.found.push(Diagnostic {
            severity,
            problem,
            message: bad.message,
            help: bad.help,
            span: None,
            keys: keys.into(),
            path: format!("drill {}", self.drill.name),
            source: None,
        });
    }

    fn unknown(&mut self, keys: impl Into<String>, what: &str, name: &str, known: &[&str]) {
        let bad = Bad::new(format!(
            "environment `{}` has no {what} `{name}`",
            self.environment.name
        ))
        .help(meant(name, &format!("{what}s there"), known.iter().copied()));
        self.note(Severity::Error, Problem::UnknownName, keys, bad);
    }
}
