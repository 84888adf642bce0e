//! Dashboards.

use super::{DURATION, LOCALIZED, NAME, NAMES, TOKENS, WHOLE};
use crate::spec::shape::{Form, Rule, Scalar, Shape, may, need, or};

const SELECTOR: Form = Form::One(Scalar::Selector);

pub(in crate::spec) static DASHBOARD: Shape = Shape {
    name: "a dashboard",
    doc: "Where to look: metrics, scopes, panels, topology.",
    keys: &[
        need("dashboard", NAME, "Its name. Drills refer to it."),
        may(
            "scopes",
            Form::Named(&Form::One(Scalar::Matchers)),
            "Label matchers that narrow a metric, by name. `{targets}` stands for the names of the target instances, joined by `|`.",
        ),
        need("metrics", Form::List(&Form::Map(&METRIC)), "The metrics."),
        may(
            "panels",
            Form::List(&Form::Map(&PANEL)),
            "Groups of metrics on the chart screen.",
        ),
        may(
            "topology",
            Form::List(&Form::Map(&NODE)),
            "The services and what they call, for the map and the arithmetic of the blast radius.",
        ),
    ],
    rules: &[],
};

pub(in crate::spec) static METRIC: Shape = Shape {
    name: "a metric",
    doc: "What to read, and what its numbers mean. Exactly one of `ratio`, `rate`, `quantile`, `gauge` and `promql` says how it is read.",
    keys: &[
        need("id", NAME, "Its id. Drills refer to it."),
        may("title", LOCALIZED, "What people read; the id if left out."),
        need(
            "kind",
            Form::Word(&[
                ("business", "what users and the business feel; a guard needs one"),
                ("system", "resources: threads, pools, memory"),
                ("chain", "calls along the chain of services"),
            ]),
            "What it is about.",
        ),
        may(
            "unit",
            Form::Word(&[
                ("percent", "a share of one"),
                ("seconds", "seconds"),
                ("bytes", "bytes"),
                ("per_second", "events a second"),
                ("count", "things"),
            ]),
            "What its numbers are. A `ratio` is in `percent` and a `rate` in `per_second`; the others must say.",
        ),
        may(
            "better",
            Form::Word(&[("higher", "more is better"), ("lower", "less is better")]),
            "Which direction is good, if either is.",
        ),
        may(
            "ratio",
            Form::Map(&RATIO),
            "Good events of all events: two counters.",
        ),
        may(
            "rate",
            SELECTOR,
            "A counter of events, per second. For counters of bytes or seconds use a gauge.",
        ),
        may(
            "quantile",
            Form::Map(&QUANTILE),
            "A quantile of a classic histogram.",
        ),
        may(
            "gauge",
            Form::Either(&[SELECTOR, Form::Map(&GAUGE)]),
            "A gauge: a selector (its series added up), or a map.",
        ),
        may(
            "promql",
            Form::One(Scalar::Query),
            "Any PromQL that gives one number. Needs a Prometheus server. A range in it, `[5m]`, looks back by itself: so much of a step's start is left out, and a hypothesis of the guard with a longer range than its `window` and than `every` x `samples` is refused; read that as a `ratio`.",
        ),
    ],
    rules: &[Rule::Choose(&["ratio", "rate", "quantile", "gauge", "promql"])],
};

pub(in crate::spec) static RATIO: Shape = Shape {
    name: "a ratio",
    doc: "Good events of all events.",
    keys: &[
        need("good", SELECTOR, "The counter of good events."),
        need("total", SELECTOR, "The counter of all events."),
    ],
    rules: &[],
};

pub(in crate::spec) static QUANTILE: Shape = Shape {
    name: "a quantile",
    doc: "A quantile of a classic histogram.",
    keys: &[
        need("histogram", Form::One(Scalar::Buckets), "The `_bucket` series."),
        need(
            "q",
            Form::One(Scalar::Quantile),
            "Which quantile: 0.99 is the 99th percentile.",
        ),
    ],
    rules: &[],
};

pub(in crate::spec) static GAUGE: Shape = Shape {
    name: "a gauge",
    doc: "A gauge, several series folded into one value.",
    keys: &[
        need("selector", SELECTOR, "The gauge."),
        or(
            "agg",
            Form::Word(&[("sum", "added up"), ("max", "the largest"), ("avg", "the mean")]),
            "sum",
            "How several series become one value.",
        ),
    ],
    rules: &[],
};

pub(in crate::spec) static PANEL: Shape = Shape {
    name: "a panel",
    doc: "A group of metrics on the chart screen.",
    keys: &[
        need("title", LOCALIZED, "Its heading."),
        need("metrics", NAMES, "The ids of its metrics."),
    ],
    rules: &[],
};

pub(in crate::spec) static NODE: Shape = Shape {
    name: "a service of the topology",
    doc: "A service on the map.",
    keys: &[
        need("service", NAME, "The service."),
        or("instances", WHOLE, "1", "How many instances it has."),
        may("calls", NAMES, "The services it calls."),
        may("pool", Form::Map(&POOL), "The thread pool of each instance."),
        may(
            "shares",
            TOKENS,
            "What it shares with other services, such as a database.",
        ),
    ],
    rules: &[],
};

pub(in crate::spec) static POOL: Shape = Shape {
    name: "a pool",
    doc: "The thread pool of each instance: what a delay can fill.",
    keys: &[
        need("threads", WHOLE, "Threads of one instance."),
        may("metric", NAME, "The metric that counts busy threads."),
        may(
            "timeout",
            DURATION,
            "The caller's timeout: how long one call can hold a thread.",
        ),
        may(
            "rate",
            NAME,
            "The metric with the requests a second of one instance.",
        ),
    ],
    rules: &[],
};
