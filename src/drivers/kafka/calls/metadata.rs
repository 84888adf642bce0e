//! Topics, their partitions and leaders.

use crate::drivers::kafka::wire::{Call, Reader, Torn, Writer};

/// Brokers, and the leaders of a topic's partitions.
pub(in crate::drivers::kafka) struct Metadata<'a> {
    pub topics: &'a [&'a str],
}

pub(in crate::drivers::kafka) struct MetadataAnswer {
    /// By id: `host:port`.
    pub brokers: Vec<(i32, String)>,
    pub topics: Vec<TopicSeen>,
}

pub(in crate::drivers::kafka) struct TopicSeen {
    pub error: i16,
    pub name: String,
    /// (error, partition, leader's id).
    pub partitions: Vec<(i16, i32, i32)>,
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

pub(super) fn address(host: &str, port: i32) -> String {
    match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}
