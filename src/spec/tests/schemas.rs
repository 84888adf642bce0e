//! The schemas say what the reader knows.

use std::{collections::BTreeSet, path::Path};

use serde_json::Value;

use super::*;
use crate::{
    model::{
        amount::Unit,
        dashboard::{Agg, Better, MetricKind},
        environment::Stage,
        recovery::StepId,
    },
    spec::{
        shape::{Form, Shape},
        tree::Node,
    },
};

/// Whether every key of a value has its place in the schema.
fn fits(schema: &Value, whole: &Value, value: &Node, path: &str, misses: &mut Vec<String>) {
    if let Some(name) = schema["$ref"].as_str() {
        let def = whole
            .pointer(name.trim_start_matches('#'))
            .expect("the definition exists");
        return fits(def, whole, value, path, misses);
    }
    if let Some(choices) = schema["anyOf"]
        .as_array()
        .filter(|_| schema.get("properties").is_none())
    {
        let best = choices
            .iter()
            .map(|choice| {
                let mut misses = Vec::new();
                fits(choice, whole, value, path, &mut misses);
                misses
            })
            .min_by_key(Vec::len);
        misses.extend(best.unwrap_or_default());
        return;
    }
    match &value.value {
        tree::Value::Map(entries) => {
            for entry in entries {
                let path = format!("{path}.{}", entry.key);
                match schema["properties"].get(&entry.key) {
                    Some(next) => fits(next, whole, &entry.value, &path, misses),
                    None if schema["additionalProperties"].is_object() => {
                        fits(
                            &schema["additionalProperties"],
                            whole,
                            &entry.value,
                            &path,
                            misses,
                        );
                    }
                    None => misses.push(path),
                }
            }
        }
        tree::Value::List(items) if schema["type"] == "array" => {
            for (i, item) in items.iter().enumerate() {
                fits(&schema["items"], whole, item, &format!("{path}.{i}"), misses);
            }
        }
        tree::Value::List(_) => misses.push(format!("{path} is a list")),
        _ => {}
    }
}

fn misses(kind: Kind, text: &str) -> Vec<String> {
    let schema = schema(kind);
    let mut misses = Vec::new();
    fits(&schema, &schema, &tree::parse(text).unwrap(), "", &mut misses);
    misses
}

#[test]
fn every_key_of_an_example_is_in_its_schema() {
    for kind in Kind::ALL {
        assert_eq!(misses(kind, kind.example()), Vec::<String>::new(), "{kind:?}");
    }
    assert_eq!(
        misses(Kind::Drill, "steps: [{name: a, duraton: 1s}]"),
        [".steps.0.duraton"]
    );
}

/// The files of a folder of the repository, if it has any yet.
fn shipped(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "yaml"))
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                std::fs::read_to_string(path).unwrap(),
            )
        })
        .collect()
}

#[test]
fn every_shipped_file_reads_and_its_keys_are_in_the_schema() {
    let mut dashboards = Vec::new();
    for (name, text) in shipped("dashboards") {
        assert_eq!(misses(Kind::Dashboard, &text), Vec::<String>::new(), "{name}");
        let read = read_dashboard(&source(&name, &text)).unwrap_or_else(|e| panic!("{}", rendered(&e)));
        dashboards.push(read.value);
    }
    let find = |name: &DashboardName| dashboards.iter().find(|d| d.name == *name).cloned();
    for (name, text) in shipped("expectations") {
        assert_eq!(misses(Kind::Drill, &text), Vec::<String>::new(), "{name}");
        read_drill(&source(&name, &text), &find).unwrap_or_else(|e| panic!("{}", rendered(&e)));
    }
}

#[test]
fn the_drill_schema_is_as_reviewed() {
    let mut schema = schema(Kind::Drill);
    schema["examples"] = "left out".into();
    insta::assert_json_snapshot!("drill_schema", schema);
}

fn words(shape: &Shape, key: &str) -> BTreeSet<String> {
    match shape.key(key).unwrap().form {
        Form::Word(words) => words.iter().map(|(word, _)| (*word).to_owned()).collect(),
        other => panic!("{other:?} is not a choice of words"),
    }
}

/// The words of an enum of the model, as serde writes them.
fn words_of<T: schemars::JsonSchema>() -> BTreeSet<String> {
    let schema = schemars::schema_for!(T).to_value();
    let plain = schema["enum"].as_array().into_iter().flatten().cloned();
    let described = schema["oneOf"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|c| c["const"].clone());
    plain
        .chain(described)
        .map(|word| word.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_words_of_the_tables_are_those_of_the_model() {
    use crate::spec::shapes::{config, dashboard, playbook};
    assert_eq!(words(&dashboard::METRIC, "kind"), words_of::<MetricKind>());
    assert_eq!(words(&dashboard::METRIC, "unit"), words_of::<Unit>());
    assert_eq!(words(&dashboard::METRIC, "better"), words_of::<Better>());
    assert_eq!(words(&dashboard::GAUGE, "agg"), words_of::<Agg>());
    assert_eq!(words(&config::ENVIRONMENT, "stage"), words_of::<Stage>());
    // Nothing follows the last step: a command after it would never run.
    let mut steps = words_of::<StepId>();
    steps.retain(|step| step != "verify");
    assert_eq!(words(&playbook::COMMAND, "after"), steps);
}

#[test]
fn no_two_maps_share_a_definition() {
    for kind in Kind::ALL {
        let shapes = super::reference::all_shapes(kind.shape());
        let names: BTreeSet<String> = shapes.iter().map(|s| schema::def_name(s)).collect();
        assert_eq!(names.len(), shapes.len(), "{kind:?}");
    }
}
