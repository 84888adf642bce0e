//! RESP2 frames: commands in, answers out.

/// Most words of a command.
const MAX_WORDS: usize = 100_000;
/// Longest word, bytes.
const MAX_WORD: usize = 1024 * 1024;

/// What stands at the start of the bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    /// A command's words, and how many bytes it took. Empty lines are commands of no words.
    Command(Vec<Vec<u8>>, usize),
    /// More bytes are needed.
    Incomplete,
    /// Not RESP.
    Broken(&'static str),
}

/// A line without its CRLF (or LF), and the bytes it took.
fn line(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let text = &bytes[..end];
    Some((text.strip_suffix(b"\r").unwrap_or(text), end + 1))
}

fn number(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Reads one command: an array of bulk strings, or an inline line.
pub(super) fn parse(bytes: &[u8]) -> Parsed {
    let Some((first, mut used)) = line(bytes) else {
        return if bytes.len() > MAX_WORD {
            Parsed::Broken("too big inline request")
        } else {
            Parsed::Incomplete
        };
    };
    let Some(count) = first.strip_prefix(b"*") else {
        let words = first
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        return Parsed::Command(words.map(<[u8]>::to_vec).collect(), used);
    };
    let Some(count) = number(count).filter(|count| *count <= MAX_WORDS) else {
        return Parsed::Broken("invalid multibulk length");
    };
    let mut words = Vec::new();
    for _ in 0..count {
        let Some((head, taken)) = line(&bytes[used..]) else {
            return Parsed::Incomplete;
        };
        let Some(length) = head.strip_prefix(b"$") else {
            return Parsed::Broken("expected '$'");
        };
        let Some(length) = number(length).filter(|length| *length <= MAX_WORD) else {
            return Parsed::Broken("invalid bulk length");
        };
        let from = used + taken;
        let Some(word) = bytes.get(from..from + length) else {
            return Parsed::Incomplete;
        };
        match bytes.get(from + length..from + length + 2) {
            Some(b"\r\n") => {}
            Some(_) => return Parsed::Broken("expected CRLF after a bulk string"),
            None => return Parsed::Incomplete,
        }
        words.push(word.to_vec());
        used = from + length + 2;
    }
    Parsed::Command(words, used)
}

pub(super) fn simple(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(format!("+{text}\r\n").as_bytes());
}

/// An error; what the client sent must not break the line.
pub(super) fn error(out: &mut Vec<u8>, text: &str) {
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    out.extend_from_slice(format!("-{text}\r\n").as_bytes());
}

pub(super) fn integer(out: &mut Vec<u8>, n: i64) {
    out.extend_from_slice(format!(":{n}\r\n").as_bytes());
}

pub(super) fn bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(format!("${}\r\n", bytes.len()).as_bytes());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

pub(super) fn null(out: &mut Vec<u8>) {
    out.extend_from_slice(b"$-1\r\n");
}

/// The head of an array; its items follow.
pub(super) fn array(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(format!("*{length}\r\n").as_bytes());
}
