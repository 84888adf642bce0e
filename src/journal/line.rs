//! One line of a run's files: eight hexadecimal digits of CRC-32 (IEEE) over the JSON, a space, the JSON, a newline.

use std::io::{self, BufRead, Read};

use crate::model::event::Event;

use super::error::JournalError;

/// The longest line, with its checksum and newline, in bytes. Nothing longer is written or read.
pub const MAX_LINE: usize = 1 << 20;

const CHECKSUM: usize = 8;

/// Encodes an event.
///
/// # Errors
/// [`JournalError::TooLong`], and [`JournalError::NotReadable`] if JSON cannot say it.
pub fn encode(event: &Event) -> Result<Vec<u8>, JournalError> {
    let unreadable = |e: serde_json::Error| JournalError::NotReadable {
        seq: event.seq,
        why: e.to_string(),
    };
    let json = serde_json::to_vec(event).map_err(unreadable)?;
    let line = frame(&json);
    if line.len() > MAX_LINE {
        return Err(JournalError::TooLong {
            seq: event.seq,
            bytes: line.len(),
        });
    }
    Ok(line)
}

/// Puts the checksum before some JSON, and a newline behind it.
pub fn frame(json: &[u8]) -> Vec<u8> {
    let mut line = format!("{:08x} ", crc32fast::hash(json)).into_bytes();
    line.extend_from_slice(json);
    line.push(b'\n');
    line
}

/// Decodes a line without its newline.
///
/// # Errors
/// In words, what is wrong with it.
pub fn decode(line: &[u8]) -> Result<Event, String> {
    let json = checked(line)?;
    serde_json::from_slice(json).map_err(|e| format!("its checksum is right, but it is not an event: {e}"))
}

/// The JSON of a line without its newline, if the checksum is right.
///
/// # Errors
/// In words, what is wrong with it.
pub fn checked(line: &[u8]) -> Result<&[u8], String> {
    let (digits, rest) = line
        .split_at_checked(CHECKSUM)
        .ok_or("too short for a checksum")?;
    let json = rest.strip_prefix(b" ").ok_or("no checksum before it")?;
    let digits = std::str::from_utf8(digits).map_err(|_| "no checksum before it")?;
    let said = u32::from_str_radix(digits, 16).map_err(|_| "no checksum before it")?;
    match crc32fast::hash(json) {
        is if is == said => Ok(json),
        is => Err(format!("its checksum is {is:08x}, not {said:08x}")),
    }
}

/// What a reader finds.
#[derive(Debug, PartialEq, Eq)]
pub enum Raw {
    /// A line, without its newline.
    Line(Vec<u8>),
    /// A line that was longer than [`MAX_LINE`]; it was passed over.
    TooLong,
    /// The file ends in the middle of a line of that many bytes: a write that was cut.
    Torn(u64),
}

/// Reads the next line, never more than [`MAX_LINE`] bytes of it into memory. `None` at the end.
pub fn next_raw(reader: &mut impl BufRead) -> io::Result<Option<Raw>> {
    let mut line = Vec::new();
    let limit = MAX_LINE as u64;
    let read = reader.by_ref().take(limit).read_until(b'\n', &mut line)? as u64;
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Some(Raw::Line(line)));
    }
    if read == 0 {
        return Ok(None);
    }
    if read < limit {
        return Ok(Some(Raw::Torn(read)));
    }
    Ok(Some(match pass_over_line(reader)? {
        (_, true) => Raw::TooLong,
        (more, false) => Raw::Torn(read + more),
    }))
}

/// Passes over the rest of a line: how many bytes, and whether its newline was found.
fn pass_over_line(reader: &mut impl BufRead) -> io::Result<(u64, bool)> {
    let mut passed = 0;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok((passed, false));
        }
        let newline = buffer.iter().position(|b| *b == b'\n');
        let used = newline.map_or(buffer.len(), |at| at + 1);
        reader.consume(used);
        passed += used as u64;
        if newline.is_some() {
            return Ok((passed, true));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Vec<Raw> {
        let mut reader = bytes;
        std::iter::from_fn(|| next_raw(&mut reader).unwrap()).collect()
    }

    #[test]
    fn lines_come_one_by_one_and_a_torn_one_is_told_apart() {
        assert_eq!(
            all(b"one\n\ntwo\nthr"),
            [
                Raw::Line(b"one".into()),
                Raw::Line(vec![]),
                Raw::Line(b"two".into()),
                Raw::Torn(3)
            ]
        );
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_one_is_read() {
        let mut bytes = vec![b'x'; 3 * MAX_LINE];
        bytes.extend_from_slice(b"\nnext\n");
        assert_eq!(all(&bytes), [Raw::TooLong, Raw::Line(b"next".into())]);
    }

    #[test]
    fn a_changed_byte_is_noticed() {
        let mut line = frame(br#"{"a":1}"#);
        line.pop();
        assert!(checked(&line).is_ok());
        for at in 0..line.len() {
            let mut changed = line.clone();
            changed[at] ^= 1;
            assert!(checked(&changed).is_err(), "byte {at}");
        }
    }

    #[test]
    fn a_number_comes_back_to_the_last_bit() {
        // Quotas of brokers are such: bytes by a part of a window.
        for part in 1..200 {
            for bytes in [65_536.0, 1_000_000.0, 9_830_400.0] {
                let quota = bytes / f64::from(part);
                let line = serde_json::to_vec(&quota).unwrap();
                assert_eq!(serde_json::from_slice::<f64>(&line).unwrap(), quota);
            }
        }
    }
}
