//! Reports as those who get them see them.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use tempfile::TempDir;

use super::{manifest::copy_hashed, *};
use crate::{
    journal::{self, Journal, RunDir, StateDir, story},
    model::{
        environment::SecretRef,
        event::{Body, Event},
        secret::{SecretText, Secrets},
        text::Lang,
    },
    view::RunView,
};

const SECRET: &str = "hunter\"22";

fn secrets() -> Secrets {
    let mut secrets = Secrets::none();
    secrets.insert(SecretRef::Env("TOKEN".to_owned()), SecretText::new(SECRET));
    secrets
}

fn run_of(temp: &TempDir, events: &[Event], secrets: &Secrets) -> RunDir {
    let state = StateDir::open(temp.path().join("state")).unwrap();
    let run = state.create_run(&story::plan(), secrets).unwrap();
    let (mut journal, _) = Journal::open(&run).unwrap();
    for event in events {
        journal.append(event).unwrap();
    }
    fs::write(run.artifacts().join("warm.log"), "warmed 12 keys\n").unwrap();
    run
}

fn told() -> (TempDir, RunDir) {
    let temp = TempDir::new().unwrap();
    let run = run_of(&temp, &story::events(), &Secrets::none());
    (temp, run)
}

fn export_to(run: &RunDir, path: &Path) -> Manifest {
    export(run, &Destination::of(path), Lang::En, &Secrets::none()).unwrap()
}

fn bundle() -> (TempDir, PathBuf) {
    let (temp, run) = told();
    let path = temp.path().join("bundle");
    export_to(&run, &path);
    (temp, path)
}

