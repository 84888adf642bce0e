//! The playbook alone, on a shop that is sick without a drill; and a rehearsal on a healthy one.

use std::process::Stdio;

use rustix::process::Signal;

use crate::{
    place::Place,
    proc,
    run::Run,
    shop::{Shop, until},
};

#[tokio::test]
async fn a_sick_shop_is_shown_as_it_is_and_nothing_is_done_without_a_yes() {
    let (shop, place) = (Shop::open().await, Place::new());
    shop.harm();
    let sick = shop.left().await;
    let drill = place.drill("5s");
    let drill = drill.to_str().expect("a path");
    let looked = place
        .allclear(&shop, &["restore", drill, "--dry-run"])
        .output()
        .expect("restore");
    let said = String::from_utf8_lossy(&looked.stdout);
    assert!(said.contains("weight 10, drain"), "{said}");
    assert!(said.contains("1 there"), "{said}");
    assert_eq!(looked.status.code(), Some(0));
    // Nobody can be asked: silence is no yes.
    let unasked = place
        .allclear(&shop, &["restore", drill])
        .output()
        .expect("restore");
    assert_eq!(unasked.status.code(), Some(2), "{unasked:?}");
    assert!(shop.left().await == sick && shop.has_flag());
}

#[tokio::test]
async fn a_restore_whose_keeper_is_killed_is_finished_by_the_next_one() {
    let (shop, place) = (Shop::open().await, Place::new());
    shop.harm();
    let drill = place.drill("5s");
    let drill = drill.to_str().expect("a path").to_owned();
    let mut command = place.allclear(&shop, &["restore", &drill, "--yes", "--plain"]);
    let mut run = Run::with(place, command.stdin(Stdio::null())).await;
    run.until_has("change_intended").await;
    if let Some(keeper) = run.keeper() {
        proc::signal(keeper, Signal::KILL);
    }
    let outcome = run.ends().await;
    assert_eq!(outcome["cause"], "restore", "{outcome}");
    assert_eq!(outcome["exit"], 0, "{outcome}");
    assert!(run.has("taken_over"), "by the deadman");
    assert_eq!(run.console_code().await, Some(0));
    run.assert_nothing_left(&shop, "restored").await;
    assert!(!shop.has_flag());
}

#[tokio::test]
async fn a_rehearsal_makes_no_rule_and_takes_the_target_out_and_back() {
    let (shop, place) = (Shop::open().await, Place::new());
    let drill = place.drill("1s");
    let drill = drill.to_str().expect("a path").to_owned();
    let mut command = place.allclear(&shop, &["rehearse", &drill, "--plain"]);
    let mut run = Run::with(place, &mut command).await;
    let outcome = run.ends().await;
    assert_eq!(run.console_code().await, Some(0), "{outcome}");
    assert!(outcome["hypothesis"].is_null(), "nothing was tested: {outcome}");
    assert!(!run.has("fault_intended"));
    assert!(run.count("change_intended") >= 3, "out, and back in two stages");
    run.assert_nothing_left(&shop, "rehearsed").await;
}

#[tokio::test]
async fn a_restore_whose_keeper_is_killed_still_knows_what_cannot_be_proved_and_runs_its_commands_again() {
    let (shop, place) = (Shop::open().await, Place::new());
    shop.harm();
    let drill = place.drill("5s");
    let ran = place.file("ran");
    let text = std::fs::read_to_string(&drill).expect("the drill");
    let command = format!(
        "recovery:\n  commands: [{{name: warm, after: release, run: [sh, -c, 'echo once >> {}; sleep 5'], timeout: 30s}}]\n",
        ran.display()
    );
    // Without a baseline a relative limit says nothing: nobody can say that users are well.
    let text = text
        .replace("at_least: 10%", "within: 90%rel")
        .replace("recovery:\n", &command);
    std::fs::write(&drill, text).expect("a drill");
    let args = ["restore", drill.to_str().expect("a path"), "--yes", "--plain"];
    let mut command = place.allclear(&shop, &args);
    let run = Run::with(place, &mut command).await;
    let times = || std::fs::read_to_string(&ran).unwrap_or_default().lines().count();
    until("the command runs", async || times() == 1).await;
    proc::signal(run.keeper().expect("a keeper"), Signal::KILL);
    let outcome = run.ends().await;
    assert!(run.has("taken_over"));
    assert_eq!(
        (&outcome["recovered"], &outcome["exit"]),
        (&"UNKNOWN".into(), &4.into()),
        "{outcome}"
    );
    assert!(times() >= 2, "whether it had done its work was not known");
    assert_eq!(shop.left().await, Vec::<String>::new(), "and all was put back");
}
