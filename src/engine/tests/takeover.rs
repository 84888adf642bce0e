//! What a keeper before this one may have left half done.

use super::*;

fn quota(cluster: &str) -> ChangeIntent {
    ChangeIntent::Quota {
        cluster: ServerName::new(cluster).unwrap(),
        before: QuotaSeen {
            payer: Payer {
                user: None,
                client: "a".into(),
            },
            bytes: None,
        },
        to: Some(14.0),
    }
}

#[tokio::test]
async fn whatever_a_dead_keeper_was_about_to_change_is_in_doubt_for_the_next() {
    let order = InstanceName::new("order-0").unwrap();
    let rules = ChangeIntent::Rules {
        instance: order.clone(),
        rules: SentinelRules::Degrade,
        count: 1,
    };
    let facts = Facts {
        changes: vec![quota("events"), rules],
        ..Facts::default()
    };
    let mut engine = stage(plan(environment(&[]), nothing_to_do())).engine;
    engine.take_over(facts, Vec::new(), lost());
    assert!(engine.repaired_before);
    let may_land = |cluster: &str| {
        let cluster = ClusterName::Kafka(ServerName::new(cluster).unwrap());
        engine.drivers.unanswered().may_land_for(&cluster)
    };
    assert!(may_land("events").is_some() && may_land("other").is_none());
    let unproved = |rules| recovery::Bus::rules_unproved(&*engine.bus, &order, rules);
    assert!(unproved(SentinelRules::Degrade) && !unproved(SentinelRules::Flow));
}

/// A cluster where nobody listens, and a change of one of its pods.
fn label() -> (Plan, ChangeIntent) {
    let shop = Namespace::new("shop").unwrap();
    let mut environment = environment(&[]);
    environment.kubernetes = Some(Kubernetes {
        kubeconfig: Some("/nowhere/kubeconfig".into()),
        context: None,
        namespaces: vec![shop.clone()],
    });
    let change = ChangeIntent::Label {
        instance: InstanceName::new("order-0").unwrap(),
        pod: PodId {
            namespace: shop,
            name: "order-0".into(),
            uid: "one".into(),
        },
        key: "serving".into(),
        before: Some("true".into()),
        to: Some("false".into()),
    };
    (plan(environment, nothing_to_do()), change)
}

#[tokio::test(start_paused = true)]
async fn what_a_dead_keeper_was_about_to_change_in_kubernetes_is_waited_for_by_the_next() {
    let waits = async |changes: Vec<ChangeIntent>, plan: Plan| {
        let facts = Facts {
            changes,
            ..Facts::default()
        };
        let mut engine = stage(plan).engine;
        engine.take_over(facts, Vec::new(), lost());
        let begin = tokio::time::Instant::now();
        engine.drivers.kubernetes().unwrap().landed().await;
        begin.elapsed()
    };
    let (plan, change) = label();
    assert!(waits(vec![change], plan.clone()).await >= LANDS_WITHIN);
    let pod_of = label().1;
    let ChangeIntent::Label { instance, pod, .. } = pod_of else {
        panic!("{pod_of:?}")
    };
    let restart = ChangeIntent::Restart {
        instance,
        pod: Some(pod),
    };
    assert!(waits(vec![restart], plan.clone()).await >= LANDS_WITHIN);
    assert_eq!(
        waits(vec![quota("events")], plan).await,
        std::time::Duration::ZERO
    );
}

#[tokio::test]
async fn what_a_restore_could_not_prove_the_next_keeper_does_not_prove_either() {
    let book = Playbook {
        retry_queues: vec![RetryQueue::Http {
            url: "http://order-0/app/retry".into(),
            rate: 5.0,
            within: Span::seconds(5),
        }],
        ..nothing_to_do()
    };
    for (purpose, unproved) in [(Purpose::Restore, true), (Purpose::Drill, false)] {
        let mut plan = plan(environment(&[]), book.clone());
        plan.purpose = purpose;
        let facts = Facts {
            snapshot: Some(Snapshot::default()),
            changes: vec![quota("events")],
            ..Facts::default()
        };
        let mut engine = stage(plan).engine;
        engine.take_over(facts, Vec::new(), lost());
        let told = engine.unknown.iter().any(|l| l.what.en() == "retry queue 1");
        assert_eq!(told, unproved, "{:?}", engine.unknown);
    }
}

