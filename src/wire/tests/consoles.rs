//! What a console may see and ask.

use tokio::io::AsyncWriteExt;

use super::{hello, keeper, line, next, seq_of, soon};
use crate::{model::time::Span, wire::*};

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
