//! What is said on the way to something that must be done: a reader that has gone or reads no more, or a full disk, keeps
//! nobody from it.

use std::{
    fmt::Display,
    io::{self, Write},
    sync::mpsc,
    thread,
    time::Duration,
};

/// How long a text waits for a reader who has stopped reading. A terminal takes one at once.
const PATIENCE: Duration = Duration::from_millis(250);

/// A line on standard output, if that takes one. `println!` would panic where it does not.
pub fn out(line: impl Display) {
    write(io::stdout(), format!("{line}\n"));
}

/// A line on standard error, if that takes one.
pub fn err(line: impl Display) {
    write(io::stderr(), format!("{line}\n"));
}

/// A text that has its own ends of lines, on standard error.
pub fn err_text(text: impl Display) {
    write(io::stderr(), text.to_string());
}

/// Writes in a thread that nobody waits for longer than [`PATIENCE`]. It may sleep in the write for good.
fn write(mut to: impl Write + Send + 'static, text: String) {
    let (done, written) = mpsc::channel();
    let writing = move || {
        let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
        let _ = done.send(());
    };
    // Without a thread nothing is said: what must be done is worth more than the words about it.
    if thread::Builder::new().name("say".into()).spawn(writing).is_ok() {
        let _ = written.recv_timeout(PATIENCE);
    }
}
