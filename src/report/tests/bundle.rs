//! What is in a bundle.

use std::{fs, process::Command};

use tempfile::TempDir;

use super::{SECRET, bundle, export_to, run_of, secrets, told};
use crate::{
    journal::{self, story},
    model::{event::Body, secret::Secrets, text::Lang},
    report::*,
};

#[test]
fn a_bundle_holds_all_that_is_known_and_passes_its_own_check() {
    let (temp, run) = told();
    for path in ["bundle", "bundle.tar.gz"].map(|name| temp.path().join(name)) {
        let manifest = export_to(&run, &path);
        let names: Vec<&str> = manifest.files.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "drill.yaml",
                "findings.json",
                "journal.jsonl",
                "plan.json",
                "report.html",
                "samples.jsonl",
                "sheet.json"
            ]
        );
        let verified = verify(&path).unwrap();
        assert!(verified.ok(), "{verified:?}");
        assert_eq!((verified.sound, verified.run), (7, Some(story::run())));
        assert_eq!(verified.missing_evidence, [] as [&str; 0]);

        let opened = OpenBundle::open(&path).unwrap();
        assert_eq!(journal::read(opened.run()).unwrap(), journal::read(&run).unwrap());
    }
}

#[test]
fn the_sheet_and_the_findings_say_what_was_measured() {
    let (_temp, path) = bundle();
    insta::assert_snapshot!("sheet", fs::read_to_string(path.join("sheet.json")).unwrap());
    insta::assert_snapshot!(
        "findings",
        fs::read_to_string(path.join("findings.json")).unwrap()
    );
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let (first_temp, first) = told();
    let (second_temp, second) = told();
    let (a, b) = (
        first_temp.path().join("a.tar.gz"),
        second_temp.path().join("b.tgz"),
    );
    export_to(&first, &a);
    export_to(&second, &b);
    assert!(fs::read(a).unwrap() == fs::read(b).unwrap());
}

#[test]
fn an_existing_destination_is_left_alone() {
    let (temp, run) = told();
    let path = temp.path().join("mine");
    fs::create_dir(&path).unwrap();
    let refused = export(&run, &Destination::of(&path), Lang::En, &Secrets::none());
    assert!(matches!(refused, Err(ReportError::Exists { .. })));
    let nowhere = temp.path().join("no/such/folder.tar.gz");
    assert!(export(&run, &Destination::of(nowhere), Lang::En, &Secrets::none()).is_err());
    let left: Vec<_> = fs::read_dir(temp.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn no_secret_leaves_with_a_bundle() {
    let temp = TempDir::new().unwrap();
    let mut events = story::events();
    events.pop();
    let seq = events.len() as u64 + 1;
    let leak = format!("401: bad token {SECRET}, see http://me:{SECRET}@prometheus:9090/");
    events.push(story::at(seq, 700, Body::Warning(leak.as_str().into())));
    let run = run_of(&temp, &events, &secrets());
    let path = temp.path().join("bundle");
    export_to(&run, &path);
    let found = Command::new("grep")
        .args(["-r", "hunter"])
        .arg(&path)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
    let opened = OpenBundle::open(&path).unwrap();
    let history = journal::read(opened.run()).unwrap();
    assert_eq!(history.damage, [], "masked lines carry their own checksums");
    let masked = Body::Warning("401: bad token •••, see http://me:•••@prometheus:9090/".into());
    assert_eq!(history.events.last().unwrap().body, masked);
}
