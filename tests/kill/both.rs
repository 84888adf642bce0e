//! Keeper and deadman killed at once: the fault ends by itself, and the debt is told until it is paid.

use std::{
    fs,
    io::{BufRead, BufReader, PipeReader, PipeWriter, Write, pipe},
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use allclear::{
    journal::{KeeperLock, RunDir},
    model::{ids::RunId, time::Span},
};
use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    process::Signal,
};
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    proc,
    run::Run,
    shop::{ALLCLEAR, Shop, until},
};

async fn both_killed(shop: &Shop, fault: &str) -> Run {
    let mut run = Run::start(shop, fault).await;
    run.kill_console();
    run.until_has("fault_live").await;
    shop.is_harmed().await;
    let (deadman, keeper) = (run.deadman().expect("a deadman"), run.keeper().expect("a keeper"));
    assert!(proc::signal(deadman, Signal::KILL) && proc::signal(keeper, Signal::KILL));
    until("nobody is left", async || run.processes().is_empty()).await;
    run
}

/// `recover` as from another terminal: no configuration, no variable of the first one.
fn recover_from_elsewhere(run: &Run) -> (Option<i32>, String) {
    let mut command = Command::new(ALLCLEAR);
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env_clear().env("PATH", path).current_dir("/");
    let output = command
        .arg("recover")
        .arg("--state-dir")
        .arg(run.place.state())
        .output()
        .expect("recover");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), said)
}

#[tokio::test]
async fn both_killed_the_fault_expires_and_what_is_owed_is_told_and_paid() {
    let shop = Shop::open().await;
    let run = both_killed(&shop, "4s").await;
    // Nine seconds after it was made the instance drops it; there is nobody else to do it.
    shop.no_rules_within(Duration::from_secs(15), Instant::now())
        .await;
    assert!(
        !shop.left().await.is_empty(),
        "flags and breakers are as the drill left them"
    );

    let listed = run.place.allclear(&shop, &["runs"]).output().expect("runs");
    let said = String::from_utf8_lossy(&listed.stderr).into_owned();
    assert!(said.contains(&format!("OWED: run {}", run.id())), "{said}");
    assert!(said.contains("order-0"), "{said}");

    let (code, said) = recover_from_elsewhere(&run);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.trim_end().ends_with("ALL CLEAR"), "{said}");
    run.ends().await;
    run.assert_nothing_left(&shop, "recovered from elsewhere").await;

    let records = run.records();
    let (code, said) = recover_from_elsewhere(&run);
    assert_eq!(code, Some(0));
    assert!(said.starts_with("nothing to recover"), "{said}");
    let named = run
        .place
        .allclear(&shop, &["recover", &run.id()])
        .output()
        .expect("recover");
    assert_eq!(named.status.code(), Some(0));
    let said = String::from_utf8_lossy(&named.stdout).into_owned();
    assert!(said.contains("nothing was changed"), "{said}");
    assert_eq!(run.records(), records);
    let listed = run.place.allclear(&shop, &["runs"]).output().expect("runs");
    assert!(!String::from_utf8_lossy(&listed.stderr).contains("OWED"));
}

#[tokio::test]
async fn both_killed_recover_ends_a_fault_that_is_still_live() {
    let shop = Shop::open().await;
    let run = both_killed(&shop, "10m").await;
    assert!(!shop.rules().await.is_empty(), "the fault is live");
    // Another drill on the same environment would stand on a broken system.
    let drill = run.place.drill("1200ms");
    let second = run
        .place
        .allclear(&shop, &["run", "--plain", drill.to_str().expect("a path")])
        .output();
    let second = second.expect("run");
    assert_eq!(second.status.code(), Some(5), "{second:?}");
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(said.contains(&format!("allclear recover {}", run.id())), "{said}");
    let (code, said) = recover_from_elsewhere(&run);
    assert_eq!(code, Some(0), "{said}");
    run.ends().await;
    run.assert_nothing_left(&shop, "recovered from elsewhere").await;
}

#[tokio::test]
async fn recover_starts_a_keeper_when_the_one_it_tells_is_gone_before_it_hears() {
    let shop = Shop::open().await;
    let run = both_killed(&shop, "10m").await;
    // As in the moment in which a killed keeper still has its lock.
    let dir = RunDir::at(run.dir().expect("a run"));
    let id = RunId::new(&run.id()).expect("an id");
    let lock =
        KeeperLock::take_within(&dir, &id, std::process::id(), Span::seconds(5)).expect("nobody has it");
    let mut command = run.place.allclear(&shop, &["recover"]);
    let mut recover = command.stdout(Stdio::piped()).spawn().expect("recover");
    let mut said = BufReader::new(recover.stdout.take().expect("a pipe")).lines();
    let first = said.next().expect("a line").expect("text");
    assert!(first.contains("is told"), "{first}");
    drop(lock);
    let rest: Vec<String> = said.map(|line| line.expect("text")).collect();
    assert_eq!(recover.wait().expect("a child").code(), Some(0), "{rest:?}");
    assert!(rest[0].contains("a new one puts everything back"), "{rest:?}");
    run.ends().await;
    run.assert_nothing_left(&shop, "recovered after all").await;
}

