//! `recover` while a keeper lives.

use crate::{run::Run, shop::Shop};

#[tokio::test]
async fn recover_tells_the_living_keeper_and_a_second_one_changes_nothing() {
    let shop = Shop::open().await;
    let mut run = Run::start(&shop, "10m").await;
    run.until_has("fault_live").await;
    let keeper = run.keeper();
    let recover = || {
        let mut command = run.place.allclear(&shop, &["recover"]);
        tokio::task::spawn_blocking(move || command.output().expect("recover"))
    };
    let (first, second) = tokio::join!(recover(), recover());
    for output in [first, second] {
        let output = output.expect("recover");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    let outcome = run.ends().await;
    assert!(!outcome["cause"]["asked"].is_null(), "{outcome}");
    assert!(!run.has("taken_over"), "by {keeper:?} itself");
    assert_eq!(run.console_code().await, Some(130));
    run.assert_nothing_left(&shop, "recovered").await;
}
