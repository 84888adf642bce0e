//! Starting a keeper: detached, in a session of its own, so that it outlives the terminal and the console.

use std::{
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::journal::RunDir;

/// What a keeper says on its standard output once consoles can attach.
pub const READY: &str = "READY";

/// Why a keeper did not start.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The process could not be made.
    #[error(
        "the keeper could not be started: {0}; check the limits on processes and memory, nothing was touched"
    )]
    Spawn(#[from] io::Error),
    /// It said why.
    #[error("{0}")]
    Refused(String),
    /// It said nothing.
    #[error(
        "the keeper ended without a word, and nothing was touched; the last lines of {log} say why, then start again"
    )]
    Silent {
        /// The log's path.
        log: String,
    },
}

/// This program's file, also when it has been replaced since.
pub(super) fn own_binary() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    Ok(if path.exists() {
        path
    } else {
        PathBuf::from("/proc/self/exe")
    })
}

/// Starts the keeper of a run and waits until consoles can attach.
///
/// # Errors
/// [`LaunchError`]; nothing was touched then.
pub fn launch(state: &Path, run: &RunDir, recover: bool) -> Result<(), LaunchError> {
    let mut command = Command::new(own_binary()?);
    command
        .arg("keeper")
        .arg("--state-dir")
        .arg(state)
        .arg("--run-dir")
        .arg(run.path());
    if recover {
        command.arg("--recover");
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn()?;
    let Some(stdout) = child.stdout.take() else {
        return Err(LaunchError::Spawn(io::Error::other("a keeper without a pipe")));
    };
    let mut said = String::new();
    BufReader::new(stdout.take(64 * 1024)).read_line(&mut said)?;
    match said.trim_end() {
        READY => Ok(()),
        "" => {
            let log = run.path().join("keeper.log").display().to_string();
            Err(LaunchError::Silent { log })
        }
        why => Err(LaunchError::Refused(why.to_owned())),
    }
}
