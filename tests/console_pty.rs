//! The TUI on a real terminal: keys, a resize, Chinese, and the terminal given back after leaving, after a signal and
//! after a panic. This program is both sides: it starts itself as the child inside the pty.
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test program with its own main: it reports, and it may fail"
)]

use std::{
    io::{Read, Write},
    num::NonZeroU16,
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use allclear::{
    console::{Ask, Colour, Incoming, Link, Options, run},
    model::{said::Said, text::Lang, time::Moment},
};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};
use story::Story;

#[path = "console/story/mod.rs"]
mod story;

/// The longest silence of the child before a test gives up.
const SILENCE: Duration = Duration::from_secs(20);
const LEFT: [&str; 3] = ["\u{1b}[?1049l", "\u{1b}[?2004l", "\u{1b}[?25h"];

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).is_some_and(|a| a == "child") {
        return child(&args[2]);
    }
    let tests: [(&str, fn()); 6] = [
        (
            "a_key_reaches_the_keeper_and_q_gives_the_terminal_back",
            key_and_leave,
        ),
        ("a_paste_with_r_in_it_asks_for_nothing", paste),
        ("a_resize_draws_a_whole_frame_of_the_new_size", resize),
        ("chinese_stands_in_its_cells", chinese),
        ("a_signal_gives_the_terminal_back", signals),
        ("a_panic_gives_the_terminal_back_before_it_is_told", panics),
    ];
    let wanted = args.iter().skip(1).find(|a| !a.starts_with('-'));
    for (name, test) in tests {
        if wanted.is_none_or(|w| name.contains(w.as_str())) {
            test();
            println!("test {name} ... ok");
        }
    }
}

/// A keeper inside the child: tells one state, then what it was asked.
struct Keeper {
    state: Option<Box<allclear::view::RunView>>,
    panics: bool,
    asked: Vec<Ask>,
}

impl Link for Keeper {
    async fn next(&mut self) -> Option<Incoming> {
        match self.state.take() {
            Some(state) => Some(Incoming::State(state)),
            None if self.panics => panic!("a fault of our own"),
            None => std::future::pending().await,
        }
    }

    async fn send(&mut self, ask: Ask) -> Result<(), Said> {
        self.asked.push(ask);
        Err(Said::as_it_is(format!("asked {}", self.asked.len())))
    }
}

fn child(what: &str) {
    let terminal = || {
        format!(
            "{:?}",
            rustix::termios::tcgetattr(std::io::stdin()).unwrap().local_modes
        )
    };
    let before = terminal();
    let options = Options {
        lang: if what == "zh" { Lang::Zh } else { Lang::En },
        colour: Colour::None,
        read_only: false,
        coach: false,
        now: || Moment(0),
        zone: jiff::tz::TimeZone::UTC,
    };
    let keeper = Keeper {
        state: Some(Box::new(Story::running().view())),
        panics: what == "panic",
        asked: Vec::new(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        runtime.block_on(run(keeper, options))
    }));
    let how = match ended {
        Ok(end) => format!("{:?}", end.unwrap()),
        Err(_) => "panicked".to_owned(),
    };
    println!("child: {how}, terminal as before: {}", before == terminal());
}

/// The child's terminal, seen from outside.
struct Outside {
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    bytes: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    raw: String,
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

fn start(what: &str) -> Outside {
    let size = PtySize {
        rows: 24,
        cols: 80,
        pixel_width: 0,
        pixel_height: 0,
    };
    let pair = native_pty_system().openpty(size).unwrap();
    let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
    command.args(["child", what]);
    let child = pair.slave.spawn_command(command).unwrap();
    let mut reader = pair.master.try_clone_reader().unwrap();
    let (send, bytes) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count) = reader.read(&mut buffer) {
            if count == 0 || send.send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    Outside {
        writer: pair.master.take_writer().unwrap(),
        master: pair.master,
        child,
        bytes,
        screen: vt100::Parser::new(cells(24), cells(80), 0),
        raw: String::new(),
    }
}

impl Outside {
    fn wait_for(&mut self, what: &str, seen: impl Fn(&Outside) -> bool) {
        while !seen(self) {
            let Ok(bytes) = self.bytes.recv_timeout(SILENCE) else {
                panic!("never came: {what}\n{}", self.screen.screen().contents());
            };
            self.screen.process(&bytes);
            self.raw.push_str(&String::from_utf8_lossy(&bytes));
        }
    }

