//! What an engine keeps: which snapshot counts, and what a keeper before it may have left half done.

use std::path::Path;

use tempfile::TempDir;

use super::{recovery::Again, *};
use crate::{
    drivers::{
        Patience,
        testing::{environment, nothing_to_do, plan},
        unanswered::LANDS_WITHIN,
    },
    journal::{self, Facts, FaultFact, FaultState, Journal, MAX_LINE, RunDir, StateDir},
    model::{
        amount::Level,
        environment::Kubernetes,
        event::{Event, Hits},
        ids::{ClusterName, CommandName, InstanceName, MetricId, Namespace, ServerName},
        kubernetes::PodId,
        phase::{Cause, Phase},
        plan::Purpose,
        playbook::{Command, How, Playbook, PoolDrain, Restart, RetryQueue, SentinelRules},
        quota::{Payer, QuotaSeen},
        recovery::{Certainty, StepState},
        sample::{Query, Reading},
        snapshot::Changed,
        undo::{ChangeIntent, FaultIntent, UndoFault},
    },
};

/// An engine that has not begun, and what it writes.
struct Stage {
    engine: Engine,
    done: mpsc::UnboundedReceiver<Done>,
    run: RunDir,
    _events: mpsc::UnboundedReceiver<Event>,
    _state: TempDir,
}

fn stage(plan: Plan) -> Stage {
    stage_on(plan, || {})
}

/// The same, on a disk that takes nothing before `first` is over.
fn stage_on(plan: Plan, first: impl FnOnce() + Send + 'static) -> Stage {
    let temp = TempDir::new().unwrap();
    let state = StateDir::open(temp.path().join("state")).unwrap();
    let run = state.create_run(&plan, &Secrets::none()).unwrap();
    let (journal, _) = Journal::open(&run).unwrap();
    let (watchers, events) = mpsc::unbounded_channel();
    let (done, results) = mpsc::unbounded_channel();
    let setup = Setup {
        schedule: Schedule::of(&plan.drill).unwrap(),
        drivers: Arc::new(Drivers::new(&plan, Secrets::none()).unwrap()),
        plan: Arc::new(plan),
        secrets: Secrets::none(),
        clock: Clock,
        ledger: Ledger::begun_by(first, Clock, 0, journal, watchers),
        asks: mpsc::unbounded_channel().1,
        heartbeat: Box::new(|| {}),
    };
    let (engine, ..) = setup.engine(done);
    Stage {
        engine,
        done: results,
        run,
        _events: events,
        _state: temp,
    }
}

/// At the end of its baseline, when what recovery may change is read again: the first look.
fn before_arming() -> Stage {
    before_arming_on(|| {})
}

fn before_arming_on(first: impl FnOnce() + Send + 'static) -> Stage {
    let mut plan = plan(environment(&[]), nothing_to_do());
    plan.drill.baseline = Span::ZERO;
    let mut stage = stage_on(plan, first);
    stage.engine.machine.start();
    stage.engine.feed(Input::PreflightDone { refused: vec![] });
    stage.engine.feed(Input::Tick);
    stage.engine.feed(Input::BaselineJudged { blockers: vec![] });
    assert!(stage.engine.machine.awaits(1));
    stage
}

fn changed(foreign: String) -> Again {
    let snapshot = Snapshot {
        foreign: vec![foreign],
        ..Snapshot::default()
    };
    Again::Changed {
        snapshot: Box::new(snapshot),
        changed: vec![Changed {
            what: "rule".into(),
            before: "not there".into(),
            now: "there".into(),
        }],
    }
}

