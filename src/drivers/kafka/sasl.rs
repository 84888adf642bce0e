//! The calls of a login.

use super::wire::{Call, Reader, Torn, Writer};

/// Chooses how we log in.
pub(super) struct SaslHandshake {
    pub(super) mechanism: &'static str,
}

impl Call for SaslHandshake {
    const KEY: i16 = 17;
    const VERSION: i16 = 1;
    const NAME: &'static str = "SaslHandshake";
    /// The error, and the mechanisms that the broker offers.
    type Answer = (i16, Vec<String>);

    fn write(&self, to: &mut Writer) {
        to.text(self.mechanism);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self::Answer, Torn> {
        Ok((from.i16()?, from.all(Reader::text)?))
    }
}

/// One message of a login.
pub(super) struct SaslAuthenticate<'a> {
    pub(super) token: &'a str,
}

impl Call for SaslAuthenticate<'_> {
    const KEY: i16 = 36;
    const VERSION: i16 = 0;
    const NAME: &'static str = "SaslAuthenticate";
    /// The error, what it says, and the broker's message.
    type Answer = (i16, Option<String>, Vec<u8>);

    fn write(&self, to: &mut Writer) {
        to.bytes(self.token.as_bytes());
    }

    fn read(from: &mut Reader<'_>) -> Result<Self::Answer, Torn> {
        Ok((from.i16()?, from.text_or_null()?, from.bytes()?.to_vec()))
    }
}
