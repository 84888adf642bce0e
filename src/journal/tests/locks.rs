//! Who may do what, and what is owed.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use super::*;

fn range() -> EnvironmentName {
    EnvironmentName::new("range").unwrap()
}

#[test]
fn a_second_keeper_of_a_run_is_refused_and_told_who_the_first_is() {
    let (_temp, _, run) = new_run();
    assert_eq!(KeeperLock::holder(&run).unwrap(), None);
    let first = KeeperLock::try_take(&run, &story::run(), 4242).unwrap();
    let Err(LockError::HeldBy { holder, .. }) =
        KeeperLock::take_within(&run, &story::run(), 1, Span::millis(60))
    else {
        panic!("the second keeper got the lock");
    };
    assert_eq!((holder.run, holder.pid), (Some(story::run()), Some(4242)));
    assert_eq!(KeeperLock::holder(&run).unwrap().and_then(|h| h.pid), Some(4242));
    drop(first);
    KeeperLock::try_take(&run, &story::run(), 1).unwrap();
}

#[test]
fn a_keeper_that_takes_over_waits_for_the_lock_of_a_dying_process() {
    let (_temp, _, run) = new_run();
    drop(KeeperLock::try_take(&run, &story::run(), 1).unwrap());
    let mut other = Command::new("flock")
        .arg(run.keeper_lock_file())
        .args(["sh", "-c", "echo locked; read line"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(other.stdout.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    assert!(matches!(
        KeeperLock::try_take(&run, &story::run(), 2),
        Err(LockError::HeldBy { .. })
    ));

    let waiting = {
        let run = run.clone();
        std::thread::spawn(move || KeeperLock::take_within(&run, &story::run(), 2, Span::seconds(30)))
    };
    drop(other.stdin.take());
    other.wait().unwrap();
    waiting.join().unwrap().unwrap();
}

#[test]
fn one_drill_per_environment_and_a_run_that_died_must_be_recovered_first() {
    let (_temp, state, run) = new_run();
    let held = state.lock_environment(&range(), &story::run(), 4242).unwrap();
    let second = state.lock_environment(&range(), &id("000002"), 1).unwrap_err();
    assert_eq!(
        second.to_string(),
        "environment range is held by run 7f3a01 (pid 4242)"
    );

    write(&run, &story::events()[..12]);
    drop(held);
    let second = state.lock_environment(&range(), &id("000002"), 1).unwrap_err();
    assert!(
        matches!(&second, LockError::Owed { run, .. } if *run == story::run()),
        "{second}"
    );

    let recovering = state.lock_environment(&range(), &story::run(), 4300).unwrap();
    write(&run, &story::events()[12..]);
    recovering.release();
    state.lock_environment(&range(), &id("000002"), 1).unwrap();
}

#[test]
fn a_run_without_keeper_and_end_is_owed_with_what_is_live() {
    let (_temp, state, run) = new_run();
    assert!(owed(&state).unwrap()[0].harmless());
    write(&run, &story::events()[..12]);
    let keeper = KeeperLock::try_take(&run, &story::run(), 4242).unwrap();
    assert_eq!(owed(&state).unwrap(), [], "its keeper is at work");
    drop(keeper);

    let debts = owed(&state).unwrap();
    assert_eq!(debts.len(), 1);
    assert_eq!(debts[0].faults, [story::intent()]);
    assert!(!debts[0].harmless());

    write(&run, &story::events()[12..]);
    assert_eq!(owed(&state).unwrap(), [], "it is closed");
    fs::write(run.journal_file(), "").unwrap();
    assert!(!owed(&state).unwrap()[0].harmless(), "its journal is lost");
}

#[test]
fn a_run_whose_files_cannot_be_read_is_owed_all_the_same() {
    let (_temp, state, run) = new_run();
    write(&run, &story::events()[..12]);
    fs::write(run.plan_file(), "{").unwrap();
    let debts = owed(&state).unwrap();
    assert!(
        !debts[0].harmless() && debts[0].unreadable[0].contains("damaged"),
        "{debts:?}"
    );
}
