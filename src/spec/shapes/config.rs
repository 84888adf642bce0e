//! allclear.yaml.

use super::{DURATION, NAME, TOKEN, TOKENS, URL, WHOLE};
use crate::spec::shape::{Form, Rule, Scalar, Shape, may, need, or};

const ADDRESS: Form = Form::One(Scalar::Address);
const SECRET: Form = Form::Either(&[Form::One(Scalar::Secret), Form::Map(&SECRET_FILE)]);

pub(in crate::spec) static CONFIG: Shape = Shape {
    name: "the configuration",
    doc: "Environments, and a few settings of allclear itself.",
    keys: &[
        may(
            "environments",
            Form::Named(&Form::Map(&ENVIRONMENT)),
            "The environments, by name. `range` is built in.",
        ),
        may(
            "default",
            NAME,
            "The environment that is used when `--env` is left out.",
        ),
        may(
            "dashboards",
            TOKENS,
            "More folders where dashboards are looked for.",
        ),
        may(
            "lang",
            Form::Word(&[("en", "English"), ("zh", "Chinese")]),
            "The language of screens and reports.",
        ),
        may("state_dir", TOKEN, "Where runs are kept."),
    ],
    rules: &[],
};

pub(in crate::spec) static ENVIRONMENT: Shape = Shape {
    name: "an environment",
    doc: "Where the system under drill is reached, and how careful one must be. Its metrics come from exactly one of `prometheus` and `scrape`.",
    keys: &[
        need(
            "stage",
            Form::Word(&[
                ("practice", "a range"),
                ("preprod", "before production"),
                ("shadow", "a copy of production's traffic"),
                ("production", "real users"),
            ]),
            "How careful one must be.",
        ),
        may("prometheus", Form::Map(&PROMETHEUS), "A Prometheus server."),
        may(
            "scrape",
            Form::Map(&SCRAPE),
            "Every instance's own metrics page, read by allclear itself.",
        ),
        may(
            "services",
            Form::Named(&Form::Named(&ADDRESS)),
            "The services, their instances, and the address of each: `{order: {order-0: \"host:8080\"}}`.",
        ),
        may(
            "redis",
            Form::Named(&Form::Map(&REDIS)),
            "Redis servers, by name.",
        ),
        may(
            "kafka",
            Form::Named(&Form::Map(&KAFKA)),
            "Kafka clusters, by name.",
        ),
        may(
            "gateways",
            Form::Named(&Form::One(Scalar::Socket)),
            "Load balancers, by name: `host:port`, or a unix socket's path.",
        ),
        may("notify", Form::List(&Form::Map(&NOTIFIER)), "Who is told."),
    ],
    rules: &[Rule::Choose(&["prometheus", "scrape"])],
};

pub(in crate::spec) static PROMETHEUS: Shape = Shape {
    name: "a Prometheus server",
    doc: "Where metrics come from.",
    keys: &[
        need("url", URL, "Its base URL."),
        or("every", DURATION, "5s", "How often it is asked."),
        may(
            "scrape_interval",
            DURATION,
            "The server's scrape interval; learnt from the samples if left out.",
        ),
        may("auth", Form::Map(&AUTH), "How allclear shows who it is."),
        may(
            "ca",
            TOKEN,
            "A PEM file with the authority that signed the server's certificate.",
        ),
        may(
            "client_cert",
            Form::Map(&CLIENT_CERT),
            "allclear's own certificate, for mutual TLS.",
        ),
        or("timeout", DURATION, "10s", "The time limit of one query."),
        may(
            "headers",
            Form::Named(&TOKEN),
            "More headers on each query, such as a tenant. Not for secrets.",
        ),
    ],
    rules: &[],
};

pub(in crate::spec) static AUTH: Shape = Shape {
    name: "an authentication",
    doc: "How allclear shows who it is.",
    keys: &[
        may("basic", Form::Map(&BASIC), "HTTP basic authentication."),
        may("bearer", SECRET, "A bearer token."),
    ],
    rules: &[Rule::Choose(&["basic", "bearer"])],
};

pub(in crate::spec) static BASIC: Shape = Shape {
    name: "a user and a password",
    doc: "A user and a password.",
    keys: &[
        need("user", TOKEN, "The user."),
        need("password", SECRET, "The password."),
    ],
    rules: &[],
};

pub(in crate::spec) static SECRET_FILE: Shape = Shape {
    name: "a secret's file",
    doc: "A file that holds a secret.",
    keys: &[need(
        "file",
        TOKEN,
        "The file's path. A line break at its end is dropped.",
    )],
    rules: &[],
};

pub(in crate::spec) static CLIENT_CERT: Shape = Shape {
    name: "a client certificate",
    doc: "allclear's own certificate, for mutual TLS.",
    keys: &[
        need("cert", TOKEN, "A PEM file with the certificate chain."),
        need("key", TOKEN, "A PEM file with its key."),
    ],
    rules: &[],
};

