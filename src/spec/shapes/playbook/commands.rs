//! Commands of the user's own.

use crate::spec::{
    shape::{Form, Rule, Shape, may, need, or},
    shapes::{DURATION, HTTP_STATUS, NAME, TOKENS, URL},
};

pub(in crate::spec) static COMMAND: Shape = Shape {
    name: "a command",
    doc: "A step of your own: a program or a request. With `{instance}` (host and port), `{host}` or `{target}` (the name) in it, it is done for each target; `{run}` becomes the run.",
    keys: &[
        need("name", NAME, "Its name."),
        need("after", Form::Word(STEPS), "The recovery step it follows."),
        may(
            "run",
            TOKENS,
            "The program and its arguments. No shell; relative paths start at the drill file's folder.",
        ),
        may(
            "check",
            TOKENS,
            "A program and its arguments; exit code 0 proves that it worked. Asked first: if it passes, nothing is done.",
        ),
        may(
            "http",
            Form::Map(&HTTP_COMMAND),
            "A request instead of a program.",
        ),
        or(
            "timeout",
            DURATION,
            "30s",
            "A program's process group is killed after that; a request is given up.",
        ),
    ],
    rules: &[Rule::Choose(&["run", "http"]), Rule::Exclude(&["check", "http"])],
};

static HTTP_COMMAND: Shape = Shape {
    name: "a request",
    doc: "A request that changes something, and how that is proved.",
    keys: &[
        may("put", URL, "PUT to this URL."),
        may("post", URL, "POST to this URL."),
        may("delete", URL, "DELETE this URL."),
        may(
            "body",
            Form::Any,
            "What is sent: a text as it is, anything else as JSON.",
        ),
        may(
            "check",
            Form::Map(&HTTP_CHECK),
            "What proves that it worked. Asked first: if it passes, nothing is done.",
        ),
    ],
    rules: &[Rule::Choose(&["put", "post", "delete"])],
};

static HTTP_CHECK: Shape = Shape {
    name: "an HTTP check",
    doc: "What a GET must answer.",
    keys: &[
        need("get", URL, "The URL."),
        or("status", HTTP_STATUS, "200", "The status."),
        may(
            "json",
            Form::Named(&Form::Any),
            "What the JSON answer must contain, by JSON pointer: `{\"/enabled\": false}`.",
        ),
    ],
    rules: &[],
};

const STEPS: &[(&str, &str)] = &[
    ("faults", "1: the faults are stopped"),
    ("injector", "2: the injectors are cleared"),
    ("drain", "3: the targets are out of traffic"),
    ("breakers", "4: the breakers are brought back"),
    ("flags", "4: the flags are deleted"),
    ("retry", "4: the retry queues are held"),
    ("pools", "5: the pools have drained"),
    ("traffic", "6: traffic is back"),
    ("release", "7: the retry queues are let go"),
];
