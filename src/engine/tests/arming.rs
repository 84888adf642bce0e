//! What is read again at the end of a baseline, and which snapshot counts from then on.

use super::*;

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
