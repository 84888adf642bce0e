//! The journal as its users see it.

use std::{
    fs::{self, OpenOptions},
    io::{BufRead, BufReader, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    process::{Command, Stdio},
};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::{
    journal::story,
    model::{
        environment::SecretRef,
        event::{Body, Event},
        ids::{EnvironmentName, RunId},
        recovery::Milestone,
        sample::Query,
        secret::{SecretText, Secrets},
        snapshot::{BaselineLevel, BaselineLevels},
        time::Span,
    },
};

fn state() -> (TempDir, StateDir) {
    let temp = TempDir::new().unwrap();
    let state = StateDir::open(temp.path().join("state")).unwrap();
    (temp, state)
}

fn new_run() -> (TempDir, StateDir, RunDir) {
    let (temp, state) = state();
    let run = state.create_run(&story::plan(), &Secrets::none()).unwrap();
    (temp, state, run)
}

fn write(run: &RunDir, events: &[Event]) {
    let (mut journal, _) = Journal::open(run).unwrap();
    for event in events {
        journal.append(event).unwrap();
    }
}

fn range() -> EnvironmentName {
    EnvironmentName::new("range").unwrap()
}

fn id(text: &str) -> RunId {
    RunId::new(text).unwrap()
}

#[test]
fn what_is_appended_reads_back_in_order_from_both_files() {
    let (_temp, _, run) = new_run();
    write(&run, &story::events());
    let history = read(&run).unwrap();
    assert_eq!(history.plan, story::plan());
    assert_eq!(history.events, story::events());
    assert_eq!(history.damage, []);
    assert_eq!(history.missing(), []);
    let samples = fs::read_to_string(run.samples_file()).unwrap();
    assert_eq!(
        samples.lines().count(),
        6,
        "windows, guards, hits, moved and a row that is not final"
    );
}

#[test]
fn a_torn_last_line_is_dropped_and_the_next_writer_goes_on_behind_it() {
    let (_temp, _, run) = new_run();
    let all = story::events();
    write(&run, &all[..4]);
    let torn = encode(&all[4]).unwrap();
    let mut file = OpenOptions::new().append(true).open(run.journal_file()).unwrap();
    file.write_all(&torn[..torn.len() - 1]).unwrap();

    let (mut journal, history) = Journal::open(&run).unwrap();
    assert_eq!(history.events, all[..4]);
    assert_eq!(journal.last_seq(), 4);
    journal.append(&all[4]).unwrap();
    drop(journal);
    let history = read(&run).unwrap();
    assert_eq!((history.events, history.damage), (all[..5].to_vec(), vec![]));
}

#[test]
fn a_damaged_line_in_the_middle_is_named_and_the_rest_is_used() {
    let (_temp, _, run) = new_run();
    write(&run, &story::events());
    let mut bytes = fs::read(run.journal_file()).unwrap();
    let second_line = bytes.iter().position(|b| *b == b'\n').unwrap() + 30;
    bytes[second_line] ^= 0x10;
    fs::write(run.journal_file(), bytes).unwrap();

    let history = read(&run).unwrap();
    assert_eq!(history.events.len(), story::events().len() - 1);
    assert_eq!(
        (history.damage[0].file, history.damage[0].line),
        ("journal.jsonl", 2)
    );
    assert!(
        history.damage[0].why.contains("checksum"),
        "{}",
        history.damage[0]
    );
    assert_eq!(history.missing(), [2..=2]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_cut_at_any_byte_loses_only_what_lies_behind_it(share in 0.0f64..1.0, noise in "[^\n]{0,40}") {
        let (_temp, _, run) = new_run();
        let all = story::events();
        write(&run, &all);
        let bytes = fs::read(run.journal_file()).unwrap();
        let cut = (bytes.len() as f64 * share) as usize;
        let mut left = bytes[..cut].to_vec();
        left.extend_from_slice(noise.as_bytes());
        fs::write(run.journal_file(), &left).unwrap();
        let whole = bytes[..cut].iter().filter(|b| **b == b'\n').count();

        let (mut journal, history) = Journal::open(&run).unwrap();
        prop_assert_eq!(history.damage, vec![]);
        prop_assert_eq!(history.events.len(), whole);
        let next = story::at(journal.last_seq() + 1, 900, Body::Warning("after".to_owned()));
        journal.append(&next).unwrap();
        drop(journal);
        let again = without_readings(&run).unwrap();
        prop_assert_eq!(again.events.len(), whole + 1);
        prop_assert_eq!(again.events.last(), Some(&next));
    }

    #[test]
    fn bytes_from_anywhere_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let (_temp, _, run) = new_run();
        fs::write(run.journal_file(), &bytes).unwrap();
        let (_, history) = Journal::open(&run).unwrap();
        prop_assert!(history.events.is_empty());
    }
}

#[test]
fn an_event_that_could_not_be_read_back_is_refused_and_not_written() {
    let (_temp, _, run) = new_run();
    let (mut journal, _) = Journal::open(&run).unwrap();
    let mut levels = BaselineLevels::default();
    let query = Query {
        metric: crate::model::ids::MetricId::new("m").unwrap(),
        scope: None,
    };
    let level = BaselineLevel {
        level: f64::NAN,
        lowest: 0.0,
        highest: 0.0,
        smallest_detectable: None,
        edges: vec![],
    };
    levels.levels.insert(query, level);
    let error = journal
        .append(&story::at(1, 0, Body::Frozen(levels)))
        .unwrap_err();
    assert!(
        matches!(error, JournalError::NotReadable { seq: 1, .. }),
        "{error}"
    );
    assert_eq!(fs::read(run.journal_file()).unwrap(), b"");
}

#[test]
fn an_event_longer_than_a_line_is_refused() {
    let (_temp, _, run) = new_run();
    let (mut journal, _) = Journal::open(&run).unwrap();
    let error = journal
        .append(&story::at(1, 0, Body::Warning("x".repeat(MAX_LINE))))
        .unwrap_err();
    assert!(matches!(error, JournalError::TooLong { .. }), "{error}");
}

/// Runs one test of this binary again, in a mount namespace of its own with a small disk at `dir`.
fn on_a_small_disk(dir: &Path, test: &str) {
    let script = r#"mount -t tmpfs -o size=400k tmpfs "$1" && exec "$0" --exact "$2" --nocapture"#;
    let output = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .arg(dir)
        .arg(test)
        .env("ALLCLEAR_TEST_SMALL_DISK", dir)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn on_a_full_disk_the_ballast_gives_the_journal_its_last_words() {
    let Some(disk) = std::env::var_os("ALLCLEAR_TEST_SMALL_DISK") else {
        let temp = TempDir::new().unwrap();
        let test = "journal::tests::on_a_full_disk_the_ballast_gives_the_journal_its_last_words";
        return on_a_small_disk(temp.path(), test);
    };
    let state = StateDir::open(Path::new(&disk).join("state")).unwrap();
    let run = state.create_run(&story::plan(), &Secrets::none()).unwrap();
    let (mut journal, _) = Journal::open(&run).unwrap();
    journal.append(&story::events()[0]).unwrap();
    let mut filler = fs::File::create(Path::new(&disk).join("filler")).unwrap();
    while filler.write_all(&[1; 4096]).is_ok() {}
    while filler.write_all(&[1]).is_ok() {}

    let reading = story::events().into_iter().find(|e| e.body.is_reading()).unwrap();
    let many = 3_000;
    for _ in 0..many {
        journal.append(&reading).unwrap();
    }
    assert!(journal.lost_readings() > 0, "readings do not get the ballast");

    let long = "w".repeat(2000);
    let mut written = 1;
    let error = loop {
        let event = story::at(written + 1, 1, Body::Warning(long.clone()));
        match journal.append(&event) {
            Ok(()) => written += 1,
            Err(e) => break e,
        }
    };
    assert!(matches!(error, JournalError::Full { .. }), "{error}");
    assert!(written > 20, "only {written} events fitted");
    assert_eq!(
        without_readings(&run).unwrap().events.len() as u64,
        written,
        "no half line is left"
    );

    let refused = state.create_run(
        &{
            let mut other = story::plan();
            other.run = id("000002");
            other
        },
        &Secrets::none(),
    );
    assert!(matches!(refused, Err(StateError::Full { .. })), "{refused:?}");
    assert_eq!(
        state.runs().unwrap().len(),
        1,
        "nothing is left of the refused run"
    );

    drop(filler);
    fs::remove_file(Path::new(&disk).join("filler")).unwrap();
    let last = story::at(written + 1, 2, Body::Warning("room again".to_owned()));
    journal.append(&last).unwrap();
    let history = without_readings(&run).unwrap();
    assert_eq!((history.events.last(), history.damage.len()), (Some(&last), 0));
}

#[test]
fn a_read_only_file_system_is_refused_by_name() {
    let Some(disk) = std::env::var_os("ALLCLEAR_TEST_SMALL_DISK") else {
        let temp = TempDir::new().unwrap();
        return on_a_small_disk(
            temp.path(),
            "journal::tests::a_read_only_file_system_is_refused_by_name",
        );
    };
    let state = StateDir::open(Path::new(&disk).join("state")).unwrap();
    assert!(
        Command::new("mount")
            .args(["-o", "remount,ro"])
            .arg(&disk)
            .status()
            .unwrap()
            .success()
    );
    let refused = state.create_run(&story::plan(), &Secrets::none());
    assert!(matches!(refused, Err(StateError::ReadOnly { .. })), "{refused:?}");
    assert_eq!(
        StateDir::open(Path::new(&disk).join("state"))
            .unwrap()
            .runs()
            .unwrap(),
        []
    );
}

#[test]
fn a_state_directory_of_someone_else_or_open_to_others_is_refused() {
    let temp = TempDir::new().unwrap();
    let open = temp.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(
        StateDir::open(&open),
        Err(StateError::OpenToOthers { mode: 0o777, .. })
    ));

    let file = temp.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(
        StateDir::open(&file),
        Err(StateError::NotADirectory { .. })
    ));

    let me = rustix::process::geteuid().as_raw();
    let foreign = ["/", "/proc/1"]
        .iter()
        .find(|p| fs::metadata(p).is_ok_and(|m| m.uid() != me));
    let theirs = temp.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    match foreign {
        Some(path) => assert!(matches!(StateDir::open(path), Err(StateError::NotOurs { .. }))),
        None => {
            std::os::unix::fs::chown(&theirs, Some(65_534), None).unwrap();
            assert!(matches!(
                StateDir::open(&theirs),
                Err(StateError::NotOurs { owner: 65_534, .. })
            ));
        }
    }
}

