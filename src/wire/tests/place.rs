//! Where the socket lies, and who is trusted with it.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use super::{hello, keeper, soon};
use crate::{model::ids::RunId, wire::*};

#[tokio::test]
async fn a_socket_somebody_answers_at_is_kept_and_a_stale_one_is_replaced() {
    let keeper = keeper().await;
    let state = || StateAt { seq: 0, state: () };
    let second = Server::bind(&keeper.path, hello(), Hub::default(), state).await;
    assert!(matches!(second, Err(WireError::InUse { .. })));
    assert!(soon(stop(&keeper.path)).await.unwrap());

    let stale = keeper.path.with_file_name("stale.sock");
    drop(std::os::unix::net::UnixListener::bind(&stale).unwrap());
    assert!(matches!(stop(&stale).await, Err(WireError::NobodyThere { .. })));
    let (server, _asks) = Server::bind(&stale, hello(), Hub::default(), state)
        .await
        .unwrap();
    server.close().await;
}

#[tokio::test]
async fn a_directory_that_others_can_enter_is_not_trusted_by_either_side() {
    let keeper = keeper().await;
    let dir = keeper.path.parent().unwrap();
    assert_eq!(fs::metadata(dir).unwrap().permissions().mode() & 0o777, 0o700);
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    let refused = |error: WireError| matches!(error, WireError::NotOurs { .. });
    assert!(refused(stop(&keeper.path).await.unwrap_err()));
    let other = keeper.path.with_file_name("other.sock");
    let state = || StateAt { seq: 0, state: () };
    assert!(refused(
        Server::bind(&other, hello(), Hub::default(), state)
            .await
            .unwrap_err()
    ));

    fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).unwrap();
    let link = dir.with_file_name("link");
    std::os::unix::fs::symlink(dir, &link).unwrap();
    assert!(refused(stop(&link.join("7f3a01.sock")).await.unwrap_err()));
}

#[test]
fn the_directory_is_short_whatever_the_environment_says() {
    let dir = |xdg: Option<&str>| socket_dir(xdg.map(AsRef::as_ref), 1000).display().to_string();
    assert_eq!(dir(Some("/run/user/1000")), "/run/user/1000/allclear");
    assert_eq!(dir(None), "/tmp/allclear-1000");
    assert_eq!(dir(Some("relative")), "/tmp/allclear-1000");
    assert_eq!(dir(Some(&format!("/{}", "x".repeat(100)))), "/tmp/allclear-1000");
    let run = RunId::new("7f3a01").unwrap();
    assert_eq!(socket_path(Path::new("/d"), &run), Path::new("/d/7f3a01.sock"));
}
