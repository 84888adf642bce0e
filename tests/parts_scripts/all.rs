//! `scripts/parts WORD`: all parts together. Two of them stand for all, in a repository of their own.

use std::{fs, os::unix::fs::symlink, path::Path};

use tokio::process::Command;

use crate::{
    part::{Said, repository, said},
    parts_support::free_ports,
};

async fn parts(root: &Path, words: &[&str], port: u16) -> Said {
    let mut command = Command::new(root.join("scripts/parts"));
    command
        .args(words)
        .env("PART_PORT", port.to_string())
        .env_remove("PART_DIR");
    said(command).await
}

#[tokio::test]
async fn one_that_does_not_start_fails_the_whole_and_keeps_no_other_from_starting() {
    let root = tempfile::Builder::new()
        .prefix("parts-")
        .tempdir_in("/tmp")
        .unwrap();
    let root = root.path();
    fs::create_dir_all(root.join("scripts/part")).unwrap();
    for script in ["parts", "taken", "part/haproxy", "part/prometheus"] {
        let script = format!("scripts/{script}");
        symlink(repository(&script), root.join(&script)).unwrap();
    }
    // Both are told to begin at the same port.
    let port = free_ports(&[0, 1, 2, 3]);
    let up = parts(root, &["up"], port).await;
    let status = parts(root, &["status"], port).await;
    let down = parts(root, &["down"], port).await;
    assert!(!up.is_well, "{up:?}");
    let taken = format!("prometheus: port {port} of 127.0.0.1 is taken");
    assert!(up.text.contains(&taken), "{up:?}");
    assert!(!status.is_well, "{status:?}");
    for said in ["lb-a is up", "lb-b is up", "prometheus is down"] {
        assert!(status.text.contains(said), "{status:?}");
    }
    assert!(down.is_well, "{down:?}");
    let after = parts(root, &["haproxy", "status"], port).await;
    assert!(!after.is_well, "{after:?}");
}

#[tokio::test]
async fn a_part_or_a_word_that_nobody_knows_is_answered_with_those_that_are_known() {
    let root = repository("");
    for words in [
        &["nobody", "up"][..],
        &["redis", "dance"],
        &["dance"],
        &[],
        &["redis", "up", "now"],
    ] {
        let said = parts(&root, words, 1).await;
        assert!(!said.is_well, "{words:?}");
        assert!(
            said.text.contains("fetch|up|down|status") && said.text.contains("prometheus"),
            "{words:?}: {said:?}"
        );
    }
}
