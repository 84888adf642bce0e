//! Kafka's wire format, as far as the calls of this driver need it: the versions without tagged fields.
//!
//! Every length is checked against the bytes that are there before anything is kept: an answer is untrusted, and a count of
//! two billion must not reserve memory. Source: the [protocol guide](https://kafka.apache.org/protocol).

/// A request, its version, and how its answer is read.
pub(super) trait Call {
    /// The API key.
    const KEY: i16;
    /// The version that is asked: one that brokers from 2.6 to 4.x have.
    const VERSION: i16;
    /// What a person calls it.
    const NAME: &'static str;
    /// What comes back.
    type Answer;

    fn write(&self, to: &mut Writer);
    fn read(from: &mut Reader<'_>) -> Result<Self::Answer, Torn>;
}

/// An answer that ends early, or holds what cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Torn(pub(super) &'static str);

/// Writes a request.
#[derive(Debug, Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn done(self) -> Vec<u8> {
        self.0
    }

    pub(super) fn flag(&mut self, value: bool) {
        self.0.push(value.into());
    }

    pub(super) fn i8(&mut self, value: i8) {
        self.0.extend(value.to_be_bytes());
    }

    pub(super) fn i16(&mut self, value: i16) {
        self.0.extend(value.to_be_bytes());
    }

    pub(super) fn i32(&mut self, value: i32) {
        self.0.extend(value.to_be_bytes());
    }

    pub(super) fn i64(&mut self, value: i64) {
        self.0.extend(value.to_be_bytes());
    }

    pub(super) fn f64(&mut self, value: f64) {
        self.0.extend(value.to_be_bytes());
    }

    pub(super) fn text(&mut self, text: &str) {
        // Names that come from files are bounded far below; a longer one is cut, and then nobody knows it.
        let length = text.len().min(i16::MAX as usize);
        self.i16(length as i16);
        self.0.extend(&text.as_bytes()[..length]);
    }

    pub(super) fn text_or_null(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.text(text),
            None => self.i16(-1),
        }
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.i32(bytes.len() as i32);
        self.0.extend(bytes);
    }

    pub(super) fn all<T>(&mut self, items: impl ExactSizeIterator<Item = T>, write: impl Fn(&mut Self, T)) {
        self.i32(items.len() as i32);
        items.for_each(|item| write(self, item));
    }
}

/// Reads an answer.
#[derive(Debug)]
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Torn> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Torn("it ends early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Torn> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Torn("it ends early"))?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn flag(&mut self) -> Result<bool, Torn> {
        self.array::<1>().map(|[b]| b != 0)
    }

    pub(super) fn i16(&mut self) -> Result<i16, Torn> {
        self.array().map(i16::from_be_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32, Torn> {
        self.array().map(i32::from_be_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64, Torn> {
        self.array().map(i64::from_be_bytes)
    }

    pub(super) fn f64(&mut self) -> Result<f64, Torn> {
        self.array().map(f64::from_be_bytes)
    }

    pub(super) fn text(&mut self) -> Result<String, Torn> {
        self.text_or_null()?.ok_or(Torn("a text is missing"))
    }

    pub(super) fn text_or_null(&mut self) -> Result<Option<String>, Torn> {
        match self.i16()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).map_err(|_| Torn("a length is negative"))?;
                let text = std::str::from_utf8(self.take(length)?).map_err(|_| Torn("a text is no text"))?;
                Ok(Some(text.to_owned()))
            }
        }
    }

    /// Bytes; none where the answer has null.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Torn> {
        match self.i32()? {
            -1 => Ok(&[]),
            length => self.take(usize::try_from(length).map_err(|_| Torn("a length is negative"))?),
        }
    }

    /// The items of a list; none where the answer has null.
    pub(super) fn all<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, Torn>,
    ) -> Result<Vec<T>, Torn> {
        let count = self.i32()?;
        let mut items = Vec::new();
        for _ in 0..count {
            // Every item takes at least one byte: a count beyond what is there ends here.
            items.push(read(self)?);
        }
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_count_of_two_billion_reserves_nothing() {
        let bytes = [0x7f, 0xff, 0xff, 0xff, 1, 2];
        assert_eq!(
            Reader::new(&bytes).all(Reader::i16).unwrap_err(),
            Torn("it ends early")
        );
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(text in ".{0,40}", null: bool, n: i64, list: Vec<i32>, bytes: Vec<u8>) {
            let mut writer = Writer::default();
            writer.text(&text);
            writer.text_or_null((!null).then_some(&text));
            writer.i64(n);
            writer.all(list.iter(), |w, n| w.i32(*n));
            writer.bytes(&bytes);
            let written = writer.done();
            let mut reader = Reader::new(&written);
            prop_assert_eq!(reader.text().unwrap(), text.clone());
            prop_assert_eq!(reader.text_or_null().unwrap(), (!null).then_some(text));
            prop_assert_eq!(reader.i64().unwrap(), n);
            prop_assert_eq!(reader.all(Reader::i32).unwrap(), list);
            prop_assert_eq!(reader.bytes().unwrap(), &bytes[..]);
            prop_assert_eq!(reader.flag().unwrap_err(), Torn("it ends early"));
        }
    }
}
