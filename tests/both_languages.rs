//! Every sentence that a run says stands in both languages, and whoever shows it asks for one of them.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    walk(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder),
        &mut files,
    );
    files
}

fn walk(folder: &Path, files: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).expect("a source folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(&path).expect("a source file");
            files.push((path, text));
        }
    }
}

/// The texts of each `said!` in a file that stand in it directly: the last two are the English and the Chinese one.
fn said(source: &str) -> Vec<Vec<String>> {
    let calls = source.match_indices("said!(").map(|(at, call)| at + call.len());
    calls.map(|at| texts_of_a_call(&source[at..])).collect()
}

fn texts_of_a_call(rest: &str) -> Vec<String> {
    let (mut texts, mut depth) = (Vec::new(), 0);
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                let text = text_of(&mut chars);
                texts.extend((depth == 0).then_some(text));
            }
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => break,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    texts
}

/// What stands up to the closing quote.
fn text_of(chars: &mut impl Iterator<Item = char>) -> String {
    let mut text = String::new();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => text.extend(chars.next()),
            c => text.push(c),
        }
    }
    text
}

/// The text without what is filled in, and the names of that.
fn words_and_places(text: &str) -> (String, BTreeSet<String>) {
    let (mut words, mut places) = (String::new(), BTreeSet::new());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (place, after) = after.split_once('}').expect("a place is closed");
        words.push_str(before);
        places.insert(place.to_owned());
        rest = after;
    }
    (words + rest, places)
}

fn is_chinese(text: &str) -> bool {
    text.chars().any(is_character)
}

fn is_character(c: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&c)
}

/// A half-width mark beside a Chinese word, or a blank beside a full-width mark or between two words.
fn has_misplaced_marks(zh: &str) -> bool {
    let half = |c| ",;:!?()".contains(c);
    let full = |c| "，；：！？（）。、".contains(c);
    let chars: Vec<char> = zh.chars().collect();
    let side_by_side = chars.windows(2).any(|pair| match *pair {
        [a, b] if half(a) || half(b) => is_character(a) || is_character(b),
        [' ', c] | [c, ' '] => full(c),
        _ => false,
    });
    let apart = chars.windows(3).any(|three| match *three {
        [a, ' ', b] => is_character(b) && (is_character(a) || half(a)),
        _ => false,
    });
    side_by_side || apart
}

#[test]
fn every_sentence_has_a_chinese_one_with_the_same_places() {
    let mut seen = 0;
    for (path, source) in sources("") {
        // Where the macro itself is described and tried.
        if path.ends_with("model/said.rs") {
            continue;
        }
        for texts in said(&source) {
            let [.., en, zh] = texts.as_slice() else {
                panic!("{}: one language only: {texts:?}", path.display());
            };
            let ((words, places), (words_zh, places_zh)) = (words_and_places(en), words_and_places(zh));
            assert_eq!(places, places_zh, "{}: {en:?} / {zh:?}", path.display());
            // What only stands on another thing needs a mark in Chinese, and no word.
            let says_something = words.chars().any(char::is_alphabetic) && words.trim() != "on";
            assert!(
                is_chinese(&words_zh) || !says_something,
                "{}: no Chinese for {en:?}",
                path.display()
            );
            assert!(!is_chinese(&words), "{}: {en:?}", path.display());
            // How Rust writes a value is nothing that people read.
            let is_debugged = places.iter().any(|place| place.ends_with('?'));
            assert!(!is_debugged, "{}: {en:?}", path.display());
            assert!(!has_misplaced_marks(zh), "{}: {zh:?}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 550, "only {seen} sentences found");
}

#[test]
fn no_sentence_of_the_program_is_taken_for_something_from_outside() {
    for folder in ["cli", "drill", "drivers", "engine", "journal", "keeper", "view"] {
        for (path, source) in sources(folder) {
            let source = without_tests(&source);
            for (at, call) in source.match_indices("as_it_is(\"") {
                let text = text_of(&mut source[at + call.len()..].chars());
                let alphabetic = text.chars().any(char::is_alphabetic);
                assert!(!alphabetic, "{}: {text:?} is the program's own", path.display());
            }
        }
    }
}

fn without_tests(source: &str) -> &str {
    source.split("#[cfg(test)]\nmod tests").next().unwrap_or(source)
}

#[test]
fn no_screen_shows_english_to_everybody() {
    for folder in ["view", "console", "cli", "report/html"] {
        for (path, source) in sources(folder) {
            let english = source.contains(".en()");
            assert!(!english, "{}: `.get(lang)` is for people", path.display());
        }
    }
}
