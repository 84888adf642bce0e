//! Recovery playbooks.

use super::{DURATION, NAME, TOKEN, TOKENS, URL, WHOLE};
use crate::spec::shape::{Form, Rule, Scalar, Shape, may, need, or};

pub(in crate::spec) static PLAYBOOK: Shape = Shape {
    name: "a recovery",
    doc: "What recovery may put back, and how. The order is fixed, not the file's. If faults are all there is to put back, say so with `verify` alone.",
    keys: &[
        may(
            "gateway",
            Form::Map(&GATEWAY),
            "How the targets are taken out of traffic and brought back.",
        ),
        may("breakers", Form::List(&Form::Map(&BREAKERS)), "Circuit breakers."),
        may("flags", Form::List(&Form::Map(&FLAGS)), "Degrade flags."),
        may("retry_queues", Form::List(&Form::Map(&QUEUE)), "Retry queues."),
        may(
            "pools",
            Form::List(&Form::Map(&DRAIN)),
            "Pools that must drain before traffic returns.",
        ),
        may(
            "commands",
            Form::List(&Form::Map(&COMMAND)),
            "Commands of your own.",
        ),
        may("verify", Form::Map(&VERIFY), "When it is over."),
    ],
    rules: &[Rule::NeedSome(&[
        "gateway",
        "breakers",
        "flags",
        "retry_queues",
        "pools",
        "commands",
        "verify",
    ])],
};

pub(in crate::spec) static GATEWAY: Shape = Shape {
    name: "a gateway",
    doc: "A load balancer in front of the targets.",
    keys: &[need(
        "haproxy",
        Form::Map(&HAPROXY),
        "HAProxy, by its runtime API.",
    )],
    rules: &[],
};

