//! Floods, slow consoles and states that are too large: a stop always arrives.

use tempfile::TempDir;

use super::{hello, keeper, next, seq_of, soon};
use crate::{journal::story, model::event::Body, wire::*};

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
