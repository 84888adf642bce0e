//! TLS, logins and rights.

use allclear::{
    drivers::error::DriverError,
    model::{
        environment::{ClientCert, Kafka, KafkaLogin, KafkaSasl, KafkaTls, SecretRef},
        event::CheckOutcome,
        playbook::{KafkaQueue, OffsetReset},
        quota::Payer,
        secret::{SecretText, Secrets},
        time::Span,
    },
};

use crate::{
    part::{Broker, queue, shared, until_quota},
    parts_support::Staged,
};

fn place() -> SecretRef {
    SecretRef::Env("KAFKA_PASSWORD".into())
}

pub fn secrets(password: &str) -> Secrets {
    let mut secrets = Secrets::none();
    secrets.insert(place(), SecretText::new(password));
    secrets
}

pub fn login(user: &str) -> KafkaLogin {
    KafkaLogin {
        user: user.into(),
        password: place(),
    }
}

fn over_tls(broker: &Broker, client: bool) -> KafkaTls {
    let file = |name: &str| broker.file(&format!("tls/{name}")).display().to_string();
    KafkaTls {
        ca_file: Some(file("ca.pem")),
        client_cert: client.then(|| ClientCert {
            cert_file: file("allclear.crt"),
            key_file: file("allclear.key"),
        }),
    }
}

pub fn at(broker: &Broker, offset: u16, tls: Option<KafkaTls>, sasl: Option<KafkaSasl>) -> Kafka {
    Kafka {
        bootstrap: vec![format!("127.0.0.1:{}", broker.port + offset)],
        tls,
        sasl,
    }
}

async fn committed(broker: &Broker, name: &str) {
    broker.topic(name, 1).await;
    broker.produce(name, 10, 50).await;
    broker
        .tool(
            "consumer-groups",
            &format!("--group {name} --topic {name} --reset-offsets --to-earliest --execute"),
        )
        .await;
}

#[tokio::test]
async fn every_way_in_leads_to_the_same_backlog_and_its_command_by_hand_works() {
    let broker = shared().await;
    committed(&broker, "ways").await;
    let admin = login("admin");
    let ways = [
        (
            "plain",
            at(&broker, 1, None, Some(KafkaSasl::Plain(admin.clone()))),
        ),
        (
            "scram 256",
            at(&broker, 1, None, Some(KafkaSasl::ScramSha256(admin.clone()))),
        ),
        (
            "scram 512 over TLS",
            at(
                &broker,
                3,
                Some(over_tls(&broker, false)),
                Some(KafkaSasl::ScramSha512(admin.clone())),
            ),
        ),
        (
            "plain over TLS",
            at(
                &broker,
                3,
                Some(over_tls(&broker, false)),
                Some(KafkaSasl::Plain(admin)),
            ),
        ),
        (
            "a client certificate",
            at(&broker, 2, Some(over_tls(&broker, true)), None),
        ),
    ];
    for (way, kafka) in ways {
        let staged = Staged::with(kafka, queue("ways", 1.0, Span::seconds(1)), secrets("admin-pw"))
            .ready()
            .await;
        assert_eq!(staged.scene.snapshot.retry_queues[0].backlog, 10, "{way}");
        let payer = Payer {
            user: None,
            client: "ways".into(),
        };
        staged.cluster().set_quota(&payer, Some(4096.0)).await.unwrap();
        until_quota(&staged.cluster(), &payer, Some(4096.0)).await;
        let left = allclear::engine::recovery::left_behind(&staged.scene).await;
        assert_eq!(left.len(), 1, "{way}: {left:?}");
        let line = left[0].by_hand.clone().unwrap();
        assert!(!line.contains("admin-pw"), "{line}");
        broker.by_hand(&line, &[("KAFKA_PASSWORD", "admin-pw")]).await;
        until_quota(&staged.cluster(), &payer, None).await;
    }
}

#[tokio::test]
async fn a_wrong_password_a_wrong_authority_and_a_wrong_listener_are_named() {
    let broker = shared().await;
    let look = async |kafka: Kafka, password: &str| {
        let staged = Staged::with(kafka, queue("x", 1.0, Span::seconds(1)), secrets(password));
        staged
            .cluster()
            .position("x", "x", OffsetReset::Latest)
            .await
            .unwrap_err()
    };
    for sasl in [
        KafkaSasl::Plain(login("alice")),
        KafkaSasl::ScramSha256(login("alice")),
        KafkaSasl::ScramSha512(login("nobody")),
    ] {
        let error = look(at(&broker, 1, None, Some(sasl)), "wrong").await;
        assert!(matches!(error, DriverError::Unauthorized { .. }), "{error}");
        assert!(
            error.to_string().contains("Authentication failed") && !error.to_string().contains("wrong"),
            "{error}"
        );
    }
    let own = KafkaTls {
        ca_file: Some(broker.file("tls/broker.crt").display().to_string()),
        client_cert: None,
    };
    for (kafka, says) in [
        (at(&broker, 2, Some(own), None), "certificate"),
        (at(&broker, 2, None, None), "it speaks TLS"),
        (at(&broker, 1, None, None), "TLS or a login"),
        (
            at(&broker, 0, Some(over_tls(&broker, false)), None),
            "cannot be reached",
        ),
    ] {
        let error = look(kafka, "x").await;
        assert!(error.to_string().contains(says), "{error}");
    }
}

/// The rights of docs/drivers/kafka.md, one by one: without each of them preflight refuses and names it.
#[tokio::test]
async fn exactly_the_documented_rights_are_needed() {
    let broker = shared().await;
    committed(&broker, "rights").await;
    let alice = at(&broker, 1, None, Some(KafkaSasl::ScramSha256(login("alice"))));
    let check = async || {
        let mut staged = Staged::with(
            alice.clone(),
            // With a user, so that quotas of users are no matter; so fast that the one batch which waits is none either.
            KafkaQueue {
                user: Some("alice".into()),
                ..queue("rights", 100.0, Span::seconds(1))
            },
            secrets("alice-pw"),
        );
        staged.prepare().await
    };
    let rights = [
        (
            "--topic rights --operation Describe",
            "Topic authorization failed",
        ),
        (
            "--group rights --operation Describe",
            "Group authorization failed",
        ),
        // AlterConfigs implies DescribeConfigs, and not the other way round.
        (
            "--cluster --operation DescribeConfigs",
            "AlterConfigs and DescribeConfigs",
        ),
        (
            "--cluster --operation AlterConfigs",
            "AlterConfigs and DescribeConfigs",
        ),
    ];
    for (right, without) in rights {
        let checks = check().await;
        assert_eq!(checks[0].outcome, CheckOutcome::Refused, "{checks:?}");
        let named = checks[0].found.en().contains(without)
            || (without.starts_with("Topic") && checks[0].found.en().contains("no such topic"));
        assert!(named, "without {right}: {checks:?}");
        broker
            .tool("acls", &format!("--add --allow-principal User:alice {right}"))
            .await;
    }
    let checks = check().await;
    assert!(
        checks.iter().all(|c| c.outcome != CheckOutcome::Refused),
        "{checks:?}"
    );
    assert!(
        checks
            .iter()
            .any(|c| c.outcome == CheckOutcome::Warned && c.found.en().contains("Topic authorization failed")),
        "{checks:?}"
    );
    broker
        .tool(
            "acls",
            "--add --allow-principal User:alice --topic rights --operation Read",
        )
        .await;
    let checks = check().await;
    assert!(
        checks.iter().all(|c| c.outcome == CheckOutcome::Passed),
        "{checks:?}"
    );
}
