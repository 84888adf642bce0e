//! The TUI and the plain reporter.
