//! What the journal has of what remains, however much it is, and what is said when it has less.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use super::*;
use crate::drill::outcome;

/// A disk for a journal, until it takes nothing more.
struct Disk(OwnedFd);

impl Disk {
    fn new() -> Self {
        Self(memfd_create("journal", MemfdFlags::ALLOW_SEALING).unwrap())
    }

    fn stage(&self) -> Stage {
        let place = format!("/proc/self/fd/{}", self.0.as_raw_fd());
        let plan = plan(environment(&[]), nothing_to_do());
        stage_in(
            plan,
            || {},
            |run| std::os::unix::fs::symlink(place, run.journal_file()).unwrap(),
        )
    }

    fn fails(&self) {
        fcntl_add_seals(&self.0, SealFlags::WRITE).unwrap();
    }
}

/// How often it was said that the record of the recovery is not on the disk.
fn told(events: &mut mpsc::UnboundedReceiver<Event>) -> usize {
    let said = |e: &Event| matches!(&e.body, Body::Warning(w) if w.en().contains("not safe on the disk"));
    std::iter::from_fn(|| events.try_recv().ok()).filter(said).count()
}

#[tokio::test]
async fn a_journal_that_fails_while_everything_is_put_back_is_told_once() {
    let disk = Disk::new();
    let mut stage = disk.stage();
    let engine = &mut stage.engine;
    engine.take_over(Facts::default(), vec!["line 1".into()], lost());
    let next = || Body::Warning("next".into());
    engine.ledger.emit_durably(next()).await.unwrap();
    disk.fails();
    for _ in 0..3 {
        engine.ledger.emit(next());
        let refused = engine.ledger.emit_durably(next()).await;
        assert!(refused.is_err(), "the disk takes nothing more");
        engine.tick();
    }
    assert_eq!(told(&mut stage.events), 1);
}

#[tokio::test]
async fn a_run_whose_last_word_the_disk_never_takes_has_not_ended_for_others() {
    let disk = Disk::new();
    let Stage {
        mut engine,
        done,
        run,
        mut events,
        _state,
    } = disk.stage();
    disk.fails();
    engine.ended = Some(outcome::refused());
    tokio::time::pause();
    let ended = engine
        .go(mpsc::unbounded_channel().1, done, Box::new(|| {}))
        .await;
    assert_eq!((ended.recorded, told(&mut events)), (false, 1));
    assert!(
        journal::facts(&journal::read(&run).unwrap().events)
            .closed
            .is_none()
    );
}

#[tokio::test]
async fn the_heart_beats_until_a_slow_disk_has_the_last_word() {
    let (disk, goes_on) = std::sync::mpsc::channel();
    let Stage {
        mut engine,
        done,
        run,
        _state,
        ..
    } = stage_on(plan(environment(&[]), nothing_to_do()), move || {
        goes_on.recv().unwrap();
    });
    engine.ended = Some(outcome::refused());
    let began = tokio::time::Instant::now();
    let heartbeat = move || {
        // After more than any other record may take. The disk hears it once.
        if began.elapsed() > std::time::Duration::from_millis(2_100) {
            let _ = disk.send(());
        }
    };
    let ended = engine
        .go(mpsc::unbounded_channel().1, done, Box::new(heartbeat))
        .await;
    assert!(ended.recorded);
    let events = journal::read(&run).unwrap().events;
    let last = |e: &&Event| matches!(e.body, Body::Closed(_));
    assert_eq!(events.iter().filter(last).count(), 1);
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
    engine
        .ledger
        .emit(Body::Warning("x".repeat(MAX_LINE).as_str().into()));
    let next = || Body::Warning("next".into());
    engine.ledger.emit_durably(next()).await.unwrap();
    engine.tick();
    engine.ledger.emit_durably(next()).await.unwrap();
    let events = journal::read(&stage.run).unwrap().events;
    let told = |e: &&Event| matches!(&e.body, Body::Warning(text) if text.en().contains("more than the"));
    assert_eq!(events.iter().filter(told).count(), 1);
}
