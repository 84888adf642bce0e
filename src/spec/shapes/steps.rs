//! Steps of a drill: faults, envelopes, loads, expectations.

use super::{DURATION, HTTP_STATUS, LOCALIZED, NAME, NAMES, TOKEN, URL, WHOLE};
use crate::spec::shape::{Form, Rule, Scalar, Shape, may, need, or};

const LEVEL: Form = Form::One(Scalar::Level);
const CHANGE: Form = Form::One(Scalar::Change);
const HEADERS: Form = Form::Named(&TOKEN);

pub(in crate::spec) static STEP: Shape = Shape {
    name: "a step",
    doc: "A timed part of a run: a fault, a load, or plain observation, with its expectations.",
    keys: &[
        need("name", NAME, "Its name."),
        may("fault", Form::Map(&FAULT), "What it breaks."),
        may(
            "faults",
            Form::List(&Form::Map(&FAULT)),
            "What it breaks, if more than one thing.",
        ),
        may("load", Form::Map(&LOAD), "The requests it sends by itself."),
        may(
            "envelope",
            Form::Map(&ENVELOPE),
            "What its faults may hit. Every fault needs one.",
        ),
        need("duration", DURATION, "How long it lasts. At most 24 hours."),
        may("settle", DURATION, "Overrides the drill's `settle`."),
        may("after", NAME, "Begins after that step instead of the one before."),
        may(
            "with",
            NAME,
            "Begins together with that step; they are judged together.",
        ),
        may("at", DURATION, "Begins that long after the first step's start."),
        may(
            "expect",
            Form::List(&Form::Map(&EXPECTATION)),
            "What is expected of it: the rows of the sheet.",
        ),
    ],
    rules: &[
        Rule::Exclude(&["fault", "faults", "load"]),
        Rule::Exclude(&["after", "with", "at"]),
    ],
};

pub(in crate::spec) static FAULT: Shape = Shape {
    name: "a fault",
    doc: "What a step injects.",
    keys: &[need(
        "rule",
        Form::Map(&RULE),
        "A rule of the injection-point API.",
    )],
    rules: &[],
};

pub(in crate::spec) static RULE: Shape = Shape {
    name: "a rule",
    doc: "What happens at an injection point. Exactly one effect.",
    keys: &[
        need(
            "point",
            TOKEN,
            "The injection point in the service's code, such as `coupon.query`.",
        ),
        may(
            "service",
            NAME,
            "The service whose instances get the rule, if not the drill's targets.",
        ),
        may(
            "delay",
            Form::Either(&[DURATION, Form::Map(&DELAY)]),
            "The call takes longer.",
        ),
        may(
            "exception",
            Form::Either(&[TOKEN, Form::Map(&EXCEPTION)]),
            "The call throws.",
        ),
        may(
            "status",
            Form::Either(&[HTTP_STATUS, Form::Map(&STATUS)]),
            "The call answers with this HTTP status.",
        ),
        may(
            "empty",
            Form::One(Scalar::Flag),
            "`true`: the call answers with nothing.",
        ),
        may(
            "tamper",
            Form::Named(&Form::Any),
            "Values in the answer are replaced, by JSON pointer: `{\"/stock\": -1}`.",
        ),
        may(
            "stale",
            Form::One(Scalar::Flag),
            "`true`: the call answers with an old value.",
        ),
        may(
            "memory",
            Form::One(Scalar::Bytes),
            "The process holds this much more memory.",
        ),
    ],
    rules: &[Rule::Choose(&[
        "delay",
        "exception",
        "status",
        "empty",
        "tamper",
        "stale",
        "memory",
    ])],
};

pub(in crate::spec) static DELAY: Shape = Shape {
    name: "a delay",
    doc: "How much longer a call takes.",
    keys: &[
        need("mean", DURATION, "The mean."),
        or(
            "jitter",
            DURATION,
            "0s",
            "Uniformly up to this much more or less.",
        ),
    ],
    rules: &[],
};

