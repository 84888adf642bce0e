//! The journal as its users see it.

mod disk;
mod facts;
mod locks;

use std::{
    fs::{self, OpenOptions},
    io::Write,
};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::{
    journal::story,
    model::{
        environment::SecretRef,
        event::{Body, Event},
        ids::{ClusterName, EnvironmentName, RunId, ServerName},
        quota::{Payer, QuotaSeen},
        recovery::Milestone,
        sample::Query,
        secret::{SecretText, Secrets},
        snapshot::{BaselineLevel, BaselineLevels, Changed},
        time::Span,
        undo::ChangeIntent,
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

#[test]
fn a_journal_that_was_lost_is_not_taken_for_one_that_has_not_begun() {
    let (_temp, _, run) = new_run();
    assert_eq!(read(&run).unwrap().damage, []);
    drop(Journal::open(&run).unwrap());
    assert_eq!(
        Journal::open(&run).unwrap().1.damage,
        [],
        "no keeper has begun it"
    );
    let damage = |history: History| history.damage.iter().map(ToString::to_string).collect::<String>();

    fs::remove_file(run.journal_file()).unwrap();
    let gone = "journal.jsonl line 1: the file is not there, and the run had begun";
    assert_eq!(damage(read(&run).unwrap()), gone);
    assert_eq!(damage(Journal::open(&run).unwrap().1), gone);

    write(&run, &story::events());
    for rest in ["", "torn"] {
        fs::write(run.journal_file(), rest).unwrap();
        let empty = "journal.jsonl line 1: the file has no record, and the run had begun";
        assert_eq!(damage(read(&run).unwrap()), empty);
        assert_eq!(damage(Journal::open(&run).unwrap().1), empty);
    }
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
        prop_assert_eq!(history.damage.is_empty(), whole > 0, "{:?}: all of it is lost", history.damage);
        prop_assert_eq!(history.events.len(), whole);
        let next = story::at(journal.last_seq() + 1, 900, Body::Warning("after".into()));
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
        instance: None,
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
fn events_appended_together_last_each_and_one_that_cannot_spoils_no_other() {
    let (_temp, _, run) = new_run();
    let (mut journal, _) = Journal::open(&run).unwrap();
    let mut events = story::events();
    let long = Body::Warning("x".repeat(MAX_LINE).as_str().into());
    events.insert(3, story::at(999, 0, long));
    let results = journal.append_all(&events);
    let failed: Vec<usize> = (0..results.len()).filter(|n| results[*n].is_err()).collect();
    assert_eq!((results.len(), failed), (events.len(), vec![3]));
    drop(journal);
    assert_eq!(read(&run).unwrap().events, story::events());
}

#[test]
fn an_event_longer_than_a_line_is_refused() {
    let (_temp, _, run) = new_run();
    let (mut journal, _) = Journal::open(&run).unwrap();
    let error = journal
        .append(&story::at(
            1,
            0,
            Body::Warning("x".repeat(MAX_LINE).as_str().into()),
        ))
        .unwrap_err();
    assert!(matches!(error, JournalError::TooLong { .. }), "{error}");
}