pub(in crate::spec) static HAPROXY: Shape = Shape {
    name: "an HAProxy",
    doc: "HAProxy, by its runtime API.",
    keys: &[
        need(
            "socket",
            Form::Either(&[TOKEN, TOKENS]),
            "`host:port`, a unix socket's path, or the name of a gateway of the environment; a list of them for several load balancers.",
        ),
        need(
            "backend",
            TOKEN,
            "The backend whose servers are the target instances.",
        ),
        or(
            "ramp",
            Form::List(&Form::One(Scalar::Share)),
            "10%, 30%, 100%",
            "The stages of the way back; the last is 100%.",
        ),
        or(
            "hold",
            DURATION,
            "30s",
            "How long each stage is held and watched.",
        ),
    ],
    rules: &[],
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

pub(in crate::spec) static SENTINEL: Shape = Shape {
    name: "a set of Sentinel rules",
    doc: "Sentinel's rules, through its command API: recovery puts each list back whole, as it was before the drill.",
    keys: &[
        need(
            "api",
            URL,
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

pub(in crate::spec) static RESILIENCE4J: Shape = Shape {
    name: "a set of Resilience4j breakers",
    doc: "Resilience4j, through Spring Boot's actuator.",
    keys: &[
        need(
            "actuator",
            URL,
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
            URL,
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

pub(in crate::spec) static PROBE: Shape = Shape {
    name: "a probe",
    doc: "Calls that try a breaker once its wait is over, until it is seen closed.",
    keys: &[
        need(
            "probe",
            URL,
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

pub(in crate::spec) static FLAGS: Shape = Shape {
    name: "a set of flags",
    doc: "Degrade flags of one kind. Only those that the drill caused are deleted.",
    keys: &[need("redis", Form::Map(&REDIS_FLAGS), "Keys in Redis.")],
    rules: &[],
};

pub(in crate::spec) static REDIS_FLAGS: Shape = Shape {
    name: "a set of Redis flags",
    doc: "Keys in Redis.",
    keys: &[
        need("server", NAME, "The server's name in the environment."),
        may(
            "match",
            TOKEN,
            "A glob of keys, such as `degrade:order:*`. It cannot begin with a wildcard.",
        ),
        may(
            "prefix",
            TOKEN,
            "How the keys begin, taken literally: `*`, `?`, `[` and `\\` in it mean themselves.",
        ),
        need(
            "at_most",
            WHOLE,
            "More matches than this mean a wrong pattern: refused.",
        ),
    ],
    rules: &[Rule::Choose(&["match", "prefix"])],
};

pub(in crate::spec) static QUEUE: Shape = Shape {
    name: "a retry queue",
    doc: "A retry queue: held while breakers and pools come back, then let go at a rate.",
    keys: &[
        may(
            "kafka",
            Form::Map(&KAFKA_QUEUE),
            "A topic of Kafka, held and let go by its consumers' quota.",
        ),
        may("http", Form::Map(&HTTP_QUEUE), "The application's own switch."),
    ],
    rules: &[Rule::Choose(&["kafka", "http"])],
};

pub(in crate::spec) static KAFKA_QUEUE: Shape = Shape {
    name: "a Kafka retry queue",
    doc: "A retry topic. It is held and let go by a client quota, which goes back to what it was.",
    keys: &[
        need("cluster", NAME, "The cluster's name in the environment."),
        need("topic", TOKEN, "The topic."),
        need("group", TOKEN, "The consumers' group."),
        or(
            "reset",
            Form::Word(&[
                ("earliest", "with the oldest message"),
                ("latest", "with the next message"),
            ]),
            "earliest",
            "Where the group begins in a partition without a committed offset: the consumers' `auto.offset.reset`.",
        ),
        may(
            "user",
            TOKEN,
            "The user that the consumers log in as. Left out, their client ids are limited, whoever the user.",
        ),
        may(
            "clients",
            TOKENS,
            "The consumers' client ids. Left out: those of the group's members when the run is prepared.",
        ),
        need("release", Form::Map(&RELEASE), "How fast it is let go."),
        or("within", DURATION, "15m", "How long the release may take."),
    ],
    rules: &[],
};

pub(in crate::spec) static HTTP_QUEUE: Shape = Shape {
    name: "an HTTP retry queue",
    doc: "The application's own switch: GET tells {backlog, released, rate, held}, PUT sets {held, rate}.",
    keys: &[
        need("url", URL, "The resource."),
        need("release", Form::Map(&RELEASE), "How fast it is let go."),
        or("within", DURATION, "15m", "How long the release may take."),
    ],
    rules: &[],
};

pub(in crate::spec) static RELEASE: Shape = Shape {
    name: "a release",
    doc: "How fast a retry queue is let go.",
    keys: &[need("rate", Form::One(Scalar::Rate), "Messages a second.")],
    rules: &[],
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
            "Idle means at most this many, on each target where the metric tells them apart.",
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
            URL,
            "Answers 2xx once a restarted target is ready; with `{instance}`.",
        ),
    ],
    rules: &[],
};

pub(in crate::spec) static STUCK: Shape = Shape {
    name: "a way to restart",
    doc: "How a stuck instance is restarted.",
    keys: &[
        may("http", Form::Map(&HTTP_RESTART), "By a request to the instance."),
        may("command", Form::Map(&COMMAND_RESTART), "By a program."),
        may("systemd", Form::Map(&SYSTEMD_RESTART), "By `systemctl restart`."),
    ],
    rules: &[Rule::Choose(&["http", "command", "systemd"])],
};

pub(in crate::spec) static COMMAND_RESTART: Shape = Shape {
    name: "a restart by a program",
    doc: "A program that restarts an instance. `{instance}` becomes host and port, `{host}` the host, `{target}` the name.",
    keys: &[
        need("run", TOKENS, "The program and its arguments."),
        or(
            "timeout",
            DURATION,
            "60s",
            "Its process group is killed after that.",
        ),
    ],
    rules: &[],
};

pub(in crate::spec) static SYSTEMD_RESTART: Shape = Shape {
    name: "a restart of a unit",
    doc: "`systemctl restart UNIT`. `{host}` and `{target}` become the instance's host and name.",
    keys: &[
        need("unit", TOKEN, "The unit, such as `order@{target}`."),
        may(
            "run",
            TOKENS,
            "What stands before `systemctl`, such as `[ssh, \"ops@{host}\", sudo]`. Without it, this machine's own.",
        ),
        or(
            "timeout",
            DURATION,
            "60s",
            "Its process group is killed after that.",
        ),
    ],
    rules: &[],
};

pub(in crate::spec) static HTTP_RESTART: Shape = Shape {
    name: "an HTTP restart",
    doc: "A POST that restarts an instance.",
    keys: &[need("restart", URL, "The URL, with `{instance}`.")],
    rules: &[],
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
            "A program and its arguments; exit code 0 proves that it worked. Asked first: what is so already is not done.",
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

pub(in crate::spec) static HTTP_COMMAND: Shape = Shape {
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
            "What proves that it worked. Asked first: what is so already is not done.",
        ),
    ],
    rules: &[Rule::Choose(&["put", "post", "delete"])],
};

pub(in crate::spec) static HTTP_CHECK: Shape = Shape {
    name: "an HTTP check",
    doc: "What a GET must answer.",
    keys: &[
        need("get", URL, "The URL."),
        or("status", WHOLE, "200", "The status."),
        may(
            "json",
            Form::Named(&Form::Any),
            "What must stand in the JSON answer, by JSON pointer: `{\"/enabled\": false}`.",
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

pub(in crate::spec) static VERIFY: Shape = Shape {
    name: "a verification",
    doc: "When it is over: every guard holds and every metric of the sheet is back inside its baseline.",
    keys: &[
        or("hold", DURATION, "30s", "How long everything must hold."),
        or("within", DURATION, "5m", "How long verifying may take in all."),
    ],
    rules: &[],
};
