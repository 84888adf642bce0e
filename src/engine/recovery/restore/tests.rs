//! What a restore can prove, and what it cannot.

use super::*;
use crate::{
    drivers::testing::{environment, nothing_to_do, plan},
    engine::recovery::snapshot::testing,
    model::{
        amount::Share,
        group::GroupSeen,
        ids::{DeploymentName, RouteName, ServerName},
        playbook::{
            KafkaQueue, OffsetReset, Playbook, PodGateway, PodsOf, PoolDrain, QueueHold, Restart, RetryQueue,
            RocketmqQueue, RouteGateway,
        },
        quota::{Payer, QuotaSeen},
        recovery::{Certainty, StepId},
        text::Lang,
        time::Span,
    },
};

fn pods() -> PodsOf {
    PodsOf {
        namespace: None,
        selector: "app={target}".into(),
    }
}

/// A gateway of pods, a pool that restarts them, a topic that is held by scale, and a group of RocketMQ.
fn whole() -> Plan {
    let kafka = KafkaQueue {
        cluster: ServerName::new("events").unwrap(),
        topic: "retry".into(),
        group: "coupons".into(),
        reset: OffsetReset::Earliest,
        user: None,
        clients: vec!["a".into()],
        rate: 50.0,
        within: Span::seconds(60),
        hold: QueueHold::Scale {
            namespace: None,
            deployment: DeploymentName::new("retry").unwrap(),
        },
    };
    let rocketmq = RocketmqQueue {
        cluster: ServerName::new("mq").unwrap(),
        group: "coupons".into(),
        topic: "%RETRY%coupons".into(),
        rate: 50.0,
        within: Span::seconds(60),
    };
    let pool = PoolDrain {
        metric: crate::model::ids::MetricId::new("busy").unwrap(),
        scope: None,
        idle_at_most: 5.0,
        scrape_holds: 0.0,
        wait: Span::seconds(1),
        if_stuck: Some(Restart::Kubernetes(pods())),
        ready: None,
    };
    let book = Playbook {
        gateway: Some(Gateway::Pods(PodGateway {
            pods: pods(),
            key: "serving".into(),
            out: "false".into(),
            hold: Span::ZERO,
        })),
        pools: vec![pool],
        retry_queues: vec![RetryQueue::Kafka(kafka), RetryQueue::Rocketmq(rocketmq)],
        ..nothing_to_do()
    };
    plan(environment(&[("order", "order-0", "127.0.0.1:9")]), book)
}

/// All of it read, and well.
fn all_read() -> Snapshot {
    let queue = |entry| RetryQueueSeen {
        entry,
        backlog: 0,
        held: false,
        rate: None,
        quotas: Vec::new(),
        groups: Vec::new(),
    };
    let quotas = vec![QuotaSeen {
        payer: Payer {
            user: None,
            client: "a".into(),
        },
        bytes: None,
    }];
    let groups = vec![GroupSeen {
        broker: "broker-a".into(),
        address: "127.0.0.1:10911".into(),
        enabled: true,
        config: "{}".into(),
        beside: 0,
    }];
    Snapshot {
        retry_queues: vec![
            RetryQueueSeen { quotas, ..queue(0) },
            RetryQueueSeen { groups, ..queue(1) },
        ],
        kubernetes: testing::kubernetes(),
        ..Snapshot::default()
    }
}

/// What cannot be proved if this is so, without the guard: the plan has none.
fn not_proved(so: fn(&mut Snapshot)) -> Vec<String> {
    let mut healthy = all_read();
    so(&mut healthy);
    let all = unproved(&whole(), &healthy);
    assert!(all.iter().all(|l| l.certainty == Certainty::Unknown), "{all:?}");
    let of_system = all.into_iter().filter(|l| l.step != StepId::Verify);
    of_system.map(|l| l.what.en().to_owned()).collect()
}

#[test]
fn what_was_read_and_limits_nothing_is_proved() {
    assert_eq!(not_proved(|_| {}), Vec::<String>::new());
}

