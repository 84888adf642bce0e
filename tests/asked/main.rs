//! The question that `restore` asks, on a real terminal and a real range: what it does with each answer, and with none.
#![allow(missing_docs, reason = "a test program: it may fail")]

#[path = "../kill/place.rs"]
#[allow(dead_code, reason = "the runs that are killed use all of it")]
mod place;
#[path = "../kill/proc.rs"]
#[allow(dead_code, reason = "the runs that are killed use all of it")]
mod proc;
#[path = "../kill/shop.rs"]
#[allow(dead_code, reason = "the runs that are killed use all of it")]
mod shop;
mod terminal;
#[path = "../waiting/mod.rs"]
mod waiting;

use crate::{place::Place, shop::Shop, terminal::Terminal};

const QUESTION: &str = "Do it? [y/N] ";
const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";

/// `restore`, up to its question. Nothing has happened yet.
async fn asks(shop: &Shop, place: &Place, sick: &[String]) -> Terminal {
    let drill = place.drill("5s");
    let drill = drill.to_str().expect("a path");
    let mut terminal = Terminal::runs(shop, place, &["--lang", "en", "restore", drill, "--plain"]);
    terminal.until(QUESTION).await;
    let told = terminal.told();
    assert!(
        told.contains("weight 10, drain") && told.contains("1 there"),
        "{told}"
    );
    assert_eq!(runs(place), 0, "nothing is begun before the answer");
    assert!(shop.left().await == sick && shop.has_flag());
    terminal
}

/// How many runs the state directory knows.
fn runs(place: &Place) -> usize {
    let runs = std::fs::read_dir(place.state().join("runs"));
    runs.map_or(0, Iterator::count)
}

#[tokio::test]
async fn an_answer_that_is_no_yes_and_ctrl_c_change_nothing() {
    let (shop, place) = (Shop::open().await, Place::new());
    shop.harm();
    let sick = shop.left().await;
    assert_eq!(sick.len(), 1, "{sick:?}");
    for (answer, code) in [("n\n", 5), ("\n", 5), ("nyes\n", 5), (CTRL_D, 5), (CTRL_C, 130)] {
        let mut terminal = asks(&shop, &place, &sick).await;
        terminal.types(answer);
        assert_eq!(terminal.code().await, code, "{answer:?}: {}", terminal.told());
        if code == 5 {
            assert!(terminal.told().contains("nothing was changed"), "{answer:?}");
        }
        assert_eq!(runs(&place), 0, "{answer:?} is no yes");
        assert_eq!(proc::under(&place.state()), [], "{answer:?} starts no keeper");
        assert_eq!(shop.left().await, sick, "{answer:?}");
        assert!(shop.has_flag(), "{answer:?}");
    }
}

#[tokio::test]
async fn a_yes_is_asked_for_once_and_everything_is_put_back() {
    let (shop, place) = (Shop::open().await, Place::new());
    shop.harm();
    let sick = shop.left().await;
    let mut terminal = asks(&shop, &place, &sick).await;
    terminal.types("y\n");
    assert_eq!(terminal.code().await, 0, "{}", terminal.told());
    assert_eq!(terminal.told().matches("[y/N]").count(), 1, "{}", terminal.told());
    assert_eq!(shop.left().await, Vec::<String>::new());
    assert!(!shop.has_flag());
    assert_eq!(runs(&place), 1, "it leaves a run like any other");
}
