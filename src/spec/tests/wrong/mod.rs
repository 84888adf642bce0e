//! Wrong files, each with what is said about it. The example file is changed in one place.

mod configuration;
mod dashboard;
mod drill;
mod file;

use super::*;

fn table(example: &str, cases: &[(&str, &str, &str)], read: impl Fn(&str) -> Vec<Diagnostic>) -> String {
    let mut out = String::new();
    for (name, from, to) in cases {
        let found = read(&with(example, from, to));
        assert!(!found.is_empty(), "{name}: nothing was said");
        out.push_str(&format!("━━━ {name}\n"));
        for diagnostic in &found {
            out.push_str(&rendered(diagnostic));
        }
    }
    out
}

fn said<T>(result: Result<Read<T>, Diagnostics>) -> Vec<Diagnostic> {
    match result {
        Ok(read) => read.warnings,
        Err(diagnostics) => diagnostics.all,
    }
}
