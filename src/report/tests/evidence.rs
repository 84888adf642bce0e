//! Runs whose record is damaged.

use std::fs;

use tempfile::TempDir;

use super::{export_to, run_of, told};
use crate::{
    journal::story,
    model::{secret::Secrets, text::Lang},
    report::*,
};

#[test]
fn evidence_that_is_missing_is_said_everywhere() {
    let temp = TempDir::new().unwrap();
    let mut events = story::events();
    events.drain(12..15);
    events.pop();
    let run = run_of(&temp, &events, &Secrets::none());
    fs::write(run.plan_file(), "{").unwrap();
    let path = temp.path().join("bundle.tar.gz");
    let manifest = export_to(&run, &path);
    let missing = manifest.missing.join("\n");
    for part in [
        "events 13 to 15 are missing",
        "the plan: ",
        "the run is not closed",
    ] {
        assert!(missing.contains(part), "{missing}");
    }
    let verified = verify(&path).unwrap();
    assert!(verified.ok());
    assert_eq!(verified.missing_evidence.len(), manifest.missing.len());
    let page = html::page(&Evidence::of(&run).unwrap(), Lang::En);
    assert!(page.contains("events 13 to 15 are missing") && page.contains("NOT CLOSED"));
}

#[test]
fn a_run_of_which_nothing_can_be_read_is_exported_all_the_same() {
    let (temp, run) = told();
    fs::write(run.journal_file(), "rubbish\n").unwrap();
    fs::write(run.samples_file(), b"\xff\x00\n").unwrap();
    let path = temp.path().join("bundle");
    let manifest = export_to(&run, &path);
    assert!(
        manifest
            .missing
            .iter()
            .any(|m| m.contains("journal.jsonl line 1")),
        "{:?}",
        manifest.missing
    );
    assert!(verify(&path).unwrap().ok());
}
