//! State directories that cannot be used, and a disk that fills up in mid-run.

use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
};

use rustix::process::Signal;

use crate::{
    place::Place,
    proc,
    run::Run,
    shop::{ALLCLEAR, Shop, until},
};

/// Tries to run and expects a refusal before anything begins.
async fn refused(shop: &Shop, place: &Place, because: &str) {
    let drill = place.drill("1200ms");
    let mut command = place.allclear(shop, &["run", "--plain", drill.to_str().expect("a path")]);
    let output = command.output().expect("run");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(2 | 5)), "{output:?}");
    assert!(said.contains(because), "{said}");
    assert!(proc::under(&place.state()).is_empty());
    assert!(shop.left().await.is_empty());
}

#[tokio::test]
async fn a_state_directory_that_cannot_be_used_is_refused_before_the_start() {
    let shop = Shop::open().await;
    let place = Place::new();
    fs::write(place.state(), "a file").expect("a file");
    refused(&shop, &place, "is not a directory").await;
    assert_eq!(fs::read(place.state()).expect("the file"), b"a file", "untouched");

    let place = Place::new();
    fs::create_dir(place.state()).expect("a folder");
    fs::set_permissions(place.state(), fs::Permissions::from_mode(0o777)).expect("opened to all");
    refused(&shop, &place, "others").await;
    assert_eq!(
        fs::read_dir(place.state()).expect("a folder").count(),
        0,
        "untouched"
    );
}

/// Starts a run whose state lies on a small disk, in a mount namespace of its own that outlives it.
async fn on_a_small_disk(shop: &Shop, fault: &str) -> Run {
    let place = Place::new();
    fs::create_dir(place.state()).expect("a folder");
    let drill = place.drill(fault);
    let script = "mount -t tmpfs -o size=1536k,mode=0700 tmpfs \"$1\" && code=\"$2\" && shift 2 || exit 1
        \"$@\" < /dev/null; echo $? > \"$code\"; exec cat > /dev/null";
    let mut command = Command::new("unshare");
    command
        .args(["-rm", "sh", "-c", script, "sh"])
        .arg(place.state())
        .arg(place.file("code"));
    command.args([
        ALLCLEAR,
        "run",
        "--plain",
        drill.to_str().expect("a path"),
        "--state-dir",
    ]);
    command.arg(place.state()).arg("--config").arg(shop.config());
    command
        .env("XDG_RUNTIME_DIR", place.runtime())
        .stdin(Stdio::piped())
        .stdout(Stdio::null());
    let inside = command.spawn().expect("unshare (of util-linux)");
    Run::inside(place, inside).await
}

/// Fills its disk to the last byte.
fn fill(run: &Run) {
    for (n, size) in [65536, 4096, 512, 1].into_iter().enumerate() {
        let path = run.state().join(format!("filler-{n}"));
        let Ok(mut file) = fs::File::create(path) else {
            continue;
        };
        while file.write_all(&vec![7; size]).is_ok() {}
    }
}

async fn live_on_a_full_disk(shop: &Shop) -> Run {
    let run = on_a_small_disk(shop, "10m").await;
    run.until_has("fault_live").await;
    shop.is_harmed().await;
    fill(&run);
    run
}

#[tokio::test]
async fn a_disk_that_fills_up_in_mid_fault_ends_the_fault_and_recovery_completes() {
    let shop = Shop::open().await;
    let run = live_on_a_full_disk(&shop).await;
    // The next record brings the readings so far to the disk, which has no room for them.
    let code = run.place.file("code");
    assert!(proc::signal(run.deadman().expect("a deadman"), Signal::KILL));
    until("the run is over", async || code.exists()).await;
    let outcome = run.ends().await;
    assert!(!outcome["cause"]["journal"].is_null(), "{outcome}");
    run.assert_nothing_left(&shop, "full disk").await;
    let out = run.place.file("evidence");
    let mut export = Command::new(ALLCLEAR);
    export
        .args(["export", "--out"])
        .arg(&out)
        .arg("--state-dir")
        .arg(run.state());
    let exported = export.output().expect("export");
    assert!(exported.status.success(), "{exported:?}");
    let manifest = fs::read_to_string(out.join("manifest.json")).expect("a manifest");
    let manifest: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
    let missing = manifest["missing"].as_array().expect("a list");
    assert!(
        missing.iter().any(|m| m.to_string().contains("missing")),
        "{missing:?}"
    );
}

#[tokio::test]
async fn the_keeper_killed_on_a_full_disk_is_replaced_all_the_same() {
    let shop = Shop::open().await;
    let run = live_on_a_full_disk(&shop).await;
    let keeper = run.keeper().expect("a keeper");
    assert!(proc::signal(keeper, Signal::KILL));
    run.ends().await;
    run.assert_nothing_left(&shop, "keeper killed on a full disk")
        .await;
}
