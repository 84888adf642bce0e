//! The code map is law: arrows point down only.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Lower numbers lie lower. A module may use modules below it, and its neighbours only where the map says so.
const LAYERS: &[(&str, u8)] = &[
    ("model", 0),
    ("spec", 1),
    ("judge", 2),
    ("drill", 2),
    ("view", 3),
    ("journal", 4),
    ("wire", 4),
    ("metrics", 5),
    ("drivers", 5),
    ("engine", 6),
    ("keeper", 7),
    ("console", 7),
    ("report", 7),
    ("cli", 8),
];

/// What each of these may use at the most, whatever lies below it.
const ONLY: &[(&str, &[&str])] = &[
    ("console", &["wire", "view", "model"]),
    ("range", &["point"]),
    ("point", &[]),
    ("model", &[]),
    ("spec", &["model"]),
    ("judge", &["model"]),
    ("drill", &["model"]),
    ("view", &["model"]),
];

/// What a pure module may not name.
const IMPURE: &[&str] = &[
    "tokio",
    "reqwest",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "Instant::now",
    "SystemTime::now",
    "Timestamp::now",
    "Zoned::now",
];
const PURE: &[&str] = &["model", "spec", "drill", "judge", "view"];

/// Folders and files of tests, which may use what they need.
const TESTS: &[&str] = &["tests", "testing", "story", "fixture"];

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn sources(module: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    walk(&src().join(module), &mut files);
    assert!(
        files.iter().any(|(_, text)| text.contains("pub")),
        "nothing to look at in {module}"
    );
    files
}

fn walk(dir: &Path, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(dir)
        .expect("a source folder")
        .map(|e| e.expect("an entry").path())
    {
        if entry.is_dir() {
            walk(&entry, files);
        } else if entry.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(&entry).expect("a source file");
            let path = entry.strip_prefix(src()).expect("it lies below src");
            files.push((path.display().to_string(), production(path, &text)));
        }
    }
}

/// Whether a path below `src` is one of a test. Where the repository itself lies says nothing.
fn is_test(path: &Path) -> bool {
    let mut names = path.components().map(|part| part.as_os_str().to_string_lossy());
    names.any(|name| TESTS.contains(&name.trim_end_matches(".rs")))
}

/// The file without its tests.
fn production(path: &Path, text: &str) -> String {
    match text.find("#[cfg(test)]\nmod tests {") {
        _ if is_test(path) => String::new(),
        Some(at) => text[..at].to_owned(),
        None => text.to_owned(),
    }
}

/// The crate's modules that a text names: by `crate::NAME`, and inside `use crate::{…}`.
fn used(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for at in text.match_indices("crate::").map(|(at, _)| at + "crate::".len()) {
        let rest = &text[at..];
        if let Some(list) = rest.strip_prefix('{') {
            let mut depth = 0;
            let mut item = String::new();
            for c in list.chars() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => names.push(std::mem::take(&mut item)),
                    _ if depth == 0 => item.push(c),
                    _ => {}
                }
            }
            names.push(item);
        } else {
            names.push(rest.to_owned());
        }
    }
    let word = |text: &String| {
        let text = text.trim();
        text[..text
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(text.len())]
            .to_owned()
    };
    names.iter().map(word).filter(|name| !name.is_empty()).collect()
}

#[test]
fn arrows_point_down_only() {
    let layer: BTreeMap<_, _> = LAYERS.iter().copied().collect();
    for (module, own) in LAYERS {
        for (path, text) in sources(module) {
            for name in used(&text).iter().filter(|n| n != module) {
                if let Some(other) = layer.get(name.as_str()) {
                    assert!(
                        other < own,
                        "{path} uses crate::{name}, which does not lie below {module}"
                    );
                }
            }
        }
    }
}

#[test]
fn what_stands_apart_uses_only_what_it_may() {
    for (module, allowed) in ONLY {
        for (path, text) in sources(module) {
            for name in used(&text).iter().filter(|n| n != module) {
                assert!(allowed.contains(&name.as_str()), "{path} uses crate::{name}");
            }
        }
    }
    for (module, _) in LAYERS.iter().filter(|(m, _)| *m != "cli") {
        for (path, text) in sources(module) {
            let apart = used(&text)
                .into_iter()
                .find(|n| n == "range" || n == "point" || n == "cli");
            assert_eq!(apart, None, "{path}: only cli knows the range");
        }
    }
}

#[test]
fn the_pure_parts_know_no_clock_no_runtime_and_no_files() {
    for module in PURE {
        for (path, text) in sources(module) {
            for word in IMPURE {
                assert!(!text.contains(word), "{path} names {word}");
            }
        }
    }
}

#[test]
fn only_a_whole_name_makes_a_file_a_test() {
    for path in [
        "engine/tests/mod.rs",
        "model/testing.rs",
        "journal/story/opening.rs",
    ] {
        assert!(is_test(Path::new(path)), "{path}");
    }
    for path in ["drill/history.rs", "engine/contests.rs", "drill/machine/mod.rs"] {
        assert!(!is_test(Path::new(path)), "{path}");
    }
}

#[test]
fn the_scan_sees_nested_imports() {
    let text = "use crate::{\n    a::{b, c},\n    d,\n};\nfn f() { crate::e::g() }";
    assert_eq!(used(text), ["a", "d", "e"]);
}
