//! Redis servers.

use super::{ADDRESS, SECRET};
use crate::spec::{
    shape::{Form, Rule, Shape, may, need, or},
    shapes::{PATH, TOKEN, WHOLE},
};

pub(in crate::spec) static REDIS: Shape = Shape {
    name: "a Redis server",
    doc: "A Redis: one server, the master that Sentinels name, or a cluster. A drill only names it; this says where it is.",
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
            "Encrypts all connections, including those to Sentinels. `{}` trusts the system's authorities.",
        ),
    ],
    rules: &[Rule::Choose(&["address", "sentinel", "cluster"])],
};

static SENTINEL: Shape = Shape {
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

static CLUSTER: Shape = Shape {
    name: "a Redis cluster",
    doc: "A cluster. Its other nodes are found through those listed.",
    keys: &[need(
        "addresses",
        Form::List(&ADDRESS),
        "Some of its nodes, `host:port` each. One must answer.",
    )],
    rules: &[],
};

static REDIS_TLS: Shape = Shape {
    name: "a TLS setting",
    doc: "How connections are encrypted.",
    keys: &[
        may(
            "ca",
            PATH,
            "A PEM file with the authority that signed the server's certificate.",
        ),
        may(
            "cert",
            PATH,
            "A PEM file with allclear's own certificate chain, for mutual TLS.",
        ),
        may("key", PATH, "A PEM file with its key."),
    ],
    rules: &[],
};
