//! Which calls a broker knows.

use crate::drivers::kafka::wire::{Call, Reader, Torn, Writer};

/// Which calls a broker has. The first on every connection.
pub(in crate::drivers::kafka) struct ApiVersions;

impl Call for ApiVersions {
    const KEY: i16 = 18;
    const VERSION: i16 = 0;
    const NAME: &'static str = "ApiVersions";
    /// The error, and per call its lowest and highest version.
    type Answer = (i16, Vec<(i16, i16, i16)>);

    fn write(&self, _: &mut Writer) {}

    fn read(from: &mut Reader<'_>) -> Result<Self::Answer, Torn> {
        Ok((from.i16()?, from.all(|r| Ok((r.i16()?, r.i16()?, r.i16()?)))?))
    }
}
