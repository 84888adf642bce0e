//! The logs of partitions: where they begin and end, and how large their messages are.

use crate::drivers::kafka::wire::{Call, Reader, Torn, Writer};

/// Which end of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::drivers::kafka) enum End {
    First,
    Last,
}

/// Where the logs of some partitions begin or end. Asked of their leader.
pub(in crate::drivers::kafka) struct ListOffsets<'a> {
    pub topic: &'a str,
    pub partitions: &'a [i32],
    pub end: End,
}

impl Call for ListOffsets<'_> {
    const KEY: i16 = 2;
    const VERSION: i16 = 2;
    const NAME: &'static str = "ListOffsets";
    /// Per partition its error and offset.
    type Answer = Vec<(i32, i16, i64)>;

    fn write(&self, to: &mut Writer) {
        to.i32(-1);
        to.i8(0);
        to.all([self.topic].into_iter(), |w, topic| {
            w.text(topic);
            w.all(self.partitions.iter(), |w, p| {
                w.i32(*p);
                w.i64(match self.end {
                    End::First => -2,
                    End::Last => -1,
                });
            });
        });
    }

    fn read(from: &mut Reader<'_>) -> Result<Self::Answer, Torn> {
        from.i32()?;
        let topics = from.all(|r| {
            r.text()?;
            r.all(|r| {
                let (partition, error) = (r.i32()?, r.i16()?);
                r.i64()?;
                Ok((partition, error, r.i64()?))
            })
        })?;
        Ok(topics.into_iter().flatten().collect())
    }
}

/// The first batches after an offset, to see how large they are. Asked of the partition's leader.
pub(in crate::drivers::kafka) struct Fetch<'a> {
    pub topic: &'a str,
    pub partition: i32,
    pub offset: i64,
    pub at_most: i32,
}

impl Call for Fetch<'_> {
    const KEY: i16 = 1;
    const VERSION: i16 = 4;
    const NAME: &'static str = "Fetch";
    /// The error, and per batch its bytes and messages.
    type Answer = (i16, Vec<Batch>);

    fn write(&self, to: &mut Writer) {
        to.i32(-1);
        to.i32(0);
        to.i32(1);
        to.i32(self.at_most);
        to.i8(0);
        to.all([self.topic].into_iter(), |w, topic| {
            w.text(topic);
            w.all([self.partition].into_iter(), |w, partition| {
                w.i32(partition);
                w.i64(self.offset);
                w.i32(self.at_most);
            });
        });
    }

    fn read(from: &mut Reader<'_>) -> Result<Self::Answer, Torn> {
        from.i32()?;
        let partitions = from.all(|r| {
            r.text()?;
            r.all(|r| {
                r.i32()?;
                let error = r.i16()?;
                r.i64()?;
                r.i64()?;
                r.all(|r| Ok((r.i64()?, r.i64()?)))?;
                Ok((error, batches(r.bytes()?)))
            })
        })?;
        let mut partitions = partitions.into_iter().flatten();
        partitions.next().ok_or(Torn("the partition is missing"))
    }
}

/// A batch of messages, as a consumer has to fetch it: whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::drivers::kafka) struct Batch {
    pub bytes: u64,
    pub messages: u64,
}

/// The batches at the start of these bytes. The last one may be cut off; its head is enough.
fn batches(mut bytes: &[u8]) -> Vec<Batch> {
    /// Before the length: the first offset and the length itself.
    const BEFORE: u64 = 12;
    let mut found = Vec::new();
    let head = |mut r: Reader<'_>| {
        r.i64()?;
        let length = r.i32()?;
        r.i32()?;
        let magic = r.flag()?;
        r.i32()?;
        r.i16()?;
        Ok::<_, Torn>((length, magic, r.i32()?))
    };
    while let Ok((length @ 1.., true, last @ 0..)) = head(Reader::new(bytes)) {
        let size = BEFORE + length.unsigned_abs() as u64;
        found.push(Batch {
            bytes: size,
            messages: last.unsigned_abs() as u64 + 1,
        });
        bytes = bytes.get(size as usize..).unwrap_or_default();
    }
    found
}
