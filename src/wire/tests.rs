//! The wire over real sockets.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
};

use super::*;
use crate::{
    journal::story,
    model::{event::Body, ids::RunId, time::Span},
};

/// A keeper without a run: its state is the number of the last event, as text.
struct Keeper {
    _temp: TempDir,
    path: PathBuf,
    hub: Hub,
    seq: Arc<AtomicU64>,
    server: Server,
    asks: Asks,
}

fn hello() -> Hello {
    Hello {
        version: "0.1.0".to_owned(),
        run: story::run(),
        pid: 4242,
    }
}

async fn keeper() -> Keeper {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("sockets/7f3a01.sock");
    let hub = Hub::default();
    let seq = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&seq);
    let state = move || {
        let seq = seen.load(Ordering::SeqCst);
        StateAt {
            seq,
            state: format!("as of {seq}"),
        }
    };
    let (server, asks) = Server::bind(&path, hello(), hub.clone(), state).await.unwrap();
    Keeper {
        _temp: temp,
        path,
        hub,
        seq,
        server,
        asks,
    }
}

impl Keeper {
    fn publish(&self, text: &str) {
        let seq = self.seq.fetch_add(1, Ordering::SeqCst) + 1;
        self.hub
            .publish(&story::at(seq, 0, Body::Warning(text.to_owned())));
    }

    async fn attach(&self, read_only: bool) -> Client<String> {
        let who = "commander".to_owned();
        Client::connect(&self.path, Attach { read_only, who })
            .await
            .unwrap()
    }

    async fn raw(&self, bytes: &[u8]) -> BufReader<UnixStream> {
        let mut stream = UnixStream::connect(&self.path).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        BufReader::new(stream)
    }

    async fn asked(&mut self) -> Asked {
        soon(self.asks.next()).await.unwrap()
    }
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what)
        .await
        .expect("it should have come by now")
}

async fn line(stream: &mut BufReader<UnixStream>) -> String {
    let mut line = String::new();
    soon(stream.read_line(&mut line)).await.unwrap();
    line
}

async fn next(client: &mut Client<String>) -> FromKeeper<String> {
    soon(client.incoming.next()).await.unwrap()
}