    fn wait_for_text(&mut self, text: &str) {
        self.wait_for(text, |o| o.screen.screen().contents().contains(text));
    }

    fn send(&mut self, text: &str) {
        self.writer.write_all(text.as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    /// Waits for the child's last words, and checks that the terminal was given back before them.
    fn given_back(mut self, how: &str) -> String {
        self.wait_for("the child's last words", |o| {
            o.raw.contains("terminal as before: ")
        });
        let last = format!("child: {how}, terminal as before: true");
        assert!(self.raw.contains(&last), "{}", self.raw);
        for sequence in LEFT {
            let given = self.raw.rfind(sequence);
            assert!(
                given < self.raw.find("child: ") && given.is_some(),
                "{sequence:?}: {:?}",
                self.raw
            );
        }
        assert!(!self.screen.screen().alternate_screen());
        assert!(self.child.wait().unwrap().success());
        self.raw
    }
}

fn key_and_leave() {
    let mut outside = start("run");
    outside.wait_for_text("1 fault LIVE");
    outside.send("r");
    outside.wait_for_text("NO ANSWER from the keeper");
    outside.send("q");
    outside.given_back("Left");
}

fn paste() {
    let mut outside = start("run");
    outside.wait_for_text("1 fault LIVE");
    outside.send("\u{1b}[200~order r R\u{1b}[201~");
    outside.wait_for_text("paste ignored");
    assert!(!outside.screen.screen().contents().contains("NO ANSWER"));
    outside.send("q");
    outside.given_back("Left");
}

fn resize() {
    let mut outside = start("run");
    outside.wait_for_text("1 fault LIVE");
    for (rows, cols) in [(5, 20), (60, 200), (16, 60)] {
        outside.screen.screen_mut().set_size(cells(rows), cells(cols));
        let size = PtySize {
            rows,
            cols,
            pixel_width: 0,
            pixel_height: 0,
        };
        outside.master.resize(size).unwrap();
        let wanted = if rows == 5 { "guard BAD 1" } else { "? help" };
        outside.wait_for(wanted, |o| {
            let contents = o.screen.screen().contents();
            contents
                .lines()
                .last()
                .is_some_and(|l| l.contains("r STOP+RECOVER"))
                && contents.contains(wanted)
        });
    }
    outside.send("q");
    outside.given_back("Left");
}

fn chinese() {
    let mut outside = start("zh");
    outside.wait_for_text("演练中");
    outside.wait_for_text("不符预期");
    let screen = outside.screen.screen();
    let column = |text: &str| {
        screen.rows(0, 80).find_map(|row| {
            let at = row.find(text)?;
            Some(unicode_width::UnicodeWidthStr::width(&row[..at]))
        })
    };
    assert_eq!(column("结论"), column("不符预期"), "{}", screen.contents());
    outside.send("q");
    outside.given_back("Left");
}

fn signals() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let mut outside = start("run");
        outside.wait_for_text("1 fault LIVE");
        let id = outside.child.process_id().unwrap();
        kill_process(Pid::from_raw(id as i32).unwrap(), signal).unwrap();
        outside.given_back("TornAway");
    }
}

fn panics() {
    let raw = start("panic").given_back("panicked");
    let told = raw.find("a fault of our own").unwrap();
    assert!(raw.find(LEFT[0]).unwrap() < told, "{raw:?}");
}
