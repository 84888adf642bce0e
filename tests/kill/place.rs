//! A folder for a run, and commands on it.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};

use tempfile::TempDir;

use crate::shop::{ALLCLEAR, Shop};

/// A folder for a run's state and its socket.
pub struct Place {
    folder: TempDir,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("ack")
            .tempdir_in("/tmp")
            .expect("a folder");
        fs::DirBuilder::new()
            .create(folder.path().join("rt"))
            .expect("a folder");
        Self { folder }
    }

    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub fn runtime(&self) -> PathBuf {
        self.folder.path().join("rt")
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The sockets that are still there.
    pub fn sockets(&self) -> Vec<String> {
        let entries = fs::read_dir(self.runtime().join("allclear"));
        let names = entries.into_iter().flatten().flatten();
        names
            .map(|e| e.file_name().to_string_lossy().into_owned())
            .collect()
    }

    /// A command on this place.
    pub fn allclear(&self, shop: &Shop, args: &[&str]) -> Command {
        let mut command = Command::new(ALLCLEAR);
        command
            .args(args)
            .arg("--state-dir")
            .arg(self.state())
            .arg("--config")
            .arg(shop.config())
            .env("XDG_RUNTIME_DIR", self.runtime())
            .env_remove("ALLCLEAR_LOG")
            .stdin(Stdio::null());
        command
    }

    /// The drill, with a fault that lasts for so long.
    pub fn drill(&self, fault: &str) -> PathBuf {
        let path = self.file("killed.yaml");
        fs::write(&path, include_str!("killed.yaml").replace("FAULT", fault)).expect("a drill");
        path
    }
}
