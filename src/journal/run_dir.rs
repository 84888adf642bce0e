//! The directory of one run: what is where, and what is written once.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use crate::model::{
    environment::SecretRef,
    plan::Plan,
    secret::{SecretText, Secrets},
};

use super::{
    durable::{new_private_file, read_bounded, sync_dir, write_whole},
    error::StateError,
};

/// Bytes set aside for the journal's last words on a full disk.
pub const BALLAST: usize = 64 * 1024;

/// The largest plan or secrets file that is read, in bytes.
const MAX_FILE: u64 = 16 << 20;

/// The directory of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDir(PathBuf);

impl RunDir {
    /// The files of a run that lie in `path`: a run's own directory, or an exported one.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The plan, `plan.json`.
    pub fn plan_file(&self) -> PathBuf {
        self.0.join("plan.json")
    }

    /// Every event that is not a reading, `journal.jsonl`.
    pub fn journal_file(&self) -> PathBuf {
        self.0.join("journal.jsonl")
    }

    /// The readings, `samples.jsonl`.
    pub fn samples_file(&self) -> PathBuf {
        self.0.join("samples.jsonl")
    }

    /// The lock of the run's keeper.
    pub fn keeper_lock_file(&self) -> PathBuf {
        self.0.join("keeper.lock")
    }

    pub(super) fn ballast_file(&self) -> PathBuf {
        self.0.join("ballast")
    }

    fn secrets_file(&self) -> PathBuf {
        self.0.join("secrets.json")
    }

    fn socket_file(&self) -> PathBuf {
        self.0.join("socket")
    }

    /// Makes a new run's directory, durably, with its plan, its secrets (if any) and its ballast.
    pub(super) fn create(path: PathBuf, plan: &Plan, secrets: &Secrets) -> Result<Self, StateError> {
        let made = fs::DirBuilder::new().mode(0o700).create(&path);
        match made {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                return Err(StateError::RunExists {
                    run: plan.run.clone(),
                });
            }
            other => other.map_err(StateError::doing("create", &path))?,
        }
        let run = Self(path);
        match run.fill(plan, secrets) {
            Ok(()) => Ok(run),
            Err(e) => {
                let _ = fs::remove_dir_all(&run.0);
                Err(e)
            }
        }
    }

    fn fill(&self, plan: &Plan, secrets: &Secrets) -> Result<(), StateError> {
        let ballast = self.ballast_file();
        new_private_file(&ballast)
            .and_then(|mut file| {
                file.write_all(&[0; BALLAST])?;
                file.sync_all()
            })
            .map_err(StateError::doing("write", &ballast))?;
        let entries: Vec<(&SecretRef, &SecretText)> = secrets.iter().collect();
        if !entries.is_empty() {
            write_whole(&self.secrets_file(), &json(&entries))?;
        }
        write_whole(&self.plan_file(), &json(plan))?;
        self.0.parent().map_or(Ok(()), sync_dir)
    }

    /// The plan as it was written.
    ///
    /// # Errors
    /// [`StateError::Io`] if it cannot be read, [`StateError::Damaged`] if it is not a plan.
    pub fn plan(&self) -> Result<Plan, StateError> {
        parse(&self.plan_file(), &read_bounded(&self.plan_file(), MAX_FILE)?)
    }

    /// The secrets that were looked up when the run began; none once it is closed.
    ///
    /// # Errors
    /// As for [`RunDir::plan`]. The error never shows a secret.
    pub fn secrets(&self) -> Result<Secrets, StateError> {
        let path = self.secrets_file();
        let bytes = match read_bounded(&path, MAX_FILE) {
            Err(StateError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(Secrets::none());
            }
            other => other?,
        };
        let entries: Vec<(SecretRef, SecretText)> =
            serde_json::from_slice(&bytes).map_err(|_| StateError::Damaged {
                path,
                why: "it does not hold secrets".to_owned(),
            })?;
        let mut secrets = Secrets::none();
        for (place, text) in entries {
            secrets.insert(place, text);
        }
        Ok(secrets)
    }

    /// Removes the secrets. Nothing happens if there are none.
    ///
    /// # Errors
    /// If the file is there and cannot be removed.
    pub fn remove_secrets(&self) -> Result<(), StateError> {
        self.remove(&self.secrets_file())
    }

    fn remove(&self, path: &Path) -> Result<(), StateError> {
        match fs::remove_file(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(StateError::io("remove", path, e)),
            Ok(()) => sync_dir(&self.0),
        }
    }

    /// Keeps the path of the keeper's socket, so that a console in another environment finds it.
    ///
    /// # Errors
    /// If it cannot be written; the run can go on.
    pub fn record_socket(&self, socket: &Path) -> Result<(), StateError> {
        use std::os::unix::ffi::OsStrExt;
        write_whole(&self.socket_file(), socket.as_os_str().as_bytes())
    }

    /// Forgets the keeper's socket: the run is over. Nothing happens if none was recorded.
    ///
    /// # Errors
    /// If the file is there and cannot be removed.
    pub fn forget_socket(&self) -> Result<(), StateError> {
        self.remove(&self.socket_file())
    }

    /// The path that [`RunDir::record_socket`] kept, if it is an absolute one.
    pub fn socket(&self) -> Option<PathBuf> {
        use std::os::unix::ffi::OsStringExt;
        let bytes = read_bounded(&self.socket_file(), 4096).ok()?;
        let path = PathBuf::from(std::ffi::OsString::from_vec(bytes));
        path.is_absolute().then_some(path)
    }
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("plans and secrets have no keys but strings");
    bytes.push(b'\n');
    bytes
}

fn parse<T: serde::de::DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, StateError> {
    serde_json::from_slice(bytes).map_err(|e| StateError::Damaged {
        path: path.to_owned(),
        why: e.to_string(),
    })
}
