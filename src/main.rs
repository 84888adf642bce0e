//! The `allclear` binary: everything is in the library, so that tests and benches reach it.

fn main() {}
