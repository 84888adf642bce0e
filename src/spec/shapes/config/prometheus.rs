//! Where metrics come from: Prometheus, or the targets themselves.

use super::SECRET;
use crate::spec::{
    shape::{Form, Rule, Shape, may, need, or},
    shapes::{DURATION, PATH, TOKEN, URL, URL_PATH},
};

pub(super) static PROMETHEUS: Shape = Shape {
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
        may("auth", Form::Map(&AUTH), "How allclear logs in."),
        may(
            "ca",
            PATH,
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
        or(
            "targets_path",
            URL_PATH,
            "/metrics",
            "Where each instance has its own metrics page: tripwires are read there, without the server.",
        ),
    ],
    rules: &[],
};

static AUTH: Shape = Shape {
    name: "an authentication",
    doc: "How allclear logs in.",
    keys: &[
        may("basic", Form::Map(&BASIC), "HTTP basic authentication."),
        may("bearer", SECRET, "A bearer token."),
    ],
    rules: &[Rule::Choose(&["basic", "bearer"])],
};

pub(super) static BASIC: Shape = Shape {
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
        PATH,
        "The file's path. A line break at its end is dropped.",
    )],
    rules: &[],
};

pub(super) static CLIENT_CERT: Shape = Shape {
    name: "a client certificate",
    doc: "allclear's own certificate, for mutual TLS.",
    keys: &[
        need("cert", PATH, "A PEM file with the certificate chain."),
        need("key", PATH, "A PEM file with its key."),
    ],
    rules: &[],
};

pub(super) static SCRAPE: Shape = Shape {
    name: "a direct scrape",
    doc: "Every instance's own metrics page, read by allclear itself.",
    keys: &[
        or("every", DURATION, "1s", "How often."),
        or("path", URL_PATH, "/metrics", "The path on each instance."),
    ],
    rules: &[],
};
