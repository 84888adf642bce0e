//! Pools that must drain, and how a stuck instance is restarted.

use super::kubernetes::POD_RESTART;
use crate::spec::{
    shape::{Form, Key, Rule, Scalar, Shape, may, need, or},
    shapes::{DURATION, INSTANCE_URL, NAME, TOKENS},
};

pub(in crate::spec) static DRAIN: Shape = Shape {
    name: "a pool to drain",
    doc: "A pool that must drain before traffic returns.",
    keys: &[
        need(
            "metric",
            NAME,
            "The metric that counts busy threads or connections.",
        ),
        may("scope", NAME, "The scope that narrows it."),
        need(
            "idle_at_most",
            Form::One(Scalar::Level),
            "Idle means at most this many, on each target if the metric has a series for each.",
        ),
        or(
            "scrape_holds",
            Form::One(Scalar::Number),
            "0",
            "What reading the metric keeps busy by itself: 1 for Tomcat's busy threads, which count the scrape.",
        ),
        or(
            "wait",
            DURATION,
            "60s",
            "How long to wait before the trend decides: falling, wait on; flat or rising, restart once.",
        ),
        may(
            "if_stuck",
            Form::Map(&STUCK),
            "What is done, once for each stuck target, if it does not drain.",
        ),
        may(
            "ready",
            INSTANCE_URL,
            "Answers 2xx once a restarted target is ready; with `{instance}`.",
        ),
    ],
    rules: &[],
};

static STUCK: Shape = Shape {
    name: "a way to restart",
    doc: "How a stuck instance is restarted.",
    keys: &[
        may("http", Form::Map(&HTTP_RESTART), "By a request to the instance."),
        may("command", Form::Map(&COMMAND_RESTART), "By a program."),
        may("systemd", Form::Map(&SYSTEMD_RESTART), "By `systemctl restart`."),
        may(
            "kubernetes",
            Form::Map(&POD_RESTART),
            "By deleting its pod, or by a rollout of its workload.",
        ),
    ],
    rules: &[Rule::Choose(&["http", "command", "systemd", "kubernetes"])],
};

const TIMEOUT: Key = or(
    "timeout",
    DURATION,
    "60s",
    "Its process group is killed after that.",
);

static COMMAND_RESTART: Shape = Shape {
    name: "a restart by a program",
    doc: "A program that restarts an instance. `{instance}` becomes host and port, `{host}` the host, `{target}` the name.",
    keys: &[need("run", TOKENS, "The program and its arguments."), TIMEOUT],
    rules: &[],
};

static SYSTEMD_RESTART: Shape = Shape {
    name: "a restart of a unit",
    doc: "`systemctl restart UNIT`. `{host}` and `{target}` become the instance's host and name.",
    keys: &[
        need("unit", Form::One(Scalar::Unit), "The unit."),
        may(
            "run",
            TOKENS,
            "What comes before `systemctl`, such as `[ssh, \"ops@{host}\", sudo]`. Without it, this machine's own.",
        ),
        TIMEOUT,
    ],
    rules: &[],
};

static HTTP_RESTART: Shape = Shape {
    name: "an HTTP restart",
    doc: "A POST that restarts an instance.",
    keys: &[need("restart", INSTANCE_URL, "The URL, with `{instance}`.")],
    rules: &[],
};
