//! The directory of the sockets goes while a fault is live, and then the keeper dies.

use std::{fs, process::Command, time::Duration};

use rustix::process::Signal;
use tokio::time::Instant;

use crate::{
    place::Place,
    proc,
    run::Run,
    shop::{ALLCLEAR, Shop},
};

/// From the kill to the last rule.
const BOUND: Duration = Duration::from_secs(10);

/// The warnings of a run whose login's directory is removed before its keeper is killed. Its commands begin with `before`.
async fn without_its_directory(before: &[&str]) -> Vec<String> {
    let shop = Shop::open().await;
    let place = Place::new();
    let drill = place.drill("10m");
    let mut command = Command::new(before[0]);
    command.args(&before[1..]).args(["run", "--plain"]).arg(&drill);
    command.arg("--state-dir").arg(place.state());
    command.arg("--config").arg(shop.config());
    command.env("XDG_RUNTIME_DIR", place.runtime());
    let mut run = Run::with(place, &mut command).await;
    run.until_has("fault_live").await;
    run.kill_console();
    fs::remove_dir_all(run.place.runtime()).expect("removed");
    let keeper = run.keeper().expect("a keeper");
    assert!(proc::signal(keeper, Signal::KILL));
    shop.no_rules_within(BOUND, Instant::now()).await;
    run.ends().await;
    run.assert_nothing_left(&shop, "no directory for sockets").await;
    let warnings = run.journal().into_iter();
    let texts = warnings.filter_map(|e| Some(e["body"]["warning"].as_str()?.to_owned()));
    texts.collect()
}

#[tokio::test]
async fn a_keeper_whose_logins_directory_has_gone_is_replaced_at_another_place() {
    let warnings = without_its_directory(&[ALLCLEAR]).await;
    let about_consoles = warnings.iter().filter(|w| w.contains("no console can attach"));
    assert_eq!(about_consoles.count(), 0, "{warnings:?}");
}

#[tokio::test]
async fn a_keeper_is_replaced_where_no_socket_can_be_bound_at_all() {
    // Whoever sees it there can enter it, so that no socket is put there.
    let script =
        "mkdir -p -m 0700 /tmp/allclear-0 && mount -t tmpfs -o mode=0777 tmpfs /tmp/allclear-0 || exit 1
        exec \"$@\" < /dev/null";
    let warnings = without_its_directory(&["unshare", "-rm", "sh", "-c", script, "sh", ALLCLEAR]).await;
    let about_consoles = warnings.iter().filter(|w| w.contains("no console can attach"));
    assert_eq!(about_consoles.count(), 1, "{warnings:?}");
}
