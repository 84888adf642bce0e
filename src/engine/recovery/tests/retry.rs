//! Retry queues that really let messages go.

use super::{
    stand::{Mood, Queue, Stand},
    *,
};
use crate::{
    drivers::unanswered::LANDS_WITHIN,
    model::{
        environment::Kafka,
        event::CheckOutcome,
        ids::{ClusterName, ServerName},
        playbook::{KafkaQueue, OffsetReset, QueueHold, RetryQueue},
        snapshot::RetryQueueSeen,
    },
};

pub(super) fn playbook(address: &str, rate: f64, within: Span) -> Playbook {
    Playbook {
        retry_queues: vec![RetryQueue::Http {
            url: format!("http://{address}/app/retry"),
            rate,
            within,
        }],
        ..nothing_to_do()
    }
}

async fn ready(queue: &Queue, rate: f64, within: Span) -> (Stand, Stage) {
    let stand = Stand::start(queue.router()).await;
    let book = playbook(&stand.address, rate, within);
    let stage = stage(environment(&[]), book).with_snapshot_read().await;
    (stand, stage)
}

#[tokio::test]
async fn a_grown_queue_is_held_then_let_go_at_its_rate_and_left_as_it_stood() {
    let queue = Queue::of(0, false, Some(1000.0));
    let (_stand, mut stage) = ready(&queue, 500.0, Span::seconds(20)).await;
    assert_eq!(hold_retry(&stage.scene).await.state, StepState::Nothing);
    assert_eq!(release_retry(&stage.scene).await.state, StepState::Nothing);
    queue.state().await.backlog = 2000.0;
    assert!(needs_repair(&stage.scene).await.backlog_over > 0);
    assert_eq!(hold_retry(&stage.scene).await.state, StepState::Held);
    assert_eq!(hold_retry(&stage.scene).await.state, StepState::Held);
    queue.state().await.backlog = 800.0;
    let end = release_retry(&stage.scene).await;
    assert_eq!(
        (end.state, end.leftovers),
        (StepState::Done, vec![]),
        "{}",
        end.detail.en()
    );
    let measured: f64 = end
        .detail
        .en()
        .split(" at ")
        .nth(1)
        .unwrap()
        .split("/s")
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!((490.0..=510.0).contains(&measured), "{}", end.detail.en());
    let now = queue.state().await;
    assert_eq!((now.held, now.rate), (false, Some(1000.0)));
    drop(now);
    assert_eq!(stage.intents().len(), 3, "held, let go, as it stood");
    assert!(left_behind(&stage.scene).await.is_empty());
}

#[tokio::test]
async fn that_a_switch_may_be_set_is_neither_tried_nor_claimed_and_the_command_that_tries_it_is_told() {
    let asked = Arc::new(tokio::sync::Mutex::new(Vec::new()));
    let writing = asked.clone();
    let read = || async {
        axum::Json(serde_json::json!({"backlog": 3, "released": 0, "rate": 20.0, "held": false}))
    };
    let write = |axum::Json(body): axum::Json<serde_json::Value>| async move {
        writing.lock().await.push(body);
    };
    let switch = axum::routing::get(read).fallback(write);
    let stand = Stand::start(axum::Router::new().route("/app/retry", switch)).await;
    let book = playbook(&stand.address, 10.0, Span::seconds(1));
    let stage = stage(environment(&[]), book);
    let (_, checks) = read_snapshot(&stage.scene.plan, &stage.scene.drivers).await;
    let [found, may_set] = checks.as_slice() else {
        panic!("{checks:?}");
    };
    assert_eq!(found.outcome, CheckOutcome::Passed, "{found:?}");
    assert_eq!(may_set.outcome, CheckOutcome::Warned, "{may_set:?}");
    assert!(
        may_set.found.en().contains("cannot be tried without setting it"),
        "{may_set:?}"
    );
    assert!(asked.lock().await.is_empty(), "preflight changes nothing");
    let next = may_set.next.as_ref().unwrap().en();
    type_by_hand(&next[next.find("curl").unwrap()..]).await;
    let as_it_stood = serde_json::json!({"held": false, "rate": 20.0});
    assert_eq!(*asked.lock().await, [as_it_stood]);
}

