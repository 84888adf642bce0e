//! The process that owns a run, and the deadman that watches it.
