//! allclear on a terminal, as a person has it: what stands on the screen, and the keys.

use std::{
    io::{Read, Write},
    num::NonZeroU16,
    time::Duration,
};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::{Instant, timeout_at},
};

const ROWS: u16 = 24;
const COLS: u16 = 80;

pub struct Screen {
    writer: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    bytes: UnboundedReceiver<Vec<u8>>,
    parser: vt100::Parser,
    _master: Box<dyn MasterPty + Send>,
}

impl Screen {
    /// Starts the command on a terminal of 80×24.
    pub fn open(command: &tokio::process::Command) -> Self {
        let size = PtySize {
            rows: ROWS,
            cols: COLS,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).expect("a terminal");
        let command = command.as_std();
        let mut on_it = CommandBuilder::new(command.get_program());
        on_it.args(command.get_args());
        on_it.env_clear();
        for (name, value) in command.get_envs() {
            on_it.env(name, value.unwrap_or_default());
        }
        on_it.env("TERM", "xterm-256color");
        on_it.cwd(command.get_current_dir().expect("it has a place"));
        let child = pair.slave.spawn_command(on_it).expect("the binary starts");
        let mut reader = pair.master.try_clone_reader().expect("a reader");
        let (send, bytes) = unbounded_channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count) = reader.read(&mut buffer) {
                if count == 0 || send.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let cells = |count| NonZeroU16::new(count).expect("not zero");
        Self {
            writer: pair.master.take_writer().expect("a writer"),
            child,
            bytes,
            parser: vt100::Parser::new(cells(ROWS), cells(COLS), 0),
            _master: pair.master,
        }
    }

    /// Waits until this stands on the screen, and gives the screen.
    pub async fn shows(&mut self, text: &str, within: Duration) -> String {
        let deadline = Instant::now() + within;
        loop {
            let screen = self.parser.screen().contents();
            if screen.contains(text) {
                return screen;
            }
            match timeout_at(deadline, self.bytes.recv()).await {
                Ok(Some(bytes)) => self.parser.process(&bytes),
                _ => panic!("`{text}` did not come within {within:?}:\n{screen}"),
            }
        }
    }

    pub fn press(&mut self, key: &str) {
        self.writer.write_all(key.as_bytes()).expect("a key");
        self.writer.flush().expect("a key");
    }

    /// Waits for its end: the exit code.
    pub async fn ended(mut self) -> u32 {
        let waiting = tokio::task::spawn_blocking(move || self.child.wait());
        let ended = tokio::time::timeout(Duration::from_secs(60), waiting).await;
        let status = ended.expect("it ends in time").expect("it is waited for");
        status.expect("it is waited for").exit_code()
    }
}
