//! Lines of bounded length on a byte stream.

use tokio_util::{
    bytes::{Buf, BytesMut},
    codec::Decoder,
};

use super::{
    error::WireError,
    message::{SNAPSHOT, STOP},
};

/// Cuts a byte stream into lines of UTF-8.
#[derive(Debug)]
pub(super) struct Lines {
    max: usize,
    /// So far the buffer has no newline up to here.
    searched: usize,
}

impl Lines {
    /// Lines of at most `max` bytes.
    pub(super) fn new(max: usize) -> Self {
        Self { max, searched: 0 }
    }
}

impl Decoder for Lines {
    type Item = String;
    type Error = WireError;

    fn decode(&mut self, buffer: &mut BytesMut) -> Result<Option<String>, WireError> {
        let newline = buffer.iter().skip(self.searched).position(|b| *b == b'\n');
        let Some(at) = newline.map(|at| self.searched + at) else {
            self.searched = buffer.len();
            return if buffer.len() > self.max {
                Err(WireError::TooLong { max: self.max })
            } else {
                Ok(None)
            };
        };
        self.searched = 0;
        if at > self.max {
            return Err(WireError::TooLong { max: self.max });
        }
        let line = buffer.split_to(at);
        buffer.advance(1);
        text(&line).map(Some)
    }

    /// A last line without its newline was cut, and half a frame is none. But a plain word is clear enough.
    fn decode_eof(&mut self, buffer: &mut BytesMut) -> Result<Option<String>, WireError> {
        if let Some(line) = self.decode(buffer)? {
            return Ok(Some(line));
        }
        let rest = text(&buffer.split())?;
        Ok(Some(rest).filter(|word| word == STOP || word == SNAPSHOT))
    }
}

fn text(line: &[u8]) -> Result<String, WireError> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    String::from_utf8(line.to_vec()).map_err(|e| WireError::Unreadable { why: e.to_string() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Feeds the bytes in pieces, as a socket does.
    fn lines(bytes: &[u8], piece: usize, max: usize) -> Vec<Result<String, String>> {
        let mut codec = Lines::new(max);
        let mut buffer = BytesMut::new();
        let mut out = Vec::new();
        for part in bytes.chunks(piece.max(1)) {
            buffer.extend_from_slice(part);
            loop {
                match codec.decode(&mut buffer) {
                    Ok(Some(line)) => out.push(Ok(line)),
                    Ok(None) => break,
                    Err(e) => {
                        out.push(Err(e.to_string()));
                        return out;
                    }
                }
            }
        }
        match codec.decode_eof(&mut buffer) {
            Ok(last) => out.extend(last.map(Ok)),
            Err(e) => out.push(Err(e.to_string())),
        }
        out
    }

    #[test]
    fn half_a_frame_at_the_end_is_none_but_a_plain_word_is_clear() {
        assert_eq!(lines(b"{}\r\n{\"half", 3, 99), [Ok("{}".to_owned())]);
        assert_eq!(lines(b"STOP", 1, 99), [Ok("STOP".to_owned())]);
        assert_eq!(lines(b"STOPPER", 1, 99), []);
    }

    proptest! {
        #[test]
        fn any_pieces_give_the_same_lines(texts in proptest::collection::vec("[^\r\n]{0,30}", 0..20), piece in 1usize..40) {
            let bytes: String = texts.iter().map(|t| format!("{t}\n")).collect();
            let expected: Vec<_> = texts.into_iter().map(Ok).collect();
            prop_assert_eq!(lines(bytes.as_bytes(), piece, 200), expected);
        }

        #[test]
        fn any_bytes_never_panic_and_never_give_a_longer_line(
            bytes in proptest::collection::vec(any::<u8>(), 0..500), piece in 1usize..40,
        ) {
            for line in lines(&bytes, piece, 20).into_iter().flatten() {
                prop_assert!(line.len() <= 20);
            }
        }

        #[test]
        fn a_line_over_the_limit_is_an_error_before_it_is_whole(extra in 1usize..1000, piece in 1usize..40) {
            let out = lines(&vec![b'x'; 20 + extra], piece, 20);
            prop_assert!(matches!(&out[..], [Err(_)]));
        }
    }
}