#[tokio::test]
async fn what_has_changed_during_the_baseline_is_on_the_disk_before_anything_is_armed() {
    let mut stage = before_arming();
    stage.engine.was_read_again(1, changed("decided".into())).await;
    assert_eq!(stage.engine.machine.phase(), Phase::Armed);
    assert_eq!(stage.engine.snapshot.foreign, ["decided"]);
    let written = journal::read(&stage.run).unwrap().events;
    let facts = journal::facts(&written);
    assert_eq!(
        facts.snapshot.map(|s| s.foreign),
        Some(vec!["decided".to_owned()])
    );
    assert!(
        written
            .iter()
            .any(|e| matches!(e.body, Body::ChangedMeanwhile(_)))
    );
    // An answer that nobody waits for any more.
    stage.engine.was_read_again(1, changed("late".into())).await;
    assert_eq!(stage.engine.snapshot.foreign, ["decided"]);
}

#[tokio::test]
async fn on_what_cannot_be_read_again_or_written_down_nothing_is_armed() {
    let why = Again::Blocked(vec!["order-0 at lb changes still".into()]);
    for again in [why, changed("x".repeat(MAX_LINE))] {
        let mut stage = before_arming();
        stage.engine.was_read_again(1, again).await;
        assert_eq!(stage.engine.machine.phase(), Phase::Baseline);
        assert!(stage.engine.snapshot.foreign.is_empty());
    }
}

#[tokio::test]
async fn a_snapshot_that_the_disk_took_too_late_is_not_the_one_of_whoever_takes_over() {
    let (disk, goes_on) = std::sync::mpsc::channel();
    let mut stage = before_arming_on(move || goes_on.recv().unwrap());
    let engine = &mut stage.engine;
    engine.snapshot = Arc::new(Snapshot {
        foreign: vec!["of before".into()],
        ..Snapshot::default()
    });
    tokio::time::pause();
    engine.was_read_again(1, changed("for a while".into())).await;
    tokio::time::resume();
    assert_eq!(
        engine.machine.phase(),
        Phase::Baseline,
        "the disk has not answered"
    );
    disk.send(()).unwrap();

    engine.feed(Input::Extend(Span::ZERO));
    tokio::time::sleep(Span::millis(2).into()).await;
    engine.feed(Input::Tick);
    engine.feed(Input::BaselineJudged { blockers: vec![] });
    engine.was_read_again(2, Again::AsBefore).await;
    assert_eq!(engine.machine.phase(), Phase::Armed);
    let in_memory = engine.snapshot.clone();
    drop(stage.engine);
    let read = || journal::facts(&journal::read(&stage.run).unwrap().events).snapshot;
    assert_eq!(read().as_ref(), Some(&*in_memory));
}

#[tokio::test]
async fn however_much_remains_its_list_is_in_the_journal() {
    let mut stage = stage(plan(environment(&[]), nothing_to_do()));
    let engine = &mut stage.engine;
    let left = |n: usize| Leftover {
        step: StepId::Flags,
        what: format!("flag degrade:{n}").as_str().into(),
        why: "refused".into(),
        by_hand: Some("x".repeat(2_000)),
        certainty: Certainty::Seen,
    };
    engine.may_remain(StepId::Flags, (0..3_000).map(left).collect());
    engine
        .ledger
        .emit_durably(Body::Warning("next".into()))
        .await
        .unwrap();
    let told = journal::facts(&journal::read(&stage.run).unwrap().events).may_remain;
    let last = told.last().expect("the list is there").what.en().to_owned();
    let more = last.strip_prefix("and ").and_then(|m| m.strip_suffix(" more"));
    let named = told.len() - usize::from(more.is_some());
    assert_eq!(named + more.map_or(0, |n| n.parse().unwrap()), 3_000, "{last}");
    assert!(named >= 2_000, "{named}");
}

#[tokio::test]
async fn a_record_that_is_too_long_is_told_even_while_everything_is_put_back() {
    let mut stage = stage(plan(environment(&[]), nothing_to_do()));
    let engine = &mut stage.engine;
    engine.take_over(Facts::default(), vec!["line 1".into()], lost());
    assert_eq!(engine.machine.phase(), Phase::Recovering);
    engine.ledger.emit(Body::Warning("x".repeat(MAX_LINE)));
    let next = || Body::Warning("next".into());
    engine.ledger.emit_durably(next()).await.unwrap();
    engine.tick();
    engine.ledger.emit_durably(next()).await.unwrap();
    let events = journal::read(&stage.run).unwrap().events;
    let told = |e: &&Event| matches!(&e.body, Body::Warning(text) if text.contains("more than the"));
    assert_eq!(events.iter().filter(told).count(), 1);
}

