//! The write-ahead log of a run on disk.
