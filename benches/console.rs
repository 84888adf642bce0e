//! The console on a real terminal, with the real binary and a real run on the built-in range:
//!
//! 1. from the start of the binary to the first whole frame, for `attach` and for `demo`; the bound is 100 ms,
//! 2. the CPU of a console that looks at a run for 20 s; the bound is 1 % of a core.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(
    clippy::disallowed_types,
    reason = "a bench measures what passes while the machine is awake, and there is no engine to ask"
)]

use std::{
    io::{BufRead, BufReader, Read, Write},
    num::NonZeroU16,
    path::Path,
    process::{Command, ExitCode, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant},
};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};

#[path = "stand/bound.rs"]
mod bound;

const BINARY: &str = env!("CARGO_BIN_EXE_allclear");
const PATIENCE: Duration = Duration::from_secs(60);
const FRAMES: usize = 15;
const DEMOS: usize = 5;
const IDLE: Duration = Duration::from_secs(20);
const FIRST_FRAME: Duration = Duration::from_millis(100);

/// A console inside a terminal; killed when dropped.
struct Console {
    child: Box<dyn Child + Send + Sync>,
    writer: Box<dyn Write + Send>,
    bytes: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    _master: Box<dyn MasterPty + Send>,
    started: Instant,
}

impl Drop for Console {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).expect("a size")
}

impl Console {
    fn start(home: &Path, args: &[&str]) -> Self {
        let size = PtySize {
            rows: 24,
            cols: 80,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).expect("a terminal");
        let mut reader = pair.master.try_clone_reader().expect("its output");
        let writer = pair.master.take_writer().expect("its keyboard");
        let (send, bytes) = channel();
        std::thread::spawn(move || {
            let mut chunk = [0; 65_536];
            while let Ok(count @ 1..) = reader.read(&mut chunk) {
                if send.send(chunk[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let mut command = CommandBuilder::new(BINARY);
        command.args(args);
        command.env("ALLCLEAR_STATE_DIR", home.join("state"));
        command.env("XDG_RUNTIME_DIR", home);
        command.env("TERM", "xterm-256color");
        let started = Instant::now();
        let child = pair.slave.spawn_command(command).expect("the binary");
        Self {
            child,
            writer,
            bytes,
            screen: vt100::Parser::new(cells(24), cells(80), 0),
            _master: pair.master,
            started,
        }
    }

    /// Reads on until the screen satisfies `holds`; when that was, since the start.
    fn until(&mut self, what: &str, holds: impl Fn(&str) -> bool) -> Duration {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(chunk) = self.bytes.recv_timeout(left) else {
                panic!("no {what} on:\n{}", self.screen.screen().contents());
            };
            let at = self.started.elapsed();
            self.screen.process(&chunk);
            if holds(&self.screen.screen().contents()) {
                return at;
            }
        }
    }

    fn press(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).expect("the keyboard");
    }

    /// Throws away what is shown, for that long.
    fn look(&mut self, during: Duration) {
        let end = Instant::now() + during;
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            match self.bytes.recv_timeout(left) {
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("the console has gone"),
            }
        }
    }

    fn leave(mut self) {
        self.press("q");
        let deadline = Instant::now() + PATIENCE;
        while !matches!(self.child.try_wait(), Ok(Some(_))) {
            assert!(Instant::now() < deadline, "the console does not leave");
            let _ = self.bytes.recv_timeout(Duration::from_millis(20));
        }
    }

    fn pid(&self) -> u32 {
        self.child.process_id().expect("a child")
    }
}

/// A frame is whole once its last line, the keys, is there.
fn is_frame(screen: &str) -> bool {
    screen.contains("allclear") && screen.contains("? help")
}

/// A demo whose run is looked at; put back and ended when dropped.
struct Demo {
    process: std::process::Child,
}

impl Drop for Demo {
    fn drop(&mut self) {
        if let Some(pid) = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.process.wait();
    }
}

impl Demo {
    /// Starts one and waits until its baseline is watched.
    fn start(home: &Path) -> Self {
        let process = Command::new(BINARY)
            .args(["demo", "--plain"])
            .env("ALLCLEAR_STATE_DIR", home.join("state"))
            .env("XDG_RUNTIME_DIR", home)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary");
        let mut demo = Self { process };
        let mut lines = BufReader::new(demo.process.stdout.take().expect("a pipe")).lines();
        let begun = lines.find(|l| l.as_ref().is_ok_and(|l| l.contains("BASELINE")));
        assert!(begun.is_some(), "the demo's baseline does not begin");
        std::thread::spawn(move || lines.for_each(drop));
        demo
    }
}

/// Processor time of all threads of a process.
fn cpu(pid: u32) -> Duration {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("a process");
    let of_one = |task: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    };
    Duration::from_nanos(tasks.filter_map(of_one).sum())
}

fn tell_first_frames(what: &str, mut took: Vec<Duration>) {
    took.sort();
    let median = took[took.len() / 2];
    println!(
        "first frame of {what:<7} {median:.0?} (least {:.0?}, worst {:.0?} of {}; bound {FIRST_FRAME:?}: {})",
        took[0],
        took[took.len() - 1],
        took.len(),
        bound::word(median <= FIRST_FRAME)
    );
}

fn attach(home: &Path) {
    let _demo = Demo::start(home);
    let took = (0..FRAMES)
        .map(|_| {
            let mut console = Console::start(home, &["attach"]);
            let took = console.until("frame", is_frame);
            console.leave();
            took
        })
        .collect();
    tell_first_frames("attach", took);
    let mut console = Console::start(home, &["attach"]);
    console.until("baseline", |screen| screen.contains("BASELINE"));
    let (begin, before) = (Instant::now(), cpu(console.pid()));
    console.look(IDLE);
    let used = cpu(console.pid()) - before;
    let share = 100.0 * used.as_secs_f64() / begin.elapsed().as_secs_f64();
    println!(
        "a console looks for {IDLE:?} at a baseline: {share:.2} % of a core (bound 1 %: {})",
        bound::word(share < 1.0)
    );
    console.leave();
}

/// One demo at its beginning: nothing is injected yet, so that it ends at once.
fn one_demo() -> Duration {
    let home = tempfile::tempdir().expect("a directory");
    let mut console = Console::start(home.path(), &["demo", "--quick"]);
    let took = console.until("frame", is_frame);
    console.until("run", |screen| {
        screen.contains("PREFLIGHT") || screen.contains("BASELINE")
    });
    console.leave();
    let ended = Command::new(BINARY)
        .arg("recover")
        .env("ALLCLEAR_STATE_DIR", home.path().join("state"))
        .env("XDG_RUNTIME_DIR", home.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    assert!(ended.is_ok(), "the demo cannot be ended");
    took
}

fn demo() {
    tell_first_frames("demo", (0..DEMOS).map(|_| one_demo()).collect());
}

fn main() -> ExitCode {
    let home = tempfile::tempdir().expect("a directory");
    attach(home.path());
    demo();
    bound::code()
}