fn lost() -> Cause {
    Cause::KeeperLost { what: "EOF".into() }
}

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

fn touches(file: &Path) -> Vec<String> {
    vec!["touch".to_owned(), file.display().to_string()]
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

/// What the last read has found, and the steps that were carried out once more for it.
async fn last_read(done: &mut mpsc::UnboundedReceiver<Done>) -> (Vec<Leftover>, Vec<StepId>) {
    let mut again = Vec::new();
    loop {
        match done.recv().await.unwrap() {
            Done::FinalRead { found, .. } => return (found, again),
            Done::Step { step, .. } => again.push(step),
            Done::Intended { written, .. } => written.send(()).unwrap(),
            _ => {}
        }
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
async fn a_last_read_that_finds_no_fault_is_no_proof_while_one_may_still_land() {
    let rules = axum::routing::get(async || axum::Json(serde_json::json!({"rules": []})));
    let injector = axum::Router::new().route("/chaos/rules", rules);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(axum::serve(listener, injector).into_future());
    let plan = plan(environment(&[("order", "order-0", &address)]), nothing_to_do());
    let intent = FaultIntent {
        undo: UndoFault::Rule {
            base: format!("http://{address}"),
        },
        ..journal::story::intent()
    };
    for (late, left) in [(Span::seconds(60), 1), (Span::ZERO, 0)] {
        let patience = Patience {
            late,
            step: Span::millis(300),
            ..Patience::default()
        };
        let Stage {
            mut engine, mut done, ..
        } = stage(plan.clone());
        let drivers = Drivers::with_patience(&plan, Secrets::none(), patience);
        engine.drivers = Arc::new(drivers.unwrap());
        let fact = FaultFact {
            intent: intent.clone(),
            intended_at: Moment::default(),
            state: FaultState::Intended,
            hits: Hits::default(),
        };
        engine.faults.insert(intent.id.clone(), Track::inherited(&fact));
        engine.read_everything();
        let (found, again) = last_read(&mut done).await;
        assert_eq!((found.len(), again), (left, vec![StepId::Faults]), "{found:?}");
    }
}

#[tokio::test]
async fn the_last_read_restarts_nobody_for_a_pool_that_was_given_up() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("restarted");
    let metric = MetricId::new("order_threads_busy").unwrap();
    let pool = PoolDrain {
        metric: metric.clone(),
        scope: None,
        idle_at_most: 5.0,
        scrape_holds: 0.0,
        wait: Span::millis(100),
        if_stuck: Some(Restart::Command {
            run: touches(&file),
            timeout: Span::seconds(20),
        }),
        ready: None,
    };
    let book = Playbook {
        pools: vec![pool],
        ..nothing_to_do()
    };
    let Stage {
        mut engine, mut done, ..
    } = stage(plan(environment(&[("order", "order-0", "127.0.0.1:9")]), book));
    let query = Query::new(&metric, None).of_instance(&InstanceName::new("order-0").unwrap());
    let busy = Reading {
        value: Ok(Level(50.0)),
        age: Span::ZERO,
        sampled: 1,
        partial: false,
    };
    engine.shared.readings([(query.clone(), busy)].into());
    recovery::Bus::stuck(&*engine.bus, &query, true);
    engine.read_everything();
    let (found, again) = last_read(&mut done).await;
    assert!(!again.contains(&StepId::Pools), "{again:?}");
    assert!(found.iter().any(|l| l.step == StepId::Pools), "{found:?}");
    assert!(!file.exists());
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