#[test]
fn what_was_not_read_cannot_be_proved() {
    let queues = not_proved(|s| s.retry_queues.clear());
    assert_eq!(queues, ["retry queue 1", "retry queue 2"]);
    let label = not_proved(|s| s.kubernetes.serving.clear());
    assert_eq!(label, ["label serving of order-0's pod"]);
    assert_eq!(not_proved(|s| s.kubernetes.pods.clear()), ["pod of order-0"]);
    let scale = not_proved(|s| s.kubernetes.scales.clear());
    assert_eq!(scale, ["replicas of deployment retry"]);
}

#[test]
fn what_may_have_been_left_so_by_another_recovery_is_not_called_healthy() {
    let quota = not_proved(|s| s.retry_queues[0].quotas[0].bytes = Some(1000.0));
    assert_eq!(quota, ["quota of client a: 1000 B/s"]);
    let rate = not_proved(|s| s.retry_queues[0].rate = Some(20.0));
    assert_eq!(rate, ["rate of 20/s of a retry queue"]);
    let off = not_proved(|s| s.retry_queues[1].groups[0].enabled = false);
    assert_eq!(off, ["the group's switch on broker-a"]);
    let several = not_proved(|s| s.kubernetes.serving[0].serves_with = None);
    assert_eq!(several, ["label serving of pod shop/order-0"]);
    let at_zero = not_proved(|s| s.kubernetes.scales[0].replicas = 0);
    assert_eq!(at_zero, ["replicas of deployment retry"]);
}

#[test]
fn a_weight_of_0_in_a_route_does_not_say_what_it_was() {
    let book = Playbook {
        gateway: Some(Gateway::Route(RouteGateway {
            namespace: None,
            route: RouteName::new("order").unwrap(),
            backend: "{target}".into(),
            ramp: vec![Share::ALL],
            hold: Span::ZERO,
        })),
        ..nothing_to_do()
    };
    let plan = plan(environment(&[("order", "order-0", "127.0.0.1:9")]), book);
    let not_proved = |gateway: Vec<GatewayServer>| {
        let healthy = Snapshot {
            gateway: gateway.iter().map(healthy_server).collect(),
            ..Snapshot::default()
        };
        let all = unproved(&plan, &healthy).into_iter();
        let of_gateway = all.filter(|l| l.step == StepId::Traffic);
        of_gateway
            .map(|l| (l.certainty, l.what.en().to_owned()))
            .collect::<Vec<_>>()
    };
    let server = testing::server("HTTPRoute shop/order");
    assert_eq!(not_proved(vec![server.clone()]), []);
    let out = GatewayServer {
        weight: 0,
        initial_weight: 0,
        ..server
    };
    let unknown = [(Certainty::Unknown, "order-0 at the gateway".to_owned())];
    assert_eq!(not_proved(vec![out]), unknown);
    assert_eq!(not_proved(Vec::new()), unknown);
}

#[test]
fn a_pod_without_the_label_of_its_services_gets_it_back() {
    let mut now = all_read().kubernetes;
    now.serving[0].label = Some("false".into());
    let healthy = kubernetes::healthy(&now);
    assert_eq!(healthy.serving[0].label.as_deref(), Some("true"));
    let changes = kubernetes::changes(&now, &healthy);
    let shown: Vec<_> = changes
        .iter()
        .map(|c| [c.what.en(), c.now.en(), c.then.en()])
        .collect();
    assert_eq!(shown, [["label of pod shop/order-0", "false", "true, at once"]]);
    assert!(kubernetes::changes(&healthy, &healthy).is_empty());
}

#[test]
fn a_release_by_a_switch_alone_is_said_to_be_approximate_before_anybody_agrees() {
    let mut now = all_read();
    for queue in &mut now.retry_queues {
        queue.backlog = 9000;
    }
    let found = Restoring {
        healthy: Snapshot {
            retry_queues: now.retry_queues.iter().map(healthy_queue).collect(),
            ..now.clone()
        },
        now,
        checks: Vec::new(),
        decided: Vec::new(),
        unknown: Vec::new(),
    };
    let changes = found.changes(&whole());
    let shown = |lang| changes.iter().map(|c| c.then.get(lang)).collect::<Vec<_>>();
    assert_eq!(
        shown(Lang::En),
        ["let go at 50/s", "let go at about 50/s, in bursts"]
    );
    assert_eq!(shown(Lang::Zh), ["以 50/s 放行", "约以 50/s 成批放行"]);
}
