//! Wrong configurations, and the secrets in them.

use super::{said, table};
use crate::spec::tests::*;

#[test]
fn a_wrong_configuration_never_shows_a_secret() {
    let cases = [
        ("a password in the file", "\"${PROM_PASSWORD}\"", "hunter2"),
        (
            "a password beside a name",
            "\"${PROM_PASSWORD}\"",
            "\"x${PROM_PASSWORD}hunter2\"",
        ),
        (
            "a misspelt key",
            "password: {file: secrets/redis}",
            "pasword: hunter2",
        ),
        (
            "a password in a URL",
            "https://prometheus",
            "https://me:hunter2@prometheus",
        ),
        (
            "a password in an address",
            "\"redis.example:6379\"",
            "\"redis://:hunter2@redis.example:6379\"",
        ),
        (
            "a token in a header",
            "X-Scope-OrgID: shop",
            "Authorization: Bearer hunter2",
        ),
        (
            "a list of secrets",
            "token: \"${HOOK_TOKEN}\"",
            "token: [hunter2]",
        ),
        (
            "not YAML, with a secret near",
            "password: \"${PROM_PASSWORD}\"}",
            "password: hunter2}}",
        ),
        ("an unquoted variable", "\"${PROM_PASSWORD}\"", "${PROM_PASSWORD}"),
    ];
    let read = |text: &str| said(read_config(&source("allclear.yaml", text)));
    let shown = table(CONFIG, &cases, read);
    assert!(!shown.contains("hunter2"));
    insta::assert_snapshot!("secrets", shown);
}

const LEASE: &str = "lease: {redis: main}";

#[test]
fn a_lease_in_kubernetes_needs_a_cluster_and_a_name_that_an_object_may_have() {
    let read = |text: &str| -> String {
        let found = said(read_config(&source("allclear.yaml", text)));
        found.iter().map(|d| format!("{}\n", d.message)).collect()
    };
    let in_kubernetes = with(CONFIG, LEASE, "lease: {kubernetes: {namespace: shop}}");
    let cluster = "    kubernetes: {kubeconfig: kube/preprod.yaml, context: preprod, namespaces: [shop]}\n";
    let none = read(&with(&in_kubernetes, cluster, ""));
    assert!(none.contains("environment `preprod` has no Kubernetes"), "{none}");
    for (name, fits) in [
        ("pre-1.prod", true),
        ("pre_prod", false),
        ("Preprod", false),
        ("pre-", false),
    ] {
        let named = in_kubernetes
            .replace("  preprod:", &format!("  {name}:"))
            .replace("default: preprod", &format!("default: {name}"));
        let said = read(&named);
        assert_eq!(!said.contains("cannot be part of a Lease's name"), fits, "{said}");
    }
}

#[test]
fn a_wrong_configuration_is_shown_with_its_line() {
    let cases = [
        (
            "two sources",
            "    scrape: {every: 1s",
            "    prometheus: {url: \"http://p:9090\"}\n    scrape: {every: 1s",
        ),
        ("no source", "    scrape: {every: 1s, path: /metrics}\n", ""),
        ("no stage", "    stage: practice\n", ""),
        ("a misspelt stage", "stage: preprod", "stage: prepod"),
        ("an address without a port", "\"10.0.0.10:8080\"", "10.0.0.10"),
        (
            "an address that is a URL",
            "\"10.0.0.10:8080\"",
            "\"http://10.0.0.10:8080\"",
        ),
        ("an instance twice", "coupon-0:", "order-0:"),
        ("an unknown default", "default: preprod", "default: preprd"),
        ("the built-in name", "  local:", "  range:"),
        ("a language", "lang: en", "lang: de"),
        (
            "two kinds of authentication",
            "auth: {basic:",
            "auth: {bearer: \"${T}\", basic:",
        ),
        (
            "two places of a Redis",
            "main: {address:",
            "main: {cluster: {addresses: [\"a:1\"]}, address:",
        ),
        ("no place of a Redis", "address: \"redis.example:6379\", ", ""),
        (
            "a cluster's database",
            "address: \"redis.example:6379\", user: drill, password: {file: secrets/redis}, db: 0",
            "cluster: {addresses: [\"a:1\"]}, db: 1",
        ),
        (
            "Sentinels without an address",
            "main: {address: \"redis.example:6379\"",
            "main: {sentinel: {master: shop, addresses: []}",
        ),
        ("a certificate without its key", "db: 0", "tls: {cert: a.pem}"),
        ("an empty TLS setting", "db: 0", "tls:"),
        (
            "a lease at a Redis that is not there",
            LEASE,
            "lease: {redis: mian}",
        ),
        (
            "a lease at two places",
            LEASE,
            "lease: {redis: main, kubernetes: {namespace: shop}}",
        ),
        ("a lease nowhere", LEASE, "lease: {}"),
        (
            "a lease in a namespace that is not allowed",
            LEASE,
            "lease: {kubernetes: {namespace: shp}}",
        ),
    ];
    let read = |text: &str| said(read_config(&source("allclear.yaml", text)));
    insta::assert_snapshot!("wrong_configs", table(CONFIG, &cases, read));
}
