//! Drills.

use super::{DURATION, LOCALIZED, NAME, NAMES, WHOLE, playbook::PLAYBOOK, steps::STEP};
use crate::spec::shape::{Form, Rule, Scalar, Shape, may, need, or};

const LEVEL: Form = Form::One(Scalar::Level);

pub(in crate::spec) static DRILL: Shape = Shape {
    name: "a drill",
    doc: "What is broken, what is expected, and how it is put back.",
    keys: &[
        need("drill", NAME, "Its name."),
        may("title", LOCALIZED, "One line for people; the name if left out."),
        need(
            "hypothesis",
            LOCALIZED,
            "What is believed, in a sentence. The run holds or falsifies it.",
        ),
        need(
            "dashboard",
            NAME,
            "The dashboard whose metrics and scopes it uses.",
        ),
        may("risk", Form::Map(&RISK), "FMEA numbers, 1 (harmless) to 5."),
        need(
            "baseline",
            DURATION,
            "How long the system is watched in silence first. At least 20 windows.",
        ),
        or(
            "window",
            DURATION,
            "10s",
            "The width of a window that the judge sees.",
        ),
        may(
            "settle",
            DURATION,
            "How long after a fault's start windows are left out; three windows, at most a third of the step, if left out.",
        ),
        need("guard", Form::Map(&GUARD), "What must hold throughout."),
        need("targets", Form::Map(&TARGETS), "What is hit."),
        need(
            "steps",
            Form::List(&Form::Map(&STEP)),
            "The steps. They run one after another.",
        ),
        need("recovery", Form::Map(&PLAYBOOK), "How everything is put back."),
        or(
            "accept_no_expiry",
            Form::One(Scalar::Flag),
            "false",
            "Lets a fault that never expires by itself run in production.",
        ),
    ],
    rules: &[],
};

pub(in crate::spec) static RISK: Shape = Shape {
    name: "a risk",
    doc: "FMEA numbers, 1 (harmless) to 5.",
    keys: &[
        need("likelihood", WHOLE, "How often it happens."),
        need("impact", WHOLE, "How bad it is."),
        need("detection", WHOLE, "How hard it is to notice."),
    ],
    rules: &[],
};

pub(in crate::spec) static GUARD: Shape = Shape {
    name: "a guard",
    doc: "The steady state that must hold. Broken for long enough, it aborts the run. It needs a business metric.",
    keys: &[
        or("every", DURATION, "10s", "How often hypotheses are evaluated."),
        or(
            "samples",
            WHOLE,
            "3",
            "Consecutive fresh bad samples that abort. No data for `every` × `samples` aborts too.",
        ),
        need(
            "steady_state",
            Form::List(&Form::Map(&HYPOTHESIS)),
            "What must hold, over windows.",
        ),
        may(
            "tripwires",
            Form::List(&Form::Map(&TRIPWIRE)),
            "Hard limits, read straight from the targets each second.",
        ),
    ],
    rules: &[],
};

pub(in crate::spec) static HYPOTHESIS: Shape = Shape {
    name: "a steady-state hypothesis",
    doc: "One limit on one metric.",
    keys: &[
        need("metric", NAME, "The metric."),
        may("scope", NAME, "The scope that narrows it."),
        may(
            "window",
            DURATION,
            "Over how long it is averaged; six of the drill's windows if left out.",
        ),
        may("at_least", LEVEL, "It may not fall below this level."),
        may("at_most", LEVEL, "It may not rise above this level."),
        may(
            "within",
            Form::One(Scalar::Fraction),
            "It stays within this part of its baseline: `30%`, or `30%rel` for a metric in percent.",
        ),
    ],
    rules: &[Rule::Choose(&["at_least", "at_most", "within"])],
};

pub(in crate::spec) static TRIPWIRE: Shape = Shape {
    name: "a tripwire",
    doc: "A hard limit on a gauge or a rate that the targets themselves expose.",
    keys: &[
        need("metric", NAME, "The metric: a `gauge` or a `rate`."),
        may("scope", NAME, "The scope that narrows it."),
        may("at_least", LEVEL, "It may not fall below this level."),
        may("at_most", LEVEL, "It may not rise above this level."),
        or("samples", WHOLE, "3", "Consecutive fresh bad samples that abort."),
    ],
    rules: &[Rule::Choose(&["at_least", "at_most"])],
};

pub(in crate::spec) static TARGETS: Shape = Shape {
    name: "a set of targets",
    doc: "What is hit: named instances of one service.",
    keys: &[
        need("service", NAME, "The service."),
        need("instances", NAMES, "Its instances that are hit."),
    ],
    rules: &[],
};
