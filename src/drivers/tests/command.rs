//! Commands: real processes.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    drivers::{
        command::{Ended, run},
        error::DriverError,
    },
    model::{
        environment::SecretRef,
        secret::{SecretText, Secrets},
        time::Span,
    },
};

async fn sh(script: &str, limit: Span, secrets: &Secrets) -> Result<Ended, DriverError> {
    let argv = ["sh", "-c", script].map(str::to_owned);
    run(&argv, Path::new("/"), limit, secrets).await
}

#[tokio::test]
async fn exit_code_and_last_line_are_told_with_secrets_masked() {
    let mut secrets = Secrets::none();
    secrets.insert(SecretRef::Env("T".into()), SecretText::new("hunter22"));
    let ended = sh(
        "echo one; printf 'key hunter22\\033[31m'; exit 3",
        Span::seconds(5),
        &secrets,
    )
    .await
    .unwrap();
    assert_eq!(
        ended,
        Ended {
            code: Some(3),
            last_line: "key •••[31m".into()
        }
    );
}

#[tokio::test]
async fn at_the_timeout_the_whole_process_group_dies() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let script = format!("sleep 100 & echo $! > {}; wait", pid_file.display());
    let ended = sh(&script, Span::millis(500), &Secrets::none()).await;
    assert!(matches!(ended, Err(DriverError::TimedOut { .. })));
    dies(&pid_file).await;
}

#[tokio::test]
async fn endless_output_is_bounded_and_a_missing_program_is_named() {
    let ended = sh(
        "yes x | head -c 3000000; echo end",
        Span::seconds(20),
        &Secrets::none(),
    )
    .await
    .unwrap();
    assert_eq!(ended.last_line, "end");
    let argv = ["./no-such-program".to_owned()];
    let error = run(&argv, Path::new("/"), Span::seconds(1), &Secrets::none())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("no-such-program"), "{error}");
}

/// Waits until the file holds a pid.
async fn pid_in(file: &Path) -> i32 {
    let written = async {
        loop {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            if let Some(Ok(pid)) = text.strip_suffix('\n').map(str::parse) {
                return pid;
            }
            tokio::time::sleep(Span::millis(5).into()).await;
        }
    };
    let limit = Span::seconds(20).into();
    tokio::time::timeout(limit, written)
        .await
        .expect("the command started")
}

/// Waits until the process whose pid the file holds is dead.
async fn dies(file: &Path) {
    let pid = pid_in(file).await;
    let gone = async {
        // A zombie waiting for its new parent is dead as well.
        let alive = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            !stat.is_empty() && !stat.contains(") Z ")
        };
        while alive() {
            tokio::time::sleep(Span::millis(5).into()).await;
        }
    };
    let limit = Span::seconds(10).into();
    tokio::time::timeout(limit, gone)
        .await
        .expect("the grandchild died");
}

/// Set for the process that the next test starts from itself: where its command writes a pid.
const PID_FILE: &str = "ALLCLEAR_TEST_PID_FILE";

#[tokio::test]
async fn a_command_dies_with_allclear_even_if_that_is_killed() {
    if let Some(file) = std::env::var_os(PID_FILE) {
        let script = format!("sleep 100 & echo $! > '{}'; wait", Path::new(&file).display());
        let ended = sh(&script, Span::seconds(100), &Secrets::none()).await;
        unreachable!("this process is killed before: {ended:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let mut allclear = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "drivers::tests::command::a_command_dies_with_allclear_even_if_that_is_killed",
        ])
        .env(PID_FILE, &pid_file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    pid_in(&pid_file).await;
    allclear.kill().unwrap();
    allclear.wait().unwrap();
    dies(&pid_file).await;
}

#[tokio::test]
async fn a_command_that_signals_its_whole_group_does_not_slip_its_leash() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let script = format!(
        "trap '' TERM; kill -TERM 0; sleep 100 & echo $! > '{}'; wait",
        pid_file.display()
    );
    let ended = sh(&script, Span::millis(700), &Secrets::none()).await;
    assert!(matches!(ended, Err(DriverError::TimedOut { .. })), "{ended:?}");
    dies(&pid_file).await;
}

#[tokio::test]
async fn half_a_secret_where_output_was_cut_is_not_shown() {
    let mut secrets = Secrets::none();
    secrets.insert(SecretRef::Env("T".into()), SecretText::new("hunter22"));
    // Whatever the place of the cut, some copy of the secret is cut in half.
    let script = "yes hunter22 | tr -d '\\n' | head -c 200003";
    let ended = sh(script, Span::seconds(20), &secrets).await.unwrap();
    assert!(!ended.last_line.contains("ter22"), "{ended:?}");
}
