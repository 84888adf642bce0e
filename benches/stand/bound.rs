//! Whether the bounds of a bench are met. It prints all its figures first, and ends with 1 if one is not.

use std::{
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering::SeqCst},
};

static MISSED: AtomicBool = AtomicBool::new(false);

/// The word that stands after a figure with a bound.
pub fn word(is_met: bool) -> &'static str {
    if is_met {
        return "met";
    }
    MISSED.store(true, SeqCst);
    "MISSED"
}

/// What the bench ends with: 1 if any bound was missed.
pub fn code() -> ExitCode {
    ExitCode::from(u8::from(MISSED.load(SeqCst)))
}
