//! The drills and dashboards that come with allclear, inside the binary.

use crate::spec::Source;

macro_rules! files {
    ($folder:literal: $($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../", $folder, "/", $name, ".yaml")))),+]
    };
}

const DRILLS: &[(&str, &str)] = files!("expectations":
    "coupon-slow",
    "inventory-errors",
    "inventory-dirty",
    "cart-redis-slow",
    "gateway-flow-control",
    "payment-callback-slow",
    "memory-pressure",
);

const DASHBOARDS: &[(&str, &str)] = files!("dashboards": "shop");

/// The names of the shipped drills.
pub fn names() -> Vec<&'static str> {
    DRILLS.iter().map(|(name, _)| *name).collect()
}

/// A shipped drill by name.
pub fn drill(name: &str) -> Option<Source> {
    source(DRILLS, "expectations", name)
}

/// A shipped dashboard by name.
pub fn dashboard(name: &str) -> Option<Source> {
    source(DASHBOARDS, "dashboards", name)
}

fn source(files: &[(&str, &str)], folder: &str, name: &str) -> Option<Source> {
    files
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(name, text)| Source {
            path: format!("{folder}/{name}.yaml"),
            text: (*text).to_owned(),
        })
}
