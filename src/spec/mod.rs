//! Files a user writes, read into the model, with diagnostics.
//!
//! A file is first a tree of values that know where they stand (`tree`), then compared with the tables of what each map
//! may hold (`shapes`), then read into the model. Reading goes on after an error, so that all of a file's errors come at
//! once. Nothing here opens a file: texts come in, models go out.

mod against;
mod bounds;
mod config;
mod dashboard;
mod diagnostic;
mod drill;
mod expect;
mod faults;
mod fields;
mod guard;
mod kubernetes;
mod lease;
mod look;
mod names;
mod order;
mod playbook;
mod redis;
mod report;
mod rocketmq;
mod schema;
mod secret;
mod selector;
mod shape;
mod shapes;
mod single;
mod steps;
mod topology;
mod tree;
mod values;

pub use against::check_against;
pub use config::Config;
pub use diagnostic::{Diagnostic, Diagnostics, Problem, Severity};
pub use schema::{Kind, schema};
pub use tree::{MAX_BYTES, MAX_DEPTH, MAX_NODES};

use crate::model::{dashboard::Dashboard, drill::Drill, ids::DashboardName};
use report::Report;

/// A file's text and the path that is shown for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The path as shown.
    pub path: String,
    /// The text.
    pub text: String,
}

/// What a file says, and what is doubtful about it.
#[derive(Debug, Clone)]
pub struct Read<T> {
    /// What it says.
    pub value: T,
    /// What is doubtful, in the file's order.
    pub warnings: Vec<Diagnostic>,
}

/// Reads a dashboard.
///
/// # Errors
/// Every problem of the file, if one of them is an error.
pub fn read_dashboard(source: &Source) -> Result<Read<Dashboard>, Diagnostics> {
    let report = Report::new(source);
    let value = report.tree().and_then(|tree| dashboard::read(&report, &tree));
    report.finish(value)
}

/// Reads a drill. `dashboards` finds a dashboard by its name.
///
/// # Errors
/// Every problem of the file, if one of them is an error.
pub fn read_drill(
    source: &Source,
    dashboards: &dyn Fn(&DashboardName) -> Option<Dashboard>,
) -> Result<Read<Drill>, Diagnostics> {
    let report = Report::new(source);
    let value = report
        .tree()
        .and_then(|tree| drill::read(&report, &tree, dashboards));
    report.finish(value)
}

/// Reads `allclear.yaml`. No secret of the file is ever part of a diagnostic.
///
/// # Errors
/// Every problem of the file, if one of them is an error.
pub fn read_config(source: &Source) -> Result<Read<Config>, Diagnostics> {
    let report = Report::with_secrets(source);
    let tree = report.tree();
    if tree.is_none() {
        secret::hide_by_line(&report, &source.text);
    }
    let value = tree.and_then(|tree| config::read(&report, &tree));
    report.finish(value)
}

#[cfg(test)]
mod tests;