#[tokio::test]
async fn a_release_that_does_not_arrive_goes_on_at_its_rate_and_is_a_leftover() {
    let queue = Queue::of(0, false, None);
    let (_stand, stage) = ready(&queue, 10.0, Span::millis(400)).await;
    {
        let mut state = queue.state().await;
        (state.held, state.backlog) = (true, 5000.0);
    }
    let end = release_retry(&stage.scene).await;
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert!(
        end.leftovers[0].why.en().contains("before"),
        "{:?}",
        end.leftovers
    );
    let now = queue.state().await;
    assert_eq!(
        (now.held, now.rate),
        (false, Some(10.0)),
        "without a limit it would be the storm again"
    );
    drop(now);
    let by_hand = end.leftovers[0].by_hand.as_deref().unwrap();
    type_by_hand(by_hand).await;
    assert_eq!(queue.state().await.rate, None);
    // What is safe comes first: line by line it is no storm.
    queue.state().await.held = true;
    let lines: Vec<&str> = by_hand.lines().collect();
    assert_eq!(lines[0], "# only once the guards hold / 守护成立后再执行");
    type_by_hand(lines[1]).await;
    let now = queue.state().await;
    assert_eq!((now.held, now.rate), (false, Some(10.0)));
    drop(now);
    assert_eq!(
        lines[2],
        "# only once its backlog is back at 1 / 积压回到 1 后再执行"
    );
    assert_eq!(lines.len(), 4, "{by_hand}");
}

#[tokio::test]
async fn a_queue_whose_guard_stays_bad_to_the_end_stays_held() {
    let queue = Queue::of(0, false, None);
    let stand = Stand::start(queue.router()).await;
    let bad = |ledger: &mut Ledger| {
        ledger.guard = Box::new(|| Some("order_success users 98%".into()));
    };
    let book = playbook(&stand.address, 10.0, Span::millis(300));
    let stage = stage_with(environment(&[]), book, bad, Secrets::none(), SHORT)
        .with_snapshot_read()
        .await;
    {
        let mut state = queue.state().await;
        (state.held, state.backlog) = (true, 5000.0);
    }
    let end = release_retry(&stage.scene).await;
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert!(
        end.detail
            .en()
            .ends_with("it stays held, the guard is bad: order_success users 98%"),
        "{}",
        end.detail.en()
    );
    assert!(queue.state().await.held, "let go, it would hurt users");
}

#[tokio::test]
async fn a_queue_that_was_slower_before_than_its_release_is_put_back_at_once_by_hand() {
    let queue = Queue::of(0, false, Some(5.0));
    let (_stand, stage) = ready(&queue, 10.0, Span::millis(300)).await;
    queue.state().await.backlog = 5000.0;
    assert_eq!(hold_retry(&stage.scene).await.state, StepState::Held);
    let left = left_behind(&stage.scene).await;
    let by_hand = left[0].by_hand.as_deref().unwrap();
    assert!(
        by_hand.starts_with("curl ") && by_hand.lines().count() == 1,
        "{by_hand}"
    );
}

#[tokio::test]
async fn a_queue_that_was_held_before_the_drill_stays_held() {
    let queue = Queue::of(10, true, Some(50.0));
    let (_stand, mut stage) = ready(&queue, 500.0, Span::seconds(5)).await;
    queue.state().await.backlog = 3000.0;
    assert_eq!(hold_retry(&stage.scene).await.state, StepState::Held);
    let end = release_retry(&stage.scene).await;
    assert_eq!(
        (end.state, end.leftovers.len()),
        (StepState::Failed, 1),
        "{}",
        end.detail.en()
    );
    assert_eq!(queue.state().await.backlog, 3000.0);
    assert!(stage.intents().is_empty());
}

#[tokio::test]
async fn a_switch_that_says_yes_and_does_nothing_is_not_believed() {
    let queue = Queue::of(0, false, Some(5.0));
    let (_stand, stage) = ready(&queue, 500.0, Span::seconds(5)).await;
    {
        let mut state = queue.state().await;
        (state.deaf, state.backlog) = (true, 3000.0);
    }
    for end in [hold_retry(&stage.scene).await, release_retry(&stage.scene).await] {
        assert_eq!(
            (end.state, end.leftovers.len()),
            (StepState::Failed, 1),
            "{}",
            end.detail.en()
        );
    }
}

#[tokio::test]
async fn a_bad_guard_holds_the_queue_again_until_it_is_well() {
    let queue = Queue::of(0, false, None);
    let stand = Stand::start(queue.router()).await;
    let bad = Arc::new(AtomicBool::new(true));
    let seen = bad.clone();
    let guard = move |ledger: &mut Ledger| {
        ledger.guard = Box::new(move || seen.load(Relaxed).then(|| "order_success users 98%".into()));
    };
    let book = playbook(&stand.address, 1000.0, Span::seconds(20));
    let stage = stage_with(environment(&[]), book, guard, Secrets::none(), SHORT)
        .with_snapshot_read()
        .await;
    {
        let mut state = queue.state().await;
        (state.held, state.backlog) = (true, 1000.0);
    }
    let calm_down = async {
        while queue.state().await.held {
            tokio::task::yield_now().await;
        }
        while !queue.state().await.held {
            tokio::task::yield_now().await;
        }
        bad.store(false, Relaxed);
    };
    let (end, ()) = tokio::join!(release_retry(&stage.scene), calm_down);
    assert_eq!(end.state, StepState::Done, "{}", end.detail.en());
}

