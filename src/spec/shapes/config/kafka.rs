//! Kafka clusters.

use super::{
    ADDRESS,
    prometheus::{BASIC, CLIENT_CERT},
};
use crate::spec::{
    shape::{Form, Rule, Shape, may, need},
    shapes::PATH,
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

static KAFKA_TLS: Shape = Shape {
    name: "a Kafka cluster's TLS",
    doc: "TLS towards the brokers. `tls: {}` trusts the system's own authorities.",
    keys: &[
        may(
            "ca",
            PATH,
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

static KAFKA_SASL: Shape = Shape {
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