#[tokio::test]
async fn a_damaged_journal_is_no_reason_to_think_that_nothing_was_done() {
    let shop = Shop::open().await;
    let run = both_killed(&shop, "10m").await;
    let path = run.dir().expect("a run").join("journal.jsonl");
    let journal = std::fs::read_to_string(&path).expect("a journal");
    assert!(journal.contains("fault_intended"));
    std::fs::write(&path, journal.replace("fault_intended", "fault_intendeX")).expect("damaged");
    let (code, said) = recover_from_elsewhere(&run);
    // All is put back that the plan knows of; that this was all is not claimed.
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("journal damaged"), "{said}");
    assert_eq!(run.ends().await["recovered"], "UNKNOWN");
    assert_eq!(shop.left().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_deadman_whose_keeper_is_gone_already_takes_its_new_parent_for_nobody() {
    let shop = Shop::open().await;
    let run = both_killed(&shop, "10m").await;
    // Its parent is this test: were it taken for the keeper, the test would be killed.
    let mut deadman = run.place.allclear(&shop, &["deadman", "--keeper", "1"]);
    let status = deadman
        .arg("--run-dir")
        .arg(run.dir().expect("a run"))
        .status()
        .expect("a deadman");
    assert_eq!(status.code(), Some(0));
    run.ends().await;
    run.assert_nothing_left(&shop, "taken over").await;
}

#[tokio::test]
async fn recover_puts_everything_back_although_nothing_can_be_said_of_it() {
    let shop = Shop::open().await;
    let run = both_killed(&shop, "10m").await;
    let full = || {
        fs::File::options()
            .write(true)
            .open("/dev/full")
            .expect("a device")
    };
    let mut command = run.place.allclear(&shop, &["recover", &run.id()]);
    let status = command.stdout(full()).stderr(full()).status().expect("recover");
    // Nobody has watched it to its end.
    assert_eq!(status.code(), Some(4));
    run.ends().await;
    run.assert_nothing_left(&shop, "recovered in silence").await;
}

/// Moves what `run` has left to where another run was left, as a run on another environment.
fn left_beside(other: &Run, run: &Run) -> PathBuf {
    let to = other.place.state().join("runs").join(run.id());
    fs::rename(run.dir().expect("a run"), &to).expect("moved");
    let plan = fs::read_to_string(to.join("plan.json")).expect("a plan");
    let mut plan: Value = serde_json::from_str(&plan).expect("JSON");
    plan["environment"]["name"] = "the-other-shop".into();
    fs::write(to.join("plan.json"), plan.to_string()).expect("written");
    to
}

/// A pipe that takes not one byte more. Its reader must live, and reads nothing.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = pipe().expect("a pipe");
    let flags = fcntl_getfl(&writer).expect("flags");
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).expect("set");
    while writer.write(&[b'.'; 4096]).is_ok() {}
    while writer.write(b".").is_ok() {}
    fcntl_setfl(&writer, flags).expect("set");
    (reader, writer)
}

#[tokio::test]
async fn all_runs_are_put_back_at_once_though_nobody_reads_a_word_of_it() {
    let (shop, other) = tokio::join!(Shop::open(), Shop::open());
    let run = both_killed(&shop, "10m").await;
    let second = both_killed(&other, "10m").await;
    let moved = left_beside(&run, &second);
    let (_reader, writer) = full_pipe();
    let mut command = run.place.allclear(&shop, &["recover"]);
    let mut recover = command.stdout(writer).spawn().expect("recover");
    run.ends().await;
    run.assert_nothing_left(&shop, "unread").await;
    until("the second run is over", async || {
        let journal = fs::read_to_string(moved.join("journal.jsonl")).unwrap_or_default();
        journal.contains("\"closed\"")
    })
    .await;
    assert_eq!(other.left().await, Vec::<String>::new());
    let asked = tokio::task::spawn_blocking(move || recover.wait());
    let asked = tokio::time::timeout(Duration::from_secs(60), asked).await;
    let code = asked
        .expect("it waits for no reader")
        .expect("a thread")
        .expect("a child")
        .code();
    assert_eq!(code, Some(0));
}
