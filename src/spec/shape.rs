//! What a map of a file may hold. One table drives the reader, its nearest names, the JSON Schemas and the reference in
//! docs/files.md, so that none of them can say another thing than the others.

/// A map with known keys.
#[derive(Debug)]
pub(super) struct Shape {
    /// What a person calls it: `a step`.
    pub name: &'static str,
    /// What it is for.
    pub doc: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
    /// Which keys need or exclude each other.
    pub rules: &'static [Rule],
}

/// A key of a map.
#[derive(Debug)]
pub(super) struct Key {
    pub name: &'static str,
    pub doc: &'static str,
    pub form: Form,
    pub need: Need,
}

/// Whether a key must be there.
#[derive(Debug, Clone, Copy)]
pub(super) enum Need {
    Required,
    Optional,
    /// What stands for it when it is left out, as the file would write it.
    Default(&'static str),
}

/// Which keys of a map need or exclude each other.
#[derive(Debug)]
pub(super) enum Rule {
    /// Exactly one of these.
    Choose(&'static [&'static str]),
    /// At most one of these.
    Exclude(&'static [&'static str]),
    /// At least one of these.
    NeedSome(&'static [&'static str]),
}

/// What stands under a key.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    /// A single value.
    One(Scalar),
    /// One of a few words, with what each means.
    Word(&'static [(&'static str, &'static str)]),
    /// A map with known keys.
    Map(&'static Shape),
    /// A list.
    List(&'static Form),
    /// A map from names that the user chooses.
    Named(&'static Form),
    /// One of several.
    Either(&'static [Form]),
    /// Any YAML value.
    Any,
}

/// The kinds of single values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    Name,
    Text,
    Token,
    Path,
    UrlPath,
    Url,
    InstanceUrl,
    BreakerUrl,
    Address,
    Socket,
    Selector,
    Buckets,
    Matchers,
    Query,
    Duration,
    Rate,
    Share,
    Bytes,
    Number,
    Quantile,
    Whole,
    HttpStatus,
    Flag,
    Level,
    Change,
    Fraction,
    Secret,
    Unit,
    Workload,
    PodLabels,
    ServiceOfTarget,
}

impl Scalar {
    /// What is expected, for a message: `a duration`.
    pub fn expected(self) -> &'static str {
        match self {
            Scalar::Name => "a name",
            Scalar::Text | Scalar::Token => "a text",
            Scalar::Path => "a path",
            Scalar::UrlPath => "the path of a URL",
            Scalar::Url | Scalar::InstanceUrl | Scalar::BreakerUrl => "a URL",
            Scalar::Address => "an address",
            Scalar::Socket => "an address or a socket's path",
            Scalar::Selector | Scalar::Buckets => "a selector",
            Scalar::Matchers => "label matchers",
            Scalar::Query => "a PromQL query",
            Scalar::Duration => "a duration",
            Scalar::Rate => "a rate",
            Scalar::Share => "a share",
            Scalar::Bytes => "a size",
            Scalar::Number => "a number",
            Scalar::Quantile => "a number between 0 and 1",
            Scalar::Whole => "a whole number",
            Scalar::HttpStatus => "an HTTP status",
            Scalar::Flag => "true or false",
            Scalar::Level => "a level in the metric's unit",
            Scalar::Change => "a change in the metric's unit",
            Scalar::Fraction => "a part of the baseline",
            Scalar::Secret => "a secret's place",
            Scalar::Unit => "a systemd unit",
            Scalar::Workload => "a workload",
            Scalar::PodLabels => "labels of a pod",
            Scalar::ServiceOfTarget => "a Service of each target",
        }
    }

    /// An example, as a file writes it.
    pub fn example(self) -> &'static str {
        match self {
            Scalar::Name => "order-0",
            Scalar::Text => "Orders keep succeeding",
            Scalar::Token => "order",
            Scalar::Path => "certs/ca.pem",
            Scalar::UrlPath => "/metrics",
            Scalar::Url => "http://host:8080/path",
            Scalar::InstanceUrl => "http://{instance}/path",
            Scalar::BreakerUrl => "http://{instance}/breakers/{name}",
            Scalar::Address => "host:8080",
            Scalar::Socket => "lb:9999",
            Scalar::Selector => "http_requests_total{path=\"/order\"}",
            Scalar::Buckets => "http_request_seconds_bucket{path=\"/order\"}",
            Scalar::Matchers => "traffic=\"drill\"",
            Scalar::Query => "sum(rate(jobs_total[1m]))",
            Scalar::Duration => "10s",
            Scalar::Rate => "200/s",
            Scalar::Share => "20%",
            Scalar::Bytes => "64MiB",
            Scalar::Number => "200",
            Scalar::Quantile => "0.99",
            Scalar::Whole => "3",
            Scalar::HttpStatus => "503",
            Scalar::Flag => "true",
            Scalar::Level => "99%",
            Scalar::Change => "0.5pp",
            Scalar::Fraction => "30%",
            Scalar::Secret => "${PASSWORD}",
            Scalar::Unit => "order@{target}",
            Scalar::Workload => "deployment/order",
            Scalar::PodLabels => "app=order,instance={target}",
            Scalar::ServiceOfTarget => "order-{target}",
        }
    }
}

impl Form {
    /// What is expected, for a message.
    pub fn expected(&self) -> String {
        match self {
            Form::One(scalar) => scalar.expected().to_owned(),
            Form::Word(words) => {
                let words: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
                words.join(" or ")
            }
            Form::Map(shape) => shape.name.to_owned(),
            Form::List(_) => "a list".to_owned(),
            Form::Named(_) => "a map of names".to_owned(),
            Form::Either(forms) => {
                let forms: Vec<String> = forms.iter().map(Form::expected).collect();
                forms.join(", or ")
            }
            Form::Any => "a value".to_owned(),
        }
    }
}

impl Shape {
    /// The key of that name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

pub(super) const fn need(name: &'static str, form: Form, doc: &'static str) -> Key {
    Key {
        name,
        doc,
        form,
        need: Need::Required,
    }
}

pub(super) const fn may(name: &'static str, form: Form, doc: &'static str) -> Key {
    Key {
        name,
        doc,
        form,
        need: Need::Optional,
    }
}

pub(super) const fn or(name: &'static str, form: Form, default: &'static str, doc: &'static str) -> Key {
    Key {
        name,
        doc,
        form,
        need: Need::Default(default),
    }
}
