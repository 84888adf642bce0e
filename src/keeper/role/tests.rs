//! How a keeper ends, and what it says where those before it have died.

use std::{collections::BTreeSet, path::PathBuf};

use tempfile::TempDir;
use tokio::sync::mpsc;

use super::{
    ending::{give_back, leave, tidy_up},
    *,
};
use crate::{
    engine::Ended,
    journal::{self, Journal, story},
    model::{
        amount::Level,
        environment::SecretRef,
        event::{Event, Period},
        ids::{MetricId, RunId},
        sample::Query,
        secret::{SecretText, Secrets},
    },
    view::{Chart, Point, RunView},
    wire::{self, Hub, Server, StateAt},
};

/// A run with a secret and a socket, and where that is.
fn open_run() -> (TempDir, StateDir, RunDir, PathBuf) {
    let temp = TempDir::new().unwrap();
    let state = StateDir::open(temp.path().join("state")).unwrap();
    let mut secrets = Secrets::none();
    secrets.insert(SecretRef::Env("PW".into()), SecretText::new("hush"));
    let run = state.create_run(&story::plan(), &secrets).unwrap();
    // Nobody else may enter the folder of a socket.
    let socket = state.path().join("7f3a.sock");
    run.record_socket(&socket).unwrap();
    (temp, state, run, socket)
}

fn names(run: &RunDir) -> BTreeSet<String> {
    let entries = std::fs::read_dir(run.path()).unwrap();
    let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
    names.collect()
}

/// What is no longer there of these.
fn gone(open: &BTreeSet<String>, run: &RunDir) -> Vec<String> {
    open.difference(&names(run)).cloned().collect()
}

fn ended(recorded: bool) -> Ended {
    let outcome = crate::drill::outcome::refused();
    Ended { outcome, recorded }
}

#[tokio::test]
async fn a_run_whose_end_is_not_on_the_disk_keeps_its_environment_and_its_secrets() {
    let (_temp, state, run, _) = open_run();
    let name = story::plan().environment.name;
    let open = names(&run);
    let next = RunId::new("20261130-next").unwrap();
    for recorded in [false, true] {
        let environment = state.lock_environment(&name, &story::run(), 1).unwrap();
        give_back(environment, &ended(recorded));
        leave(&run, None, &ended(recorded), || {}).await;
        let secrets = run.path().join("secrets.json").exists();
        assert_eq!(secrets, !recorded);
        match state.lock_environment(&name, &next, 2) {
            Ok(environment) => {
                assert!(recorded);
                environment.release();
            }
            Err(error) => assert!(!recorded, "{error}"),
        }
    }
    assert_eq!(gone(&open, &run), ["secrets.json", "socket"]);
}

#[test]
fn a_closed_run_keeps_neither_its_secrets_nor_the_place_of_its_socket() {
    let (_temp, _, run, _) = open_run();
    let open = names(&run);
    tidy_up(&run).unwrap();
    assert_eq!(gone(&open, &run), ["secrets.json", "socket"]);
    tidy_up(&run).expect("twice is no error");
}

#[tokio::test]
async fn the_deadman_stays_until_the_keeper_has_tidied_up() {
    let (_temp, _, run, socket) = open_run();
    let hello = wire::Hello {
        version: "0".into(),
        run: story::run(),
        pid: 1,
    };
    let now = || StateAt {
        seq: 0,
        state: RunView::default(),
    };
    let (server, _asks) = Server::bind(&socket, hello, Hub::default(), now).await.unwrap();
    let open = names(&run);
    let mut left_behind = None;
    leave(&run, Some(server), &ended(true), || {
        left_behind = Some((gone(&open, &run), socket.exists()));
    })
    .await;
    let tidy = vec!["secrets.json".to_owned(), "socket".to_owned()];
    assert_eq!(left_behind, Some((tidy, false)));
}

#[tokio::test]
async fn a_run_with_more_points_than_fit_in_a_line_is_shown_with_its_newest() {
    let (_temp, _, _run, socket) = open_run();
    let point = |n: u64| Point {
        at: Moment(1_700_000_000_000 + n),
        period: Period::Step(0),
        value: Some(Level(0.123_456_789_012_3 * n as f64)),
    };
    let chart = |n: usize| Chart {
        query: Query::new(&MetricId::new(&format!("metric_{n}")).unwrap(), None),
        points: (0..600).map(point).collect(),
    };
    let view = RunView {
        charts: (0..200).map(chart).collect(),
        ..RunView::of(&story::events())
    };
    assert!(serde_json::to_string(&view).unwrap().len() > wire::MAX_FRAME);
    let hello = wire::Hello {
        version: "0".into(),
        run: story::run(),
        pid: 1,
    };
    let now = move || StateAt {
        seq: 0,
        state: view.clone(),
    };
    let (_server, _asks) = Server::bind(&socket, hello, Hub::default(), now).await.unwrap();
    let attach = wire::Attach {
        read_only: true,
        who: String::new(),
    };
    let mut console = wire::Client::<RunView>::connect(&socket, attach).await.unwrap();
    let wire::FromKeeper::State(shown) = console.incoming.next().await.unwrap() else {
        panic!("no state");
    };
    assert_eq!(shown.charts.len(), 200);
    for chart in &shown.charts {
        assert!(chart.points.len() >= 150, "{}", chart.points.len());
        assert_eq!(chart.points.back().map(|p| p.at), Some(point(599).at));
    }
}

#[tokio::test]
async fn who_takes_over_a_closed_run_tidies_up_and_changes_nothing_although_the_next_has_begun() {
    let (_temp, state, run, socket) = open_run();
    let environment = story::plan().environment.name;
    let keeper_before = state.lock_environment(&environment, &story::run(), 1).unwrap();
    let (mut journal, _) = Journal::open(&run).unwrap();
    for event in story::events() {
        journal.append(&event).unwrap();
    }
    drop(journal);
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    // It died before it could give the environment back; the next run has that now, or will have it afterwards.
    drop(keeper_before);
    let next = RunId::new("20261130-next").unwrap();
    let environment = state.lock_environment(&environment, &next, 2).unwrap();
    let open = names(&run);
    let cause = Cause::KeeperLost { what: "EOF".into() };
    let ended = keep(&state, &run, Entry::TakeOver(cause), || panic!("nobody attaches")).await;
    assert_eq!(ended.unwrap(), None);
    assert_eq!(
        gone(&open, &run),
        ["socket"],
        "the last record has taken the secrets along"
    );
    assert!(!socket.exists());
    assert_eq!(journal::read(&run).unwrap().events, story::events());
    environment.release();
}

#[tokio::test]
async fn after_many_deaths_it_is_said_why_the_run_pauses() {
    let (_temp, _, run, _) = open_run();
    let (journal, _) = Journal::open(&run).unwrap();
    let (events, mut told) = mpsc::unbounded_channel();
    let mut ledger = Ledger::new(Clock, 0, journal, events);
    let now = Clock.now();
    assert_eq!(pauses(&mut ledger, &[now; 2]), (Span::ZERO, Span::ZERO));
    assert!(told.try_recv().is_err());
    let (before, after) = pauses(&mut ledger, &[now; 4]);
    assert_eq!((before, after), (Span::seconds(1), Span::seconds(9)));
    let Ok(Event {
        body: Body::Warning(what),
        ..
    }) = told.try_recv()
    else {
        panic!("nothing was said");
    };
    assert!(
        what.en().contains("4 keepers") && what.en().contains("waits 9s"),
        "{what:?}"
    );
}
