//! JSON Schemas of the three files, for editors. Drawn from the same tables that the reader goes by.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    shape::{Form, Key, Need, Rule, Scalar, Shape},
    shapes, tree,
};

/// One of the three files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `expectations/*.yaml`
    Drill,
    /// `dashboards/*.yaml`
    Dashboard,
    /// `allclear.yaml`
    Config,
}

impl Kind {
    /// All three.
    pub const ALL: [Kind; 3] = [Kind::Drill, Kind::Dashboard, Kind::Config];

    /// As the command line calls it.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Drill => "drill",
            Kind::Dashboard => "dashboard",
            Kind::Config => "config",
        }
    }

    /// A complete file of this kind.
    pub fn example(self) -> &'static str {
        match self {
            Kind::Drill => include_str!("examples/drill.yaml"),
            Kind::Dashboard => include_str!("examples/dashboard.yaml"),
            Kind::Config => include_str!("examples/config.yaml"),
        }
    }

    pub(super) fn shape(self) -> &'static Shape {
        match self {
            Kind::Drill => &shapes::drill::DRILL,
            Kind::Dashboard => &shapes::dashboard::DASHBOARD,
            Kind::Config => &shapes::config::CONFIG,
        }
    }
}

/// The JSON Schema (draft 2020-12) of a file.
pub fn schema(kind: Kind) -> Value {
    let mut defs = BTreeMap::new();
    let mut root = object(kind.shape(), &mut defs);
    let defs: Map<String, Value> = defs.into_iter().collect();
    let mut whole = Map::new();
    whole.insert(
        "$schema".into(),
        "https://json-schema.org/draft/2020-12/schema".into(),
    );
    whole.insert(
        "$id".into(),
        format!("urn:allclear:schema:{}", kind.as_str()).into(),
    );
    whole.insert("title".into(), format!("allclear {}", kind.as_str()).into());
    whole.append(&mut root);
    if let Ok(example) = tree::parse(kind.example()) {
        whole.insert("examples".into(), json!([example.to_json()]));
    }
    whole.insert("$defs".into(), defs.into());
    whole.into()
}

/// The name of a map's definition: `a step` is `step`. It is also the map's heading in docs/files.md, and what links point
/// to: the marks that a heading's anchor loses are left out here as well.
pub(super) fn def_name(shape: &Shape) -> String {
    let words: Vec<&str> = shape
        .name
        .split(' ')
        .filter(|word| !matches!(*word, "a" | "an" | "the"))
        .collect();
    words.join("-").to_lowercase().replace(['`', '\''], "")
}

fn object(shape: &'static Shape, defs: &mut BTreeMap<String, Value>) -> Map<String, Value> {
    let mut properties = Map::new();
    for key in shape.keys {
        properties.insert(key.name.to_owned(), property(key, defs));
    }
    let required: Vec<&str> = shape
        .keys
        .iter()
        .filter(|key| matches!(key.need, Need::Required))
        .map(|key| key.name)
        .collect();
    let mut object = Map::new();
    object.insert("description".into(), shape.doc.into());
    object.insert("type".into(), "object".into());
    object.insert("properties".into(), properties.into());
    object.insert("required".into(), json!(required));
    object.insert("additionalProperties".into(), false.into());
    if !shape.rules.is_empty() {
        object.insert("allOf".into(), shape.rules.iter().map(rule).collect());
    }
    object
}

fn property(key: &Key, defs: &mut BTreeMap<String, Value>) -> Value {
    let mut value = form(&key.form, defs);
    if let Some(map) = value.as_object_mut() {
        map.insert("description".into(), key.doc.into());
        if let Need::Default(text) = key.need {
            map.insert("default".into(), default(&key.form, text));
        }
    }
    value
}

fn default(form: &Form, text: &str) -> Value {
    match form {
        Form::List(_) => text.split(", ").collect(),
        _ => tree::parse(text).map_or_else(|_| text.into(), |node| node.to_json()),
    }
}

fn form(form_of: &Form, defs: &mut BTreeMap<String, Value>) -> Value {
    match form_of {
        Form::One(scalar) => one(*scalar),
        Form::Word(words) => {
            let choices: Vec<Value> = words
                .iter()
                .map(|(word, doc)| json!({"const": word, "description": doc}))
                .collect();
            json!({"oneOf": choices})
        }
        Form::Map(shape) => {
            let name = def_name(shape);
            if !defs.contains_key(&name) {
                defs.insert(name.clone(), Value::Null);
                let object = object(shape, defs);
                defs.insert(name.clone(), object.into());
            }
            json!({"$ref": format!("#/$defs/{name}")})
        }
        Form::List(item) => json!({"type": "array", "items": form(item, defs)}),
        Form::Named(value) => json!({"type": "object", "additionalProperties": form(value, defs)}),
        Form::Either(forms) => {
            let forms: Vec<Value> = forms.iter().map(|f| form(f, defs)).collect();
            json!({"anyOf": forms})
        }
        Form::Any => json!({}),
    }
}

fn rule(rule: &Rule) -> Value {
    let required =
        |names: &[&str]| -> Vec<Value> { names.iter().map(|name| json!({"required": [name]})).collect() };
    match rule {
        Rule::Choose(names) => json!({"oneOf": required(names)}),
        Rule::NeedSome(names) => json!({"anyOf": required(names)}),
        Rule::Exclude(names) => {
            let mut choices = required(names);
            choices.push(json!({"not": {"anyOf": required(names)}}));
            json!({"oneOf": choices})
        }
    }
}

const NAME: &str = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$";
const DURATION: &str = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+$";

fn one(scalar: Scalar) -> Value {
    let pattern =
        |pattern: &str| json!({"type": "string", "pattern": pattern, "examples": [scalar.example()]});
    match scalar {
        Scalar::Name => pattern(NAME),
        Scalar::Url | Scalar::InstanceUrl | Scalar::BreakerUrl => pattern("^https?://"),
        Scalar::Address => pattern(r"^[^/@\s]+:[0-9]{1,5}$"),
        Scalar::Duration => pattern(DURATION),
        Scalar::Rate => pattern(r"^[0-9]+(\.[0-9]+)? ?/s$"),
        Scalar::Share => pattern(r"^[0-9]+(\.[0-9]+)? ?%$"),
        Scalar::Bytes => pattern(r"^[0-9]+(\.[0-9]+)? ?(B|[kKMG]B|[KMGT]iB)$"),
        Scalar::Fraction => pattern(r"^[0-9]+(\.[0-9]+)? ?%( ?rel)?$"),
        Scalar::Secret => pattern(r"^\$\{[A-Za-z_][A-Za-z0-9_]*\}$"),
        Scalar::Text
        | Scalar::Token
        | Scalar::Path
        | Scalar::UrlPath
        | Scalar::Unit
        | Scalar::Workload
        | Scalar::PodLabels
        | Scalar::ServiceOfTarget
        | Scalar::Socket
        | Scalar::Selector
        | Scalar::Buckets
        | Scalar::Matchers
        | Scalar::Query => {
            json!({"type": ["string", "number", "boolean"], "examples": [scalar.example()]})
        }
        Scalar::Level | Scalar::Change => {
            json!({"type": ["string", "number"], "examples": [scalar.example()]})
        }
        Scalar::Number => json!({"type": "number"}),
        Scalar::Quantile => json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
        Scalar::HttpStatus => json!({"type": "integer", "minimum": 100, "maximum": 599}),
        Scalar::Whole => json!({"type": "integer", "minimum": 0}),
        Scalar::Flag => json!({"type": "boolean"}),
    }
}