fn seq_of(said: FromKeeper<String>) -> u64 {
    match said {
        FromKeeper::Event(event) => event.seq,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_console_gets_the_state_and_then_every_event() {
    let keeper = keeper().await;
    keeper.publish("before");
    let mut console = keeper.attach(false).await;
    assert_eq!(console.hello, hello());
    assert_eq!(next(&mut console).await, FromKeeper::State("as of 1".to_owned()));
    keeper.publish("after");
    assert_eq!(seq_of(next(&mut console).await), 2);
    assert_eq!(*keeper.hub.watching().borrow(), 1);

    drop(console);
    let mut watching = keeper.hub.watching();
    soon(watching.wait_for(|n| *n == 0)).await.unwrap();
}

#[tokio::test]
async fn the_plain_words_work_without_attaching() {
    let mut keeper = keeper().await;
    assert!(soon(stop(&keeper.path)).await.unwrap());
    let Asked {
        ask: ToKeeper::Recover { by },
        peer,
    } = keeper.asked().await
    else {
        panic!("no recovery was asked for");
    };
    assert_eq!(peer.uid, rustix::process::geteuid().as_raw());
    assert!(by.contains(&std::process::id().to_string()), "{by}");
    assert_eq!(soon(snapshot(&keeper.path)).await.unwrap(), "as of 0");

    let mut shell = keeper.raw(b"STOP").await;
    shell.get_mut().shutdown().await.unwrap();
    assert_eq!(line(&mut shell).await, "STOPPING\n");
    assert!(matches!(
        keeper.asked().await,
        Asked {
            ask: ToKeeper::Recover { .. },
            ..
        }
    ));
}

#[tokio::test]
async fn stop_after_the_end_says_that_it_is_over() {
    let keeper = keeper().await;
    drop(keeper.asks);
    assert!(!soon(stop(&keeper.path)).await.unwrap());
}

#[tokio::test]
async fn stop_overtakes_everything_else_and_is_never_lost_in_a_flood() {
    let mut keeper = keeper().await;
    let mut console = keeper.attach(false).await;
    for n in 0..500 {
        let note = ToKeeper::Note {
            by: "c\u{1b}[2J".to_owned(),
            text: n.to_string(),
        };
        console.outgoing.send(&note).await.unwrap();
    }
    while !matches!(next(&mut console).await, FromKeeper::Refused { .. }) {}
    assert!(soon(stop(&keeper.path)).await.unwrap());
    assert!(
        soon(stop(&keeper.path)).await.unwrap(),
        "one that waits is as good as two"
    );
    assert!(matches!(
        keeper.asked().await,
        Asked {
            ask: ToKeeper::Recover { .. },
            ..
        }
    ));
    let Asked {
        ask: ToKeeper::Note { by, text },
        ..
    } = keeper.asked().await
    else {
        panic!("the notes come next");
    };
    assert_eq!((by.as_str(), text.as_str()), ("c[2J", "0"));
}

#[tokio::test]
async fn a_slow_console_gets_a_new_state_instead_of_a_queue_and_can_still_stop() {
    let mut keeper = keeper().await;
    let mut console = keeper.attach(false).await;
    assert!(matches!(next(&mut console).await, FromKeeper::State(_)));
    let long = "x".repeat(4000);
    for _ in 0..5_000 {
        keeper.publish(&long);
        tokio::task::yield_now().await;
    }
    console
        .outgoing
        .send(&ToKeeper::Recover { by: "me".to_owned() })
        .await
        .unwrap();
    assert!(matches!(
        keeper.asked().await,
        Asked {
            ask: ToKeeper::Recover { .. },
            ..
        }
    ));

    let mut last = 0;
    let mut states = 0;
    while last < 5_000 {
        match next(&mut console).await {
            FromKeeper::Event(event) => {
                assert_eq!(event.seq, last + 1, "no event is missing between states");
                last = event.seq;
            }
            FromKeeper::State(state) => {
                let seq: u64 = state.trim_start_matches("as of ").parse().unwrap();
                assert!(seq > last);
                (last, states) = (seq, states + 1);
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(
        states > 0 && keeper.hub.dropped() > 1_000,
        "{states} {}",
        keeper.hub.dropped()
    );
}

#[tokio::test]
async fn a_read_only_console_is_refused_but_for_the_plain_stop() {
    let mut keeper = keeper().await;
    let mut console = keeper.attach(true).await;
    assert!(matches!(next(&mut console).await, FromKeeper::State(_)));
    for ask in [
        ToKeeper::Recover { by: String::new() },
        ToKeeper::Extend {
            by: Span::seconds(300),
        },
    ] {
        console.outgoing.send(&ask).await.unwrap();
        assert!(
            matches!(next(&mut console).await, FromKeeper::Refused { .. }),
            "{ask:?}"
        );
    }
    drop(console);
    assert!(soon(stop(&keeper.path)).await.unwrap());
    assert!(matches!(
        keeper.asked().await,
        Asked {
            ask: ToKeeper::Recover { .. },
            ..
        }
    ));
}

#[tokio::test]
async fn garbage_is_answered_and_does_no_harm() {
    let mut keeper = keeper().await;
    let mut console = keeper.raw(b"{\"from\":\"the future\"}\nSNAPSHOT\n").await;
    assert!(line(&mut console).await.contains("does not understand"));
    assert_eq!(line(&mut console).await, "\"as of 0\"\n");

    let mut binary = keeper.raw(b"\xff\xfe\n").await;
    assert!(line(&mut binary).await.starts_with("{\"refused\""));
    assert_eq!(line(&mut binary).await, "", "the connection is over");

    let mut endless = keeper.raw(&vec![b'x'; MAX_ASK + 1]).await;
    assert!(line(&mut endless).await.contains("longer than"));
    let mut rest = Vec::new();
    let _ = soon(endless.read_to_end(&mut rest)).await;

    assert!(soon(stop(&keeper.path)).await.unwrap());
    assert!(matches!(
        keeper.asked().await,
        Asked {
            ask: ToKeeper::Recover { .. },
            ..
        }
    ));
}

#[tokio::test]
async fn a_state_that_is_too_large_is_refused_and_the_console_stays() {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("s/r.sock");
    let state = || StateAt {
        seq: 0,
        state: "x".repeat(MAX_FRAME),
    };
    let hub = Hub::default();
    let (_server, _asks) = Server::bind(&path, hello(), hub.clone(), state).await.unwrap();
    let attach = Attach {
        read_only: true,
        who: String::new(),
    };
    let mut console = Client::<String>::connect(&path, attach).await.unwrap();
    assert!(matches!(next(&mut console).await, FromKeeper::Refused { .. }));
    hub.publish(&story::at(1, 0, Body::StepEnded { step: 0 }));
    assert_eq!(seq_of(next(&mut console).await), 1);
}

#[tokio::test]
async fn closing_sends_what_is_left_says_goodbye_and_removes_the_socket() {
    let keeper = keeper().await;
    let mut console = keeper.attach(false).await;
    assert!(matches!(next(&mut console).await, FromKeeper::State(_)));
    let idle = keeper.raw(b"").await;
    for _ in 0..100 {
        keeper.publish("last words");
    }
    soon(keeper.server.close()).await;
    for seq in 1..=100 {
        assert_eq!(seq_of(next(&mut console).await), seq);
    }
    assert!(matches!(next(&mut console).await, FromKeeper::Bye { .. }));
    assert!(matches!(
        soon(console.incoming.next()).await,
        Err(WireError::Lost)
    ));
    assert!(!keeper.path.exists());
    drop(idle);
}

#[tokio::test]
async fn a_console_that_never_reads_does_not_hold_up_the_end() {
    let keeper = keeper().await;
    let console = keeper.attach(false).await;
    let long = "x".repeat(4000);
    for _ in 0..400 {
        keeper.publish(&long);
    }
    soon(keeper.server.close()).await;
    drop(console);
}

#[tokio::test]
async fn a_socket_somebody_answers_at_is_kept_and_a_stale_one_is_replaced() {
    let keeper = keeper().await;
    let state = || StateAt { seq: 0, state: () };
    let second = Server::bind(&keeper.path, hello(), Hub::default(), state).await;
    assert!(matches!(second, Err(WireError::InUse { .. })));
    assert!(soon(stop(&keeper.path)).await.unwrap());

    let stale = keeper.path.with_file_name("stale.sock");
    drop(std::os::unix::net::UnixListener::bind(&stale).unwrap());
    assert!(matches!(stop(&stale).await, Err(WireError::NobodyThere { .. })));
    let (server, _asks) = Server::bind(&stale, hello(), Hub::default(), state)
        .await
        .unwrap();
    server.close().await;
}

#[tokio::test]
async fn a_directory_that_others_can_enter_is_not_trusted_by_either_side() {
    let keeper = keeper().await;
    let dir = keeper.path.parent().unwrap();
    assert_eq!(fs::metadata(dir).unwrap().permissions().mode() & 0o777, 0o700);
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    let refused = |error: WireError| matches!(error, WireError::NotOurs { .. });
    assert!(refused(stop(&keeper.path).await.unwrap_err()));
    let other = keeper.path.with_file_name("other.sock");
    let state = || StateAt { seq: 0, state: () };
    assert!(refused(
        Server::bind(&other, hello(), Hub::default(), state)
            .await
            .unwrap_err()
    ));

    fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).unwrap();
    let link = dir.with_file_name("link");
    std::os::unix::fs::symlink(dir, &link).unwrap();
    assert!(refused(stop(&link.join("7f3a01.sock")).await.unwrap_err()));
}

#[test]
fn the_directory_is_short_whatever_the_environment_says() {
    let dir = |xdg: Option<&str>| socket_dir(xdg.map(AsRef::as_ref), 1000).display().to_string();
    assert_eq!(dir(Some("/run/user/1000")), "/run/user/1000/allclear");
    assert_eq!(dir(None), "/tmp/allclear-1000");
    assert_eq!(dir(Some("relative")), "/tmp/allclear-1000");
    assert_eq!(dir(Some(&format!("/{}", "x".repeat(100)))), "/tmp/allclear-1000");
    let run = RunId::new("7f3a01").unwrap();
    assert_eq!(socket_path(Path::new("/d"), &run), Path::new("/d/7f3a01.sock"));
}

#[test]
fn what_is_said_stays_as_it_is_in_all_versions() {
    assert_eq!(
        (STOP, SNAPSHOT, STOPPING, OVER),
        ("STOP", "SNAPSHOT", "STOPPING", "OVER")
    );
    let asks = [
        ToKeeper::Attach(Attach {
            read_only: true,
            who: "me".to_owned(),
        }),
        ToKeeper::Recover { by: "me".to_owned() },
        ToKeeper::Extend {
            by: Span::seconds(300),
        },
        ToKeeper::Note {
            by: "me".to_owned(),
            text: "x".to_owned(),
        },
    ];
    let said: Vec<String> = asks
        .iter()
        .map(|ask| serde_json::to_string(ask).unwrap())
        .collect();
    assert_eq!(
        said,
        [
            r#"{"attach":{"read_only":true,"who":"me"}}"#,
            r#"{"recover":{"by":"me"}}"#,
            r#"{"extend":{"by":300000}}"#,
            r#"{"note":{"by":"me","text":"x"}}"#,
        ]
    );
    let hello = FromKeeper::<()>::Hello(hello());
    assert_eq!(
        serde_json::to_string(&hello).unwrap(),
        r#"{"hello":{"version":"0.1.0","run":"7f3a01","pid":4242}}"#
    );
    let refused = message::refusal("it is \"over\"\n");
    let why = "it is \"over\"\n".to_owned();
    assert_eq!(
        serde_json::from_str::<FromKeeper<()>>(&refused).unwrap(),
        FromKeeper::Refused { why }
    );
    let bye = message::goodbye("end");
    assert!(matches!(
        serde_json::from_str(&bye),
        Ok(FromKeeper::<()>::Bye { .. })
    ));
}
