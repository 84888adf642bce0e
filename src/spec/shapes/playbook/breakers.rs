//! Circuit breakers.

use crate::spec::{
    shape::{Form, Rule, Scalar, Shape, may, need, or},
    shapes::{DURATION, INSTANCE_URL, NAME, TOKENS},
};

pub(in crate::spec) static BREAKERS: Shape = Shape {
    name: "a set of breakers",
    doc: "Circuit breakers of one kind.",
    keys: &[
        may(
            "resilience4j",
            Form::Map(&RESILIENCE4J),
            "Resilience4j, through Spring Boot's actuator.",
        ),
        may(
            "sentinel",
            Form::Map(&SENTINEL),
            "Sentinel's rules, through its command API.",
        ),
    ],
    rules: &[Rule::Choose(&["resilience4j", "sentinel"])],
};

static SENTINEL: Shape = Shape {
    name: "a set of Sentinel rules",
    doc: "Sentinel's rules, through its command API: recovery puts each list back whole, as it was before the drill.",
    keys: &[
        need(
            "api",
            INSTANCE_URL,
            "The command API's base URL; `{instance}` becomes host and port, `{host}` the host alone.",
        ),
        need("callers", NAME, "The service whose instances hold the rules."),
        need("rules", Form::List(&SENTINEL_RULES), "Which lists."),
    ],
    rules: &[],
};

pub(in crate::spec) const SENTINEL_RULES: Form = Form::Word(&[
    ("degrade", "what opens its breakers, and for how long"),
    ("flow", "what it lets through"),
]);

static RESILIENCE4J: Shape = Shape {
    name: "a set of Resilience4j breakers",
    doc: "Resilience4j, through Spring Boot's actuator.",
    keys: &[
        need(
            "actuator",
            INSTANCE_URL,
            "The actuator's base URL; `{instance}` becomes host and port.",
        ),
        need("callers", NAME, "The service whose instances hold the breakers."),
        need(
            "names",
            TOKENS,
            "The breakers' names. A name that the actuator does not list is refused before the start.",
        ),
        or(
            "via",
            Form::Either(&[
                Form::Word(&[
                    (
                        "app",
                        "`http://{instance}/app/breakers/{name}/half-open` half-opens it; real calls close it",
                    ),
                    (
                        "close",
                        "the actuator closes it at once; the breaker's window is lost",
                    ),
                    (
                        "wait",
                        "nothing is changed; it is watched until calls of users have closed it",
                    ),
                ]),
                Form::Map(&VIA),
            ]),
            "app",
            "How an open breaker is brought back.",
        ),
    ],
    rules: &[],
};

pub(in crate::spec) static VIA: Shape = Shape {
    name: "a way to bring back a breaker",
    doc: "How an open breaker is brought back, said in full.",
    keys: &[
        may(
            "app",
            Form::One(Scalar::BreakerUrl),
            "An endpoint of the service that half-opens a breaker, with `{instance}` and `{name}`.",
        ),
        may(
            "wait",
            Form::Map(&PROBE),
            "Calls that try the breaker, before traffic returns.",
        ),
    ],
    rules: &[Rule::Choose(&["app", "wait"])],
};

static PROBE: Shape = Shape {
    name: "a probe",
    doc: "Calls that try a breaker once its wait is over, until it is seen closed.",
    keys: &[
        need(
            "probe",
            INSTANCE_URL,
            "What is called with GET, with `{instance}` and, if it helps, `{name}`. It must go through the breaker and change nothing.",
        ),
        or(
            "after",
            DURATION,
            "60s",
            "How long the breaker stays open before it lets a call try: its `waitDurationInOpenState`.",
        ),
    ],
    rules: &[],
};
