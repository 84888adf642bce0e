use proptest::prelude::*;

use super::Databases;
use super::commands::Session;
use super::frame::{Parsed, parse};
use super::glob::matches;

fn talk(lines: &[&str]) -> String {
    let databases = Databases::new();
    let mut session = Session::new(&databases);
    let mut said = String::new();
    for line in lines {
        let words: Vec<Vec<u8>> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        let mut out = Vec::new();
        session.answer(&words, &mut out);
        said += &format!(
            "{line} => {}\n",
            String::from_utf8_lossy(&out).replace("\r\n", " ").trim_end()
        );
    }
    said
}

#[test]
fn commands_answer_as_redis_does() {
    insta::assert_snapshot!(talk(&[
        "PING",
        "hello 3",
        "CLIENT SETINFO LIB-NAME redis-rs",
        "SELECT 3",
        "SELECT 16",
        "SELECT 0",
        "SET flag on EX 600",
        "TTL flag",
        "SET flag off XX KEEPTTL",
        "TTL flag",
        "SET flag again NX",
        "GET flag",
        "SET flag x EX 0",
        "SET flag x EX 9999999999999",
        "SET flag x FOO",
        "PERSIST flag",
        "TTL flag",
        "EXPIRE flag -1",
        "EXISTS flag flag",
        "INCR n",
        "INCRBY n x",
        "MGET n absent",
        "HSET h a 1 b 2",
        "HSET h a",
        "HGETALL h",
        "GET h",
        "TYPE h",
        "TYPE absent",
        "DBSIZE",
        "UNLINK n h absent",
        "SCAN 0",
        "SCAN x",
        "SCAN 0 COUNT 0",
        "ACL DRYRUN default unlink k",
        "ACL DRYRUN nobody unlink k",
        "GET",
        "FROBNICATE a",
    ]));
}

#[test]
fn a_scan_finds_every_key_that_stays_while_others_go() {
    let databases = Databases::new();
    let mut session = Session::new(&databases);
    let mut run = |line: String| {
        let words: Vec<Vec<u8>> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        let mut out = Vec::new();
        session.answer(&words, &mut out);
        String::from_utf8(out).unwrap()
    };
    (0..100).for_each(|n| drop(run(format!("SET k{n} v"))));
    let (mut cursor, mut found) = ("0".to_owned(), Vec::new());
    loop {
        let said = run(format!("SCAN {cursor} COUNT 7"));
        let lines: Vec<&str> = said.split("\r\n").collect();
        cursor = lines[2].to_owned();
        found.extend(
            lines[4..]
                .iter()
                .filter(|line| line.starts_with('k'))
                .map(|key| (*key).to_owned()),
        );
        // What was found is deleted at once, as a flag driver does.
        found.iter().for_each(|key| drop(run(format!("DEL {key}"))));
        if cursor == "0" {
            break;
        }
    }
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 100);
}

#[test]
fn globs_match_as_in_redis() {
    for (pattern, text, expected) in [
        ("degrade:order:*", "degrade:order:order-0:campaign-7", true),
        ("degrade:order:*", "degrade:cart:1", false),
        ("*", "", true),
        ("a?c", "abc", true),
        ("a?c", "ac", false),
        ("[a-c]x", "bx", true),
        ("[^a-c]x", "bx", false),
        ("[^a-c]x", "dx", true),
        ("\\*", "*", true),
        ("\\*", "x", false),
        ("*a*b*", "xxaxxbxx", true),
        ("*ab", "aab", true),
        ("[ab", "b", true),
    ] {
        assert_eq!(
            matches(pattern.as_bytes(), text.as_bytes()),
            expected,
            "{pattern} on {text}"
        );
    }
}

proptest! {
    #[test]
    fn any_bytes_are_parsed_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Parsed::Command(_, used) = parse(&bytes) {
            prop_assert!(used > 0 && used <= bytes.len());
        }
    }

    #[test]
    fn a_command_survives_its_frame_however_it_is_cut(words in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..20), 1..5), cut in 0_usize..100) {
        let mut frame = format!("*{}\r\n", words.len()).into_bytes();
        for word in &words {
            frame.extend(format!("${}\r\n", word.len()).into_bytes());
            frame.extend(word);
            frame.extend(b"\r\n");
        }
        let cut = cut % frame.len();
        prop_assert_eq!(parse(&frame[..cut]), Parsed::Incomplete);
        prop_assert_eq!(parse(&frame), Parsed::Command(words, frame.len()));
    }

    #[test]
    fn a_text_matches_itself_escaped_and_a_star(text in "[a-z*?\\[\\]\\\\]{0,12}") {
        let escaped: String = text.chars().flat_map(|c| ['\\', c]).collect();
        prop_assert!(matches(escaped.as_bytes(), text.as_bytes()));
        prop_assert!(matches(b"*", text.as_bytes()));
    }

    #[test]
    fn any_command_is_answered(words in proptest::collection::vec("[ -~]{0,8}", 1..5)) {
        let databases = Databases::new();
        let mut out = Vec::new();
        let words: Vec<Vec<u8>> = words.into_iter().map(String::into_bytes).collect();
        Session::new(&databases).answer(&words, &mut out);
        prop_assert!(out.ends_with(b"\r\n"));
    }
}