pub(in crate::spec) static SCRAPE: Shape = Shape {
    name: "a direct scrape",
    doc: "Every instance's own metrics page, read by allclear itself.",
    keys: &[
        or("every", DURATION, "1s", "How often."),
        or("path", TOKEN, "/metrics", "The path on each instance."),
    ],
    rules: &[],
};

pub(in crate::spec) static REDIS: Shape = Shape {
    name: "a Redis server",
    doc: "A Redis: one server, the master that Sentinels name, or a cluster. A drill names it; where it is stands here.",
    keys: &[
        may("address", ADDRESS, "One server: `host:port`."),
        may(
            "sentinel",
            Form::Map(&SENTINEL),
            "The master that Sentinels name.",
        ),
        may("cluster", Form::Map(&CLUSTER), "A cluster."),
        may("user", TOKEN, "The ACL user."),
        may("password", SECRET, "The password."),
        or("db", WHOLE, "0", "The database's number. A cluster has only 0."),
        may(
            "tls",
            Form::Map(&REDIS_TLS),
            "Encrypts all connections, those to Sentinels as well. `{}` trusts the system's authorities.",
        ),
    ],
    rules: &[Rule::Choose(&["address", "sentinel", "cluster"])],
};

pub(in crate::spec) static SENTINEL: Shape = Shape {
    name: "a group of Sentinels",
    doc: "Sentinels that watch a master. More than half of those listed must answer.",
    keys: &[
        need("master", TOKEN, "The master's name at the Sentinels."),
        need(
            "addresses",
            Form::List(&ADDRESS),
            "All Sentinels, `host:port` each.",
        ),
        may("user", TOKEN, "The ACL user at the Sentinels."),
        may("password", SECRET, "The password at the Sentinels."),
    ],
    rules: &[],
};

pub(in crate::spec) static CLUSTER: Shape = Shape {
    name: "a Redis cluster",
    doc: "A cluster. Its other nodes are found through those listed.",
    keys: &[need(
        "addresses",
        Form::List(&ADDRESS),
        "Some of its nodes, `host:port` each. One must answer.",
    )],
    rules: &[],
};

pub(in crate::spec) static REDIS_TLS: Shape = Shape {
    name: "a TLS setting",
    doc: "How connections are encrypted.",
    keys: &[
        may(
            "ca",
            TOKEN,
            "A PEM file with the authority that signed the server's certificate.",
        ),
        may(
            "cert",
            TOKEN,
            "A PEM file with allclear's own certificate chain, for mutual TLS.",
        ),
        may("key", TOKEN, "A PEM file with its key."),
    ],
    rules: &[],
};

pub(in crate::spec) static KAFKA: Shape = Shape {
    name: "a Kafka cluster",
    doc: "A Kafka cluster, 2.6 or later. Without `tls` and `sasl` it is spoken to in the clear.",
    keys: &[
        need(
            "bootstrap",
            Form::List(&ADDRESS),
            "`host:port` of the brokers that are asked first.",
        ),
        may(
            "tls",
            Form::Map(&KAFKA_TLS),
            "TLS, if the brokers' listener has it.",
        ),
        may(
            "sasl",
            Form::Map(&KAFKA_SASL),
            "The login, if the brokers' listener wants one.",
        ),
    ],
    rules: &[],
};

pub(in crate::spec) static KAFKA_TLS: Shape = Shape {
    name: "a Kafka cluster's TLS",
    doc: "TLS towards the brokers. `tls: {}` trusts the system's own authorities.",
    keys: &[
        may(
            "ca",
            TOKEN,
            "A PEM file with the authority that signed the brokers' certificates.",
        ),
        may(
            "client_cert",
            Form::Map(&CLIENT_CERT),
            "allclear's own certificate, for mutual TLS.",
        ),
    ],
    rules: &[],
};

pub(in crate::spec) static KAFKA_SASL: Shape = Shape {
    name: "a Kafka login",
    doc: "How allclear logs in at Kafka.",
    keys: &[
        may(
            "plain",
            Form::Map(&BASIC),
            "PLAIN: the password is sent as it is, so that it needs TLS.",
        ),
        may("scram_sha_256", Form::Map(&BASIC), "SCRAM-SHA-256."),
        may("scram_sha_512", Form::Map(&BASIC), "SCRAM-SHA-512."),
    ],
    rules: &[Rule::Choose(&["plain", "scram_sha_256", "scram_sha_512"])],
};

pub(in crate::spec) static NOTIFIER: Shape = Shape {
    name: "a notifier",
    doc: "Who is told when the guard aborts, or when recovery is incomplete.",
    keys: &[need("webhook", Form::Map(&WEBHOOK), "An HTTP endpoint.")],
    rules: &[],
};

pub(in crate::spec) static WEBHOOK: Shape = Shape {
    name: "a webhook",
    doc: "An HTTP endpoint that gets the news as JSON.",
    keys: &[
        need("url", URL, "Where it is posted."),
        may("token", SECRET, "A bearer token."),
    ],
    rules: &[],
};