#[tokio::test]
async fn a_command_without_a_check_runs_again_where_a_dead_keeper_had_begun_to_repair() {
    for begun in [false, true] {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("ran");
        let command = Command {
            name: CommandName::new("warm").unwrap(),
            after: StepId::Pools,
            how: How::Run {
                run: touches(&file),
                check: None,
            },
            timeout: Span::seconds(20),
        };
        let book = Playbook {
            commands: vec![command],
            ..nothing_to_do()
        };
        let Stage {
            mut engine, mut done, ..
        } = stage(plan(environment(&[]), book));
        engine.repaired_before = begun;
        engine.run_command(0, false);
        loop {
            match done.recv().await.unwrap() {
                Done::Command { .. } => break,
                Done::Intended { written, .. } => written.send(()).unwrap(),
                _ => {}
            }
        }
        assert_eq!(file.exists(), begun);
    }
}

#[tokio::test]
async fn what_the_journal_does_not_tell_stands_against_all_clear_to_the_end() {
    let begun = || Facts {
        changes: vec![quota("events")],
        ..Facts::default()
    };
    let whole = Facts {
        snapshot: Some(Snapshot::default()),
        baseline: Some(BaselineLevels::default()),
        ..begun()
    };
    let lost_all = [
        "journal damaged: line 3",
        "the snapshot is not in the journal",
        "the baseline is not in the journal",
    ];
    for (facts, damage, told) in [
        (begun(), vec!["line 3".to_owned()], &lost_all[..]),
        (Facts::default(), vec!["line 3".to_owned()], &lost_all[..]),
        (begun(), vec![], &lost_all[1..]),
        (whole, vec![], &[]),
    ] {
        let Stage {
            mut engine, mut done, ..
        } = stage(plan(environment(&[]), nothing_to_do()));
        engine.take_over(facts, damage, lost());
        engine.read_everything();
        let (found, _) = last_read(&mut done).await;
        let what: Vec<&str> = found.iter().map(|l| l.what.en()).collect();
        assert_eq!(what, told);
        assert!(found.iter().all(|l| l.certainty == Certainty::Unknown));
    }
}

#[tokio::test]
async fn what_a_damaged_later_snapshot_may_have_held_is_not_taken_for_put_back() {
    let facts = || Facts {
        snapshot: Some(Snapshot::default()),
        baseline: Some(BaselineLevels::default()),
        changed_since: vec![Changed {
            what: "order-0 at gateway lb".into(),
            before: "weight 50 of 50, ready".into(),
            now: "weight 100 of 50, ready".into(),
        }],
        snapshot_hidden: Some("journal.jsonl line 9: its checksum is wrong".into()),
        ..Facts::default()
    };
    let damage = || vec!["journal.jsonl line 9: its checksum is wrong".to_owned()];
    let mut engine = stage(plan(environment(&[]), nothing_to_do())).engine;
    engine.take_over(facts(), damage(), lost());
    let told: Vec<String> = engine
        .unknown
        .iter()
        .map(|l| format!("{}: {}", l.what.en(), l.why.en()))
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    journal damaged: journal.jsonl line 9: its checksum is wrong: what the record said is not known
    the snapshot before the first fault: it may be lost (journal.jsonl line 9: its checksum is wrong): what is put back is what preflight had found; if somebody changed a weight, a flag, a rule or a quota during the baseline, that change is undone
    order-0 at gateway lb before the first fault: weight 100 of 50, ready: that snapshot cannot be read (journal.jsonl line 9: its checksum is wrong): put back is what preflight had found, weight 50 of 50, ready; look at it, and set it by hand
    ");
    assert!(engine.unknown.iter().all(|l| l.certainty == Certainty::Unknown));

    let mut restore = plan(environment(&[]), nothing_to_do());
    restore.purpose = Purpose::Restore;
    let mut engine = stage(restore).engine;
    engine.take_over(facts(), damage(), lost());
    let is_told =
        |l: &Leftover| l.what.en().starts_with("the snapshot before") || l.what.en().starts_with("order-0");
    assert!(!engine.unknown.iter().any(is_told), "a restore reads once");
}

#[tokio::test]
async fn after_many_deaths_the_faults_are_stopped_and_then_nothing_else_for_a_while() {
    for (pause, goes_on) in [(Span::ZERO, true), (Span::seconds(600), false)] {
        let Stage {
            mut engine, mut done, ..
        } = stage(plan(environment(&[]), nothing_to_do()));
        let facts = Facts {
            changes: vec![quota("events")],
            ..Facts::default()
        };
        let begin = Begin::TakeOver {
            facts: Box::new(facts),
            damage: Vec::new(),
            cause: lost(),
            pause,
        };
        engine.begin(begin).await;
        loop {
            let said = done.recv().await.unwrap();
            let stopped =
                matches!(&said, Done::Step { step: StepId::Faults, end } if end.state != StepState::Failed);
            engine.handle(said).await;
            engine.carry_out().await;
            if stopped {
                break;
            }
        }
        assert_eq!(engine.steps_began.contains_key(&StepId::Injector), goes_on);
    }
}