fn problems(path: &Path) -> Vec<String> {
    verify(path)
        .unwrap()
        .problems
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn a_bundle_holds_all_that_is_known_and_passes_its_own_check() {
    let (temp, run) = told();
    for path in ["bundle", "bundle.tar.gz"].map(|name| temp.path().join(name)) {
        let manifest = export_to(&run, &path);
        let names: Vec<&str> = manifest.files.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "artifacts/warm.log",
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
        assert_eq!((verified.sound, verified.run), (8, Some(story::run())));
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
fn the_page_tells_the_run_in_both_languages() {
    let (_temp, run) = told();
    let evidence = Evidence::of(&run).unwrap();
    for (name, lang) in [("page_en", Lang::En), ("page_zh", Lang::Zh)] {
        let page = html::page(&evidence, lang);
        assert!(
            !page.contains("<fast>") && !page.contains("<threads>"),
            "texts from outside are escaped"
        );
        let body = page.split_once("<body>").unwrap().1.replace("><", ">\n<");
        insta::assert_snapshot!(name, body);
    }
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let (_temp, path) = bundle();
    let page = fs::read_to_string(path.join("report.html")).unwrap();
    for outside in ["src=", "href=", "@import", "url(", "<script"] {
        assert!(!page.contains(outside), "{outside}");
    }
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
fn a_changed_byte_in_any_file_is_told_with_the_files_name() {
    let (_temp, path) = bundle();
    let manifest: Manifest = serde_json::from_slice(&fs::read(path.join("manifest.json")).unwrap()).unwrap();
    for file in manifest.files {
        let at = path.join(&file.name);
        let good = fs::read(&at).unwrap();
        let mut bad = good.clone();
        bad[good.len() / 2] ^= 1;
        fs::write(&at, &bad).unwrap();
        assert_eq!(
            problems(&path),
            [format!("{} is not as it was exported", file.name)]
        );
        bad.truncate(good.len() - 1);
        fs::write(&at, &bad).unwrap();
        assert_eq!(
            problems(&path),
            [format!("{} is not as it was exported", file.name)]
        );
        fs::write(&at, good).unwrap();
    }
    assert_eq!(problems(&path), [] as [&str; 0]);
}

#[test]
fn what_is_missing_extra_or_a_link_is_told() {
    let (_temp, path) = bundle();
    fs::remove_file(path.join("drill.yaml")).unwrap();
    fs::write(path.join("artifacts/more\u{1b}[2J"), "x").unwrap();
    fs::remove_file(path.join("samples.jsonl")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", path.join("samples.jsonl")).unwrap();
    let mut found = problems(&path);
    found.sort();
    assert_eq!(
        found,
        [
            "artifacts/more[2J is not in the manifest",
            "drill.yaml is missing",
            "samples.jsonl does not belong in a bundle: it is a link or a device",
            "samples.jsonl is missing",
        ]
    );
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
    events.push(story::at(seq, 700, Body::Warning(leak)));
    let run = run_of(&temp, &events, &secrets());
    fs::write(run.artifacts().join("env.txt"), format!("TOKEN={SECRET}\n")).unwrap();

    let path = temp.path().join("bundle");
    let manifest = export_to(&run, &path);
    assert!(
        manifest
            .missing
            .iter()
            .any(|m| m == "artifacts/env.txt is left out: it holds a secret"),
        "{:?}",
        manifest.missing
    );
    let found = Command::new("grep")
        .args(["-r", "hunter"])
        .arg(&path)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
    let opened = OpenBundle::open(&path).unwrap();
    let history = journal::read(opened.run()).unwrap();
    assert_eq!(history.damage, [], "masked lines carry their own checksums");
    let masked = Body::Warning("401: bad token •••, see http://me:•••@prometheus:9090/".to_owned());
    assert_eq!(history.events.last().unwrap().body, masked);
}

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

/// An archive with a manifest that lists `files`, and the entries that `fill` adds.
fn archive(
    files: &[(&str, &[u8])],
    fill: impl FnOnce(&mut tar::Builder<GzEncoder<File>>),
) -> (TempDir, PathBuf) {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("b.tar.gz");
    let files = files.iter().map(|(name, bytes)| {
        let mut bytes = *bytes;
        let (sha256, size) = copy_hashed(&mut bytes, &mut std::io::sink()).unwrap();
        FileEntry {
            name: (*name).to_owned(),
            size,
            sha256,
        }
    });
    let manifest = Manifest {
        allclear: "0.1.0".to_owned(),
        run: Some(story::run()),
        files: files.collect(),
        missing: vec![],
    };
    let mut builder = tar::Builder::new(GzEncoder::new(File::create(&path).unwrap(), Compression::fast()));
    add(
        &mut builder,
        "b/manifest.json",
        &serde_json::to_vec(&manifest).unwrap(),
    );
    fill(&mut builder);
    builder.into_inner().unwrap().finish().unwrap();
    (temp, path)
}

/// Adds an entry of any name, also of one that no honest archiver would write.
fn add(builder: &mut tar::Builder<impl Write>, name: &str, bytes: &[u8]) {
    add_kind(builder, name, bytes, tar::EntryType::Regular);
}

fn add_kind(builder: &mut tar::Builder<impl Write>, name: &str, bytes: &[u8], kind: tar::EntryType) {
    let mut header = tar::Header::new_ustar();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_size(bytes.len() as u64);
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_cksum();
    builder.append(&header, bytes).unwrap();
}

#[test]
fn a_hostile_archive_writes_nothing_and_every_trick_is_named() {
    let good: &[u8] = b"good";
    let (temp, path) = archive(&[("a", good), ("../x", good), ("/etc/x", good)], |builder| {
        add(builder, "b/a", good);
        add(builder, "b/a", good);
        add(builder, "b/../../escaped", good);
        add(builder, "/etc/escaped", good);
        add(builder, "../escaped", good);
        add_kind(builder, "b/link", b"", tar::EntryType::Symlink);
        add_kind(builder, "b/long", &[b'n'; 5000], tar::EntryType::GNULongName);
    });
    let verified = verify(&path).unwrap();
    assert_eq!(verified.sound, 1);
    insta::assert_snapshot!("hostile", problems(&path).join("\n"));
    OpenBundle::open(&path).unwrap();
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
    assert!(!Path::new("/etc/escaped").exists());
}

#[test]
fn an_entry_larger_than_the_manifest_says_is_read_no_further() {
    let (_temp, path) = archive(&[("a", b"good")], |builder| {
        add(builder, "b/a", &vec![0; 50 << 20])
    });
    assert_eq!(problems(&path), ["a is not as it was exported"]);
}

#[test]
fn what_is_not_a_bundle_is_called_so() {
    let (_temp, cut) = archive(&[("a", b"good")], |builder| add(builder, "b/a", b"good"));
    let bytes = fs::read(&cut).unwrap();
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    assert!(matches!(verify(&cut), Err(ReportError::NotABundle { .. })));

    let temp = TempDir::new().unwrap();
    assert!(matches!(verify(temp.path()), Err(ReportError::NotABundle { .. })));
    std::os::unix::fs::symlink(&cut, temp.path().join("manifest.json")).unwrap();
    assert!(matches!(verify(temp.path()), Err(ReportError::NotABundle { .. })));
}

proptest! {
    #[test]
    fn bytes_from_anywhere_are_an_error_and_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
        let temp = TempDir::new().unwrap();
        let raw = temp.path().join("raw");
        fs::write(&raw, &bytes).unwrap();
        prop_assert!(verify(&raw).is_err());
        let packed = temp.path().join("packed");
        let mut gz = GzEncoder::new(File::create(&packed).unwrap(), Compression::fast());
        gz.write_all(&bytes).unwrap();
        gz.finish().unwrap();
        prop_assert!(verify(&packed).is_err());
    }
}

#[test]
fn junit_agrees_with_the_exit_code() {
    let aborted = RunView::of(&story::events());
    insta::assert_snapshot!("junit", junit([&aborted], false));

    let mut events = story::events();
    for event in &mut events {
        if let Body::Row(row) = &mut event.body {
            row.verdict = crate::model::sheet::Verdict::NotExercised;
        }
    }
    let undecided = RunView::of(&events);
    let count = |allow, what: &str| junit([&undecided], allow).matches(what).count();
    assert_eq!((count(false, "<error"), count(false, "<skipped")), (2, 0));
    assert_eq!((count(true, "<error"), count(true, "<skipped")), (0, 2));
}

#[test]
fn a_row_that_is_not_final_is_no_result() {
    let mut events = story::events();
    for event in &mut events {
        if let Body::Row(row) = &mut event.body {
            row.last = false;
        }
    }
    let view = RunView::of(&events);
    assert_eq!(junit([&view], true).matches("NOT FINAL").count(), 2);
    assert!(findings(&view, Lang::En).is_empty());
    let temp = TempDir::new().unwrap();
    let page = html::page(
        &Evidence::of(&run_of(&temp, &events, &Secrets::none())).unwrap(),
        Lang::En,
    );
    assert!(page.contains("NOT FINAL") && !page.contains("AS EXPECTED"));
}

#[test]
fn junit_of_an_unfinished_run_is_never_a_pass() {
    let xml = junit([&RunView::of(&story::events()[..12])], true);
    assert!(xml.contains("NOT CLOSED") && xml.contains("NOT REACHED"), "{xml}");
    assert!(junit([&RunView::default()], true).contains("NOT CLOSED"));
}
