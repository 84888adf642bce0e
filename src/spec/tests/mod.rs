//! The three files as a user writes them, right and wrong.

mod any;
mod examples;
mod kubernetes;
mod meets;
mod playbook;
mod reference;
mod rocketmq;
mod schemas;
mod wrong;

use super::*;
use crate::model::{
    environment::Environment,
    ids::{EnvironmentName, MetricId},
};

const DASHBOARD: &str = include_str!("../examples/dashboard.yaml");
const DRILL: &str = include_str!("../examples/drill.yaml");
const CONFIG: &str = include_str!("../examples/config.yaml");

fn source(path: &str, text: &str) -> Source {
    Source {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

fn dashboard() -> Dashboard {
    read_dashboard(&source("dashboards/shop.yaml", DASHBOARD))
        .unwrap()
        .value
}

fn find(name: &DashboardName) -> Option<Dashboard> {
    Some(dashboard()).filter(|d| d.name == *name)
}

fn drill(text: &str) -> Result<Read<Drill>, Diagnostics> {
    read_drill(&source("expectations/coupon-slow.yaml", text), &find)
}

fn environment(name: &str) -> Environment {
    let config = read_config(&source("allclear.yaml", CONFIG)).unwrap().value;
    config.environments[&EnvironmentName::new(name).unwrap()].clone()
}

/// As a terminal shows it, without colours.
fn rendered(diagnostic: &dyn miette::Diagnostic) -> String {
    let mut out = String::new();
    miette::GraphicalReportHandler::new_themed(miette::GraphicalTheme::unicode_nocolor())
        .with_width(120)
        .with_links(false)
        .render_report(&mut out, diagnostic)
        .unwrap();
    out.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The example with one text replaced by another.
fn with(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "the example has no {from:?}");
    text.replacen(from, to, 1)
}

#[test]
fn the_example_dashboard_reads() {
    let read = read_dashboard(&source("dashboards/shop.yaml", DASHBOARD)).unwrap();
    assert!(read.warnings.is_empty());
    assert!(read.value.metric(&MetricId::new("heap").unwrap()).is_some());
    insta::assert_json_snapshot!("example_dashboard", read.value);
}

#[test]
fn the_example_drill_reads() {
    let read = drill(DRILL).unwrap();
    assert!(read.warnings.is_empty());
    let mut value = serde_json::to_value(read.value).unwrap();
    value["dashboard"] = "left out".into();
    insta::assert_json_snapshot!("example_drill", value);
}

#[test]
fn the_example_configuration_reads() {
    let read = read_config(&source("allclear.yaml", CONFIG)).unwrap();
    assert!(read.warnings.is_empty());
    assert_eq!(read.value.default.unwrap().as_str(), "preprod");
    insta::assert_json_snapshot!("example_config", read.value.environments);
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_change_nothing() {
    let text = format!("\u{feff}{}", DRILL.replace('\n', "\r\n"));
    assert_eq!(drill(&text).unwrap().value, drill(DRILL).unwrap().value);
    let wrong = with(&text, "duration: 10m", "duration: 10");
    let position = drill(&wrong).unwrap_err().all[0].position();
    assert_eq!(position, Some((23, 15)));
}
