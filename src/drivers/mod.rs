//! One file per outside system: what it can break, put back and read.
