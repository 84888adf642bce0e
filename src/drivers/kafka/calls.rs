//! The calls about topics and groups: where their leaders are, what a group has committed, where the logs begin and end.

use super::wire::{Call, Reader, Torn, Writer};

/// Which calls a broker has. The first on every connection.
pub(super) struct ApiVersions;

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

/// Brokers, and the leaders of a topic's partitions.
pub(super) struct Metadata<'a> {
    pub(super) topics: &'a [&'a str],
}

pub(super) struct MetadataAnswer {
    /// By id: `host:port`.
    pub(super) brokers: Vec<(i32, String)>,
    pub(super) topics: Vec<TopicSeen>,
}

pub(super) struct TopicSeen {
    pub(super) error: i16,
    pub(super) name: String,
    /// (error, partition, leader's id).
    pub(super) partitions: Vec<(i16, i32, i32)>,
}

impl Call for Metadata<'_> {
    const KEY: i16 = 3;
    const VERSION: i16 = 4;
    const NAME: &'static str = "Metadata";
    type Answer = MetadataAnswer;

    fn write(&self, to: &mut Writer) {
        to.all(self.topics.iter(), |w, topic| w.text(topic));
        // Looking must not make a topic.
        to.flag(false);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self::Answer, Torn> {
        from.i32()?;
        let brokers = from.all(|r| {
            let (id, host, port) = (r.i32()?, r.text()?, r.i32()?);
            r.text_or_null()?;
            Ok((id, address(&host, port)))
        })?;
        from.text_or_null()?;
        from.i32()?;
        let topics = from.all(|r| {
            let (error, name) = (r.i16()?, r.text()?);
            r.flag()?;
            let partitions = r.all(|r| {
                let seen = (r.i16()?, r.i32()?, r.i32()?);
                r.all(Reader::i32)?;
                r.all(Reader::i32)?;
                Ok(seen)
            })?;
            Ok(TopicSeen {
                error,
                name,
                partitions,
            })
        })?;
        Ok(MetadataAnswer { brokers, topics })
    }
}

fn address(host: &str, port: i32) -> String {
    match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

/// Which broker looks after a group.
pub(super) struct FindCoordinator<'a> {
    pub(super) group: &'a str,
}

pub(super) struct Coordinator {
    pub(super) error: i16,
    pub(super) message: Option<String>,
    pub(super) address: String,
}

impl Call for FindCoordinator<'_> {
    const KEY: i16 = 10;
    const VERSION: i16 = 1;
    const NAME: &'static str = "FindCoordinator";
    type Answer = Coordinator;

    fn write(&self, to: &mut Writer) {
        to.text(self.group);
        to.i8(0);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self::Answer, Torn> {
        from.i32()?;
        let (error, message) = (from.i16()?, from.text_or_null()?);
        from.i32()?;
        let (host, port) = (from.text()?, from.i32()?);
        Ok(Coordinator {
            error,
            message,
            address: address(&host, port),
        })
    }
}

/// The groups that a broker looks after.
pub(super) struct ListGroups;

impl Call for ListGroups {
    const KEY: i16 = 16;
    const VERSION: i16 = 1;
    const NAME: &'static str = "ListGroups";
    /// The error, and the groups' names.
    type Answer = (i16, Vec<String>);

    fn write(&self, _: &mut Writer) {}

    fn read(from: &mut Reader<'_>) -> Result<Self::Answer, Torn> {
        from.i32()?;
        let error = from.i16()?;
        let groups = from.all(|r| {
            let name = r.text()?;
            r.text()?;
            Ok(name)
        })?;
        Ok((error, groups))
    }
}

/// The members of a group of the classic protocol; none for a group of another protocol.
pub(super) struct DescribeGroup<'a> {
    pub(super) group: &'a str,
}

pub(super) struct GroupSeen {
    pub(super) error: i16,
    /// The client ids of its members.
    pub(super) clients: Vec<String>,
}

impl Call for DescribeGroup<'_> {
    const KEY: i16 = 15;
    const VERSION: i16 = 1;
    const NAME: &'static str = "DescribeGroups";
    type Answer = Vec<GroupSeen>;

    fn write(&self, to: &mut Writer) {
        to.all([self.group].into_iter(), Writer::text);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self::Answer, Torn> {
        from.i32()?;
        from.all(|r| {
            let error = r.i16()?;
            r.text()?;
            r.text()?;
            r.text()?;
            r.text()?;
            let clients = r.all(|r| {
                r.text()?;
                let client = r.text()?;
                r.text()?;
                r.bytes()?;
                r.bytes()?;
                Ok(client)
            })?;
            Ok(GroupSeen { error, clients })
        })
    }
}

/// What a group has committed in some partitions of a topic.
pub(super) struct OffsetFetch<'a> {
    pub(super) group: &'a str,
    pub(super) topic: &'a str,
    pub(super) partitions: &'a [i32],
}

impl Call for OffsetFetch<'_> {
    const KEY: i16 = 9;
    const VERSION: i16 = 3;
    const NAME: &'static str = "OffsetFetch";
    /// The error, and per partition its offset (-1: none) and error.
    type Answer = (i16, Vec<(i32, i64, i16)>);

    fn write(&self, to: &mut Writer) {
        to.text(self.group);
        to.all([self.topic].into_iter(), |w, topic| {
            w.text(topic);
            w.all(self.partitions.iter(), |w, p| w.i32(*p));
        });
    }

    fn read(from: &mut Reader<'_>) -> Result<Self::Answer, Torn> {
        from.i32()?;
        let topics = from.all(|r| {
            r.text()?;
            r.all(|r| {
                let (partition, offset) = (r.i32()?, r.i64()?);
                r.text_or_null()?;
                Ok((partition, offset, r.i16()?))
            })
        })?;
        Ok((from.i16()?, topics.into_iter().flatten().collect()))
    }
}

/// Which end of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    First,
    Last,
}

/// Where the logs of some partitions begin or end. Asked of their leader.
pub(super) struct ListOffsets<'a> {
    pub(super) topic: &'a str,
    pub(super) partitions: &'a [i32],
    pub(super) end: End,
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
pub(super) struct Fetch<'a> {
    pub(super) topic: &'a str,
    pub(super) partition: i32,
    pub(super) offset: i64,
    pub(super) at_most: i32,
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
pub(super) struct Batch {
    pub(super) bytes: u64,
    pub(super) messages: u64,
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
