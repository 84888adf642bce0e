//! A terminal in which a shell runs `allclear`, and tells its exit code as people see it: by `$?`.

use std::{
    io::{Read, Write},
    path::PathBuf,
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::Signal;
use tokio::time::{Instant, sleep};

use crate::{
    place::Place,
    proc,
    shop::{ALLCLEAR, Shop},
};

/// Ctrl-C reaches the shell as well, which has to outlive it.
const SHELL: &str = r#"trap : INT; "$0" "$@"; echo "code $?, over""#;

pub struct Terminal {
    shell: Box<dyn Child + Send + Sync>,
    keyboard: Box<dyn Write + Send>,
    screen: Receiver<Vec<u8>>,
    told: String,
    state: PathBuf,
    _terminal: Box<dyn MasterPty + Send>,
}

impl Terminal {
    /// `allclear` with these words, on that shop and in that place.
    pub fn runs(shop: &Shop, place: &Place, words: &[&str]) -> Self {
        let size = PtySize {
            rows: 50,
            cols: 200,
            ..PtySize::default()
        };
        let pty = native_pty_system().openpty(size).expect("a terminal");
        let mut command = CommandBuilder::new("sh");
        command.args(["-c", SHELL, ALLCLEAR]);
        command.args(words);
        command.arg("--state-dir");
        command.arg(place.state());
        command.arg("--config");
        command.arg(shop.config());
        command.env("XDG_RUNTIME_DIR", place.runtime());
        command.env("TERM", "xterm");
        command.env_remove("ALLCLEAR_LOG");
        let shell = pty.slave.spawn_command(command).expect("a shell");
        drop(pty.slave);
        let mut reader = pty.master.try_clone_reader().expect("a reader");
        let (send, screen) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if send.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            shell,
            keyboard: pty.master.take_writer().expect("a writer"),
            screen,
            told: String::new(),
            state: place.state(),
            _terminal: pty.master,
        }
    }

    /// All that stood on the screen so far.
    pub fn told(&self) -> &str {
        &self.told
    }

    pub fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("typed");
        self.keyboard.flush().expect("typed");
    }

    /// Waits until this stands on the screen.
    pub async fn until(&mut self, text: &str) {
        let deadline = Instant::now() + Duration::from_secs(90);
        loop {
            for bytes in self.screen.try_iter() {
                self.told.push_str(&String::from_utf8_lossy(&bytes));
            }
            if self.told.contains(text) {
                return;
            }
            assert!(Instant::now() < deadline, "never came: {text}\n{}", self.told);
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits for the end, and gives its exit code.
    pub async fn code(&mut self) -> u32 {
        self.until(", over").await;
        let said = self.told.rsplit("code ").next().expect("the last word");
        let code = said.split(',').next().expect("a number");
        code.parse().expect("a number")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A shell that has ended is only reaped.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
        // Of a test that failed in mid-run.
        for process in proc::under(&self.state) {
            proc::signal(process.pid, Signal::KILL);
        }
    }
}
