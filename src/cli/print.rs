//! What a command was asked to print. Where it cannot be written the command has failed: half a page with exit code 0 would
//! be taken for the whole.

use std::{
    fmt::Display,
    io::{self, Write},
};

use super::error::Failure;

/// A line on standard output.
pub fn line(line: impl Display) -> Result<(), Failure> {
    writeln!(io::stdout(), "{line}").map_err(Failure::Unwritten)
}

/// A line of JSON on standard output.
pub fn json(value: &impl serde::Serialize) -> Result<(), Failure> {
    line(serde_json::to_string(value).map_err(Failure::usage)?)
}

/// A whole text on standard output.
pub fn bytes(text: &[u8]) -> Result<(), Failure> {
    io::stdout().write_all(text).map_err(Failure::Unwritten)?;
    flush()
}

/// Diagnostics, on standard error: all of them, however slowly they are read. The exit code says that there are some.
pub fn diagnostics(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// What waits to be written, on standard output.
pub fn flush() -> Result<(), Failure> {
    io::stdout().flush().map_err(Failure::Unwritten)
}
