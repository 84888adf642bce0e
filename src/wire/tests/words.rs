//! The words on the wire.

use tokio::io::AsyncReadExt;

use super::{hello, keeper, line, soon};
use crate::{model::time::Span, wire::*};

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
