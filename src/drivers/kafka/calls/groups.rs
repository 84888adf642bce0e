//! Groups of consumers: their coordinator, their members, what they have committed.

use super::metadata::address;
use crate::drivers::kafka::wire::{Call, Reader, Torn, Writer};

/// Which broker looks after a group.
pub(in crate::drivers::kafka) struct FindCoordinator<'a> {
    pub group: &'a str,
}

pub(in crate::drivers::kafka) struct Coordinator {
    pub error: i16,
    pub message: Option<String>,
    pub address: String,
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
pub(in crate::drivers::kafka) struct ListGroups;

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
pub(in crate::drivers::kafka) struct DescribeGroup<'a> {
    pub group: &'a str,
}

pub(in crate::drivers::kafka) struct GroupSeen {
    pub error: i16,
    /// The client ids of its members.
    pub clients: Vec<String>,
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
pub(in crate::drivers::kafka) struct OffsetFetch<'a> {
    pub group: &'a str,
    pub topic: &'a str,
    pub partitions: &'a [i32],
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

/// The topics in which a group has committed an offset; those that the login may not see are left out.
pub(in crate::drivers::kafka) struct TopicsOf<'a> {
    pub group: &'a str,
}

impl Call for TopicsOf<'_> {
    const KEY: i16 = 9;
    const VERSION: i16 = 3;
    const NAME: &'static str = "OffsetFetch";
    /// The error, and per topic whether one of its partitions has an offset.
    type Answer = (i16, Vec<(String, bool)>);

    fn write(&self, to: &mut Writer) {
        to.text(self.group);
        // No list: all topics.
        to.i32(-1);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self::Answer, Torn> {
        from.i32()?;
        let topics = from.all(|r| {
            let topic = r.text()?;
            let offsets = r.all(|r| {
                r.i32()?;
                let offset = r.i64()?;
                r.text_or_null()?;
                Ok((offset, r.i16()?))
            })?;
            Ok((topic, offsets.iter().any(|(offset, _)| *offset >= 0)))
        })?;
        Ok((from.i16()?, topics))
    }
}
