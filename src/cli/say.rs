//! What is said on the way to something that must be done: a reader that has gone, or a full disk, keeps nobody from it.

use std::{
    fmt::Display,
    io::{self, Write},
};

/// A line on standard output, if that takes one. `println!` would panic where it does not.
pub fn out(line: impl Display) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// A line on standard error, if that takes one.
pub fn err(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// A text that has its own ends of lines, on standard error.
pub fn err_text(text: impl Display) {
    let _ = write!(io::stderr(), "{text}");
}