#[test]
fn nobody_else_can_read_a_run() {
    let (temp, state) = state();
    let mut secrets = Secrets::none();
    secrets.insert(SecretRef::Env("TOKEN".to_owned()), SecretText::new("hunter22"));
    let run = state.create_run(&story::plan(), &secrets).unwrap();
    drop(Journal::open(&run).unwrap());
    let mut seen = 0;
    let mut todo = vec![temp.path().join("state")];
    while let Some(path) = todo.pop() {
        let meta = fs::symlink_metadata(&path).unwrap();
        assert_eq!(meta.mode() & 0o077, 0, "{}", path.display());
        seen += 1;
        if meta.is_dir() {
            todo.extend(fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
        }
    }
    assert!(seen >= 9, "{seen}");
}

#[test]
fn secrets_are_kept_for_whoever_takes_over_and_gone_once_the_run_is_closed() {
    let (temp, state) = state();
    let mut secrets = Secrets::none();
    secrets.insert(
        SecretRef::File("/etc/token".to_owned()),
        SecretText::new("hunter22"),
    );
    let run = state.create_run(&story::plan(), &secrets).unwrap();
    assert_eq!(run.secrets().unwrap(), secrets);
    write(&run, &story::events());
    assert_eq!(run.secrets().unwrap(), Secrets::none());
    let found = Command::new("grep")
        .args(["-r", "hunter22"])
        .arg(temp.path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}

#[test]
fn a_run_id_that_is_taken_is_refused_and_the_first_run_stays() {
    let (_temp, state, run) = new_run();
    write(&run, &story::events());
    let again = state.create_run(&story::plan(), &Secrets::none());
    assert!(matches!(again, Err(StateError::RunExists { .. })));
    assert_eq!(read(&run).unwrap().events.len(), story::events().len());
}

#[test]
fn runs_are_listed_newest_first_and_damaged_ones_too() {
    let (_temp, state, run) = new_run();
    write(&run, &story::events());
    let mut later = story::plan();
    later.run = id("7f9b02");
    let second = state.create_run(&later, &Secrets::none()).unwrap();
    let mut opened = story::at(1, 5000, story::events()[0].body.clone());
    write(&second, std::slice::from_ref(&opened));
    opened.seq = 2;
    fs::create_dir(state.path().join("runs/dead00")).unwrap();
    fs::write(state.path().join("runs/not a run"), "").unwrap();

    let runs = state.runs().unwrap();
    let ids: Vec<&str> = runs.iter().map(|r| r.run.as_str()).collect();
    assert_eq!(ids, ["dead00", "7f9b02", "7f3a01"]);
    assert!(runs[0].damaged.is_some());
    assert_eq!((runs[1].outcome.clone(), runs[1].keeper.clone()), (None, None));
    assert_eq!(runs[2].outcome.as_ref().map(|o| o.exit), Some(4));

    assert_eq!(state.find("7f3").unwrap().0, id("7f3a01"));
    assert_eq!(state.find("latest").unwrap().0, id("dead00"));
    assert!(matches!(state.find("7f"), Err(StateError::Ambiguous { fits, .. }) if fits.len() == 2));
    for nothing in ["", "0", "../x", "\u{1b}[2J"] {
        let error = state.find(nothing).unwrap_err();
        assert!(
            matches!(error, StateError::NoSuchRun { .. }) && !error.to_string().contains('\u{1b}'),
            "{error}"
        );
    }
}

#[test]
fn the_default_place_follows_the_environment_it_is_given() {
    let of = |xdg: Option<&str>, home: Option<&str>| {
        StateDir::default_path(xdg.map(AsRef::as_ref), home.map(AsRef::as_ref))
            .map(|p| p.display().to_string())
    };
    assert_eq!(of(Some("/s"), Some("/h")).unwrap(), "/s/allclear");
    assert_eq!(
        of(Some("relative"), Some("/h")).unwrap(),
        "/h/.local/state/allclear"
    );
    assert!(matches!(of(None, None), Err(StateError::NoHome)));
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

#[test]
fn facts_keep_every_fault_that_was_not_read_back_as_gone() {
    let all = story::events();
    let live = facts(&all[..12]);
    assert_eq!(live.not_gone().count(), 1);
    assert!(matches!(
        live.faults[0].state,
        FaultState::Live { expires: Some(_) }
    ));
    assert!(live.touched() && live.recovering.is_none());

    let mut unsure = all[..11].to_vec();
    unsure.push(story::at(
        12,
        605,
        Body::FaultFailed {
            fault: story::fault(),
            why: "no answer".to_owned(),
        },
    ));
    assert_eq!(
        facts(&unsure).not_gone().count(),
        1,
        "a create without an answer may still land"
    );

    let done = facts(&all);
    assert_eq!(done.not_gone().count(), 0);
    assert_eq!(done.milestones[&Milestone::FaultsGone], Span::millis(800));
    assert_eq!(
        (done.rows.len(), done.may_remain.len(), done.last_seq),
        (2, 1, all.len() as u64)
    );
}