#[tokio::test(start_paused = true)]
async fn the_last_read_waits_until_no_unanswered_change_of_a_quota_can_land() {
    let cluster = ServerName::new("events").unwrap();
    let mut environment = environment(&[]);
    let nowhere = Kafka {
        bootstrap: vec![super::stand::nobody().await],
        tls: None,
        sasl: None,
    };
    environment.kafka.insert(cluster.clone(), nowhere);
    let queue = KafkaQueue {
        cluster: cluster.clone(),
        topic: "retry".into(),
        group: "coupons".into(),
        reset: OffsetReset::Earliest,
        user: None,
        clients: vec!["a".into()],
        rate: 50.0,
        within: Span::seconds(60),
        hold: QueueHold::Quota,
    };
    let book = Playbook {
        retry_queues: vec![RetryQueue::Kafka(queue)],
        ..pools::playbook(Span::seconds(1))
    };
    let mut stage = stage(environment, book);
    let before = RetryQueueSeen {
        entry: 0,
        backlog: 0,
        held: false,
        rate: None,
        quotas: Vec::new(),
        groups: Vec::new(),
    };
    stage.scene.snapshot = Arc::new(Snapshot {
        retry_queues: vec![before],
        ..Snapshot::default()
    });
    let landed = async || {
        let begin = Instant::now();
        super::super::queues::landed(&stage.scene).await;
        begin.elapsed()
    };
    assert_eq!(
        landed().await,
        std::time::Duration::ZERO,
        "every change was answered"
    );
    stage
        .scene
        .drivers
        .unanswered()
        .note(&ClusterName::Kafka(cluster.clone()));
    assert!(landed().await >= LANDS_WITHIN);
    assert_eq!(landed().await, std::time::Duration::ZERO, "once is enough");

    // What becomes of anything else meanwhile is read after that, and not before.
    stage
        .scene
        .drivers
        .unanswered()
        .note(&ClusterName::Kafka(cluster));
    let meanwhile = async {
        tokio::time::sleep(LANDS_WITHIN / 2).await;
        let pool = &stage.scene.plan.drill.recovery.pools[0];
        stage.scene.bus.stuck(&super::super::pools::whole(pool), true);
    };
    let (left, ()) = tokio::join!(left_behind(&stage.scene), meanwhile);
    assert!(left.iter().any(|l| l.step == StepId::Pools), "{left:?}");
}

#[tokio::test]
async fn a_switch_that_nobody_answers_may_still_be_set_and_one_that_refuses_is_not() {
    let queue = Queue::of(0, false, None);
    let (stand, stage) = ready(&queue, 10.0, Span::seconds(5)).await;
    let url = format!("http://{}/app/retry", stand.address);
    let switch = stage.scene.drivers.retry();
    let is_in_doubt = async || {
        let landed = tokio::time::timeout(Span::millis(50).into(), switch.landed(&url));
        landed.await.is_err()
    };
    stand.turn(Mood::Refuses);
    switch.set(&url, true, None).await.unwrap_err();
    assert!(!is_in_doubt().await);
    stand.turn(Mood::Slow);
    switch.set(&url, true, None).await.unwrap_err();
    assert!(is_in_doubt().await);
    stand.turn(Mood::Well);
    switch.set(&url, false, None).await.unwrap();
    assert!(is_in_doubt().await, "it may land after a later one");
}

#[tokio::test(start_paused = true)]
async fn the_last_read_waits_for_a_switch_that_a_dead_keeper_may_have_set() {
    let address = super::stand::nobody().await;
    let mut stage = stage(environment(&[]), playbook(&address, 10.0, Span::seconds(5)));
    let before = RetryQueueSeen {
        entry: 0,
        backlog: 0,
        held: false,
        rate: None,
        quotas: Vec::new(),
        groups: Vec::new(),
    };
    stage.scene.snapshot = Arc::new(Snapshot {
        retry_queues: vec![before],
        ..Snapshot::default()
    });
    let change = ChangeIntent::RetryQueue {
        url: format!("http://{address}/app/retry"),
        held: false,
        rate: None,
        to: "held".into(),
    };
    let landed = async || {
        let begin = Instant::now();
        super::super::queues::landed(&stage.scene).await;
        begin.elapsed()
    };
    assert_eq!(landed().await, std::time::Duration::ZERO);
    super::super::in_doubt(&stage.scene.plan, &stage.scene.drivers, &[change]);
    assert!(landed().await >= LANDS_WITHIN);
    assert_eq!(landed().await, std::time::Duration::ZERO, "once is enough");
}
