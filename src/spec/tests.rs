//! The three files as a user writes them, right and wrong.

use super::*;
use crate::model::ids::MetricId;

const DASHBOARD: &str = include_str!("examples/dashboard.yaml");
const DRILL: &str = include_str!("examples/drill.yaml");
const CONFIG: &str = include_str!("examples/config.yaml");

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