pub(in crate::spec) static EXCEPTION: Shape = Shape {
    name: "an exception",
    doc: "What is thrown.",
    keys: &[need(
        "class",
        TOKEN,
        "Its class, such as `java.net.SocketTimeoutException`.",
    )],
    rules: &[],
};

pub(in crate::spec) static STATUS: Shape = Shape {
    name: "a status",
    doc: "What is answered.",
    keys: &[
        need("code", HTTP_STATUS, "The HTTP status, 100 to 599."),
        may("body", TOKEN, "The body; empty if left out."),
    ],
    rules: &[],
};

pub(in crate::spec) static ENVELOPE: Shape = Shape {
    name: "an envelope",
    doc: "What may be hit. It needs a bound: a `header`, a `percent` below 100%, or `max_concurrent`.",
    keys: &[
        may("header", HEADERS, "Only calls that carry these headers."),
        may("instances", NAMES, "Only these of the targets."),
        may(
            "percent",
            Form::One(Scalar::Share),
            "Only this share of the calls.",
        ),
        may(
            "max_concurrent",
            WHOLE,
            "At most this many calls held at once, per instance.",
        ),
        may("window", DURATION, "Only for this long after the fault's start."),
    ],
    rules: &[],
};

pub(in crate::spec) static LOAD: Shape = Shape {
    name: "a load",
    doc: "Requests at a steady rate, whatever the answers.",
    keys: &[
        need(
            "url",
            URL,
            "Where to. `{service}` becomes an address of the environment.",
        ),
        or(
            "method",
            Form::Word(&[("GET", "reads"), ("POST", "writes")]),
            "GET",
            "The HTTP method.",
        ),
        may("headers", HEADERS, "Headers of each request."),
        need("rate", Form::One(Scalar::Rate), "Requests a second."),
        or(
            "max_concurrent",
            WHOLE,
            "50",
            "Requests in flight at most; more are dropped and counted.",
        ),
        or("timeout", DURATION, "3s", "The time limit of one request."),
    ],
    rules: &[],
};

pub(in crate::spec) static EXPECTATION: Shape = Shape {
    name: "an expectation",
    doc: "A row of the sheet: one metric and the change expected of it.",
    keys: &[
        need("metric", NAME, "The metric."),
        may("scope", NAME, "The scope that narrows it."),
        may(
            "rises",
            Form::Map(&MOVE),
            "It rises; `{}` means by a detectable amount.",
        ),
        may(
            "falls",
            Form::Map(&MOVE),
            "It falls; `{}` means by a detectable amount.",
        ),
        may("stays", Form::Map(&STAY), "It stays near its baseline."),
        may(
            "level",
            Form::Map(&LEVELS),
            "Its level lies within bounds, whatever it was before.",
        ),
        may("otherwise", LOCALIZED, "What it means if that does not come."),
    ],
    rules: &[Rule::Choose(&["rises", "falls", "stays", "level"])],
};

pub(in crate::spec) static MOVE: Shape = Shape {
    name: "a change",
    doc: "How far a metric moves. `1500ms`, `3/s`, `64MiB` or `200` in the metric's unit; `20%` of its baseline; for a metric in percent `0.5pp`, or `0.5%rel` of its baseline.",
    keys: &[
        may("at_least", CHANGE, "By at least this."),
        may("at_most", CHANGE, "By at most this."),
    ],
    rules: &[],
};

pub(in crate::spec) static STAY: Shape = Shape {
    name: "a `stays` row",
    doc: "How near a metric stays to its baseline.",
    keys: &[need("within", CHANGE, "Up or down by at most this.")],
    rules: &[],
};

pub(in crate::spec) static LEVELS: Shape = Shape {
    name: "a level",
    doc: "Where a metric lies under the fault, in its unit.",
    keys: &[
        may("at_least", LEVEL, "Not below this."),
        may("at_most", LEVEL, "Not above this."),
    ],
    rules: &[Rule::NeedSome(&["at_least", "at_most"])],
};
