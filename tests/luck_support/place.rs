//! A place for the files of one test: state, sockets, configuration. What still runs there is ended with it.

use std::{fs, path::PathBuf, process::Stdio};

use tempfile::TempDir;
use tokio::process::Command;

use super::{Ended, Program};

pub struct Place {
    dir: TempDir,
}

impl Place {
    /// A place with this configuration.
    pub fn with(config: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let place = Self { dir };
        fs::create_dir(place.path("xdg")).expect("made");
        place.file("allclear.yaml", config);
        place.file("dashboards/shop.yaml", include_str!("../../dashboards/shop.yaml"));
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// Writes a file and gives its path.
    pub fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, text).expect("written");
        path
    }

    /// A command of allclear's that lives here and knows nothing else.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allclear"));
        command
            .args(args)
            .current_dir(self.dir.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .env("XDG_RUNTIME_DIR", self.path("xdg"))
            .env("ALLCLEAR_STATE_DIR", self.state())
            .stdin(Stdio::null());
        command
    }

    pub fn start(&self, args: &[&str]) -> Program {
        Program::start(self.command(args))
    }

    pub async fn run(&self, args: &[&str]) -> Ended {
        self.start(args).ended().await
    }

    /// The process ids of what runs here.
    pub fn processes(&self) -> Vec<i32> {
        let state = self.state().display().to_string();
        let of = |entry: fs::DirEntry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            String::from_utf8_lossy(&line).contains(&state).then_some(pid)
        };
        fs::read_dir("/proc")
            .expect("/proc")
            .flatten()
            .filter_map(of)
            .collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Stopped first, all of them: none must see another die and take over for it.
        for signal in [rustix::process::Signal::STOP, rustix::process::Signal::KILL] {
            for pid in self.processes() {
                if let Some(pid) = rustix::process::Pid::from_raw(pid) {
                    let _ = rustix::process::kill_process(pid, signal);
                }
            }
        }
    }
}
