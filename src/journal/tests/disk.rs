//! The state directory and the disk under it.

use std::{
    io::Write,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    process::Command,
};

use super::*;
use crate::model::exit::Exit;

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
        let test = "journal::tests::disk::on_a_full_disk_the_ballast_gives_the_journal_its_last_words";
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
    assert!(journal.is_full(), "and whoever asks is told");

    let long = "w".repeat(2000);
    let mut written = 1;
    let error = loop {
        let event = story::at(written + 1, 1, Body::Warning(long.as_str().into()));
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
    let last = story::at(written + 1, 2, Body::Warning("room again".into()));
    journal.append(&last).unwrap();
    let history = without_readings(&run).unwrap();
    assert_eq!((history.events.last(), history.damage.len()), (Some(&last), 0));
}

#[test]
fn on_a_full_disk_events_appended_together_are_kept_as_far_as_there_is_room() {
    let Some(disk) = std::env::var_os("ALLCLEAR_TEST_SMALL_DISK") else {
        let temp = TempDir::new().unwrap();
        let test =
            "journal::tests::disk::on_a_full_disk_events_appended_together_are_kept_as_far_as_there_is_room";
        return on_a_small_disk(temp.path(), test);
    };
    let state = StateDir::open(Path::new(&disk).join("state")).unwrap();
    let run = state.create_run(&story::plan(), &Secrets::none()).unwrap();
    let (mut journal, _) = Journal::open(&run).unwrap();
    let event = |seq| story::at(seq, 1, Body::Warning("w".repeat(2000).as_str().into()));
    let events: Vec<Event> = (1..=400).map(event).collect();
    let results = journal.append_all(&events);
    let kept = results.iter().filter(|r| r.is_ok()).count();
    assert!((21..400).contains(&kept), "{kept} events fitted");
    assert!(
        results[..kept].iter().all(Result::is_ok),
        "the first ones, in their order"
    );
    assert!(matches!(results[399], Err(JournalError::Full { .. })));
    assert_eq!(without_readings(&run).unwrap().events, events[..kept]);
}

#[test]
fn a_read_only_file_system_is_refused_by_name() {
    let Some(disk) = std::env::var_os("ALLCLEAR_TEST_SMALL_DISK") else {
        let temp = TempDir::new().unwrap();
        return on_a_small_disk(
            temp.path(),
            "journal::tests::disk::a_read_only_file_system_is_refused_by_name",
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
    assert_eq!(runs[2].outcome.as_ref().map(|o| o.exit), Some(Exit::Remains));

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
