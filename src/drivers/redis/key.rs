//! A key, and the slot of a cluster that it lies in.

use std::fmt;

use crate::model::text::harmless;

/// How many slots a cluster has.
pub(super) const SLOTS: u16 = 16_384;

/// A key. Shown with every byte that is not plain text as `\xNN`, so that two keys never look the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Vec<u8>);

impl Key {
    /// A key of these bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The key that is shown so.
    pub fn shown_as(shown: &str) -> Self {
        let mut bytes = Vec::with_capacity(shown.len());
        let mut rest = shown;
        while let Some((before, after)) = rest.split_once("\\x") {
            bytes.extend(before.bytes());
            let byte = after.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
            bytes.extend(byte);
            rest = if byte.is_some() { &after[2..] } else { after };
        }
        bytes.extend(rest.bytes());
        Self(bytes)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Its slot: the checksum of its hash tag, or of all of it
    /// (<https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags>).
    pub(super) fn slot(&self) -> u16 {
        let tag = || {
            let open = self.0.iter().position(|b| *b == b'{')?;
            let inside = &self.0[open + 1..];
            let length = inside.iter().position(|b| *b == b'}')?;
            (length > 0).then(|| &inside[..length])
        };
        checksum(tag().unwrap_or(&self.0)) % SLOTS
    }
}

/// CRC-16/XMODEM.
fn checksum(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum, byte| {
        (0..8).fold(sum ^ (u16::from(*byte) << 8), |sum, _| {
            let carry = sum & 0x8000 != 0;
            (sum << 1) ^ if carry { 0x1021 } else { 0 }
        })
    })
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                if c == '\\' || harmless(c.encode_utf8(&mut [0; 4]), 1) != c.to_string() {
                    c.encode_utf8(&mut [0; 4])
                        .bytes()
                        .try_for_each(|b| write!(f, "\\x{b:02x}"))?;
                } else {
                    write!(f, "{c}")?;
                }
            }
            chunk.invalid().iter().try_for_each(|b| write!(f, "\\x{b:02x}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn two_keys_never_look_the_same() {
        let shown: BTreeSet<String> = [&b"a\xff"[..], b"a\\xff", b"a\x1b", b"a"]
            .iter()
            .map(|k| Key::new(*k).to_string())
            .collect();
        assert_eq!(shown.len(), 4);
        assert!(shown.contains("a\\xff") && shown.iter().all(|s| !s.contains('\x1b')));
    }

    proptest! {
        #[test]
        fn a_key_is_known_again_from_how_it_is_shown(bytes: Vec<u8>) {
            let key = Key::new(bytes);
            prop_assert_eq!(Key::shown_as(&key.to_string()), key);
        }
    }

    #[test]
    fn only_a_whole_hash_tag_decides_the_slot() {
        assert_eq!(checksum(b"123456789"), 0x31c3);
        let slot = |key: &str| Key::new(key).slot();
        assert_eq!(slot("{order}:a"), slot("order"));
        assert_eq!(slot("x{order}{cart}"), slot("order"));
        assert_ne!(slot("{}a"), slot("{}b"));
        assert_ne!(slot("{a"), slot("{b"));
    }
}
