//! What name servers and brokers answer. Source: RocketMQ 5.3's `ResponseCode`, and what its servers were seen to say.

use std::collections::BTreeMap;

use crate::{drivers::error::DriverError, model::text::harmless};

use super::{
    Offsets, QueueSeen,
    config::GroupConfig,
    frame::Answer,
    json::{Node, Torn, Value},
};

/// A topic that the name server does not know.
const NO_TOPIC: i32 = 17;

/// The body of an answer that says yes.
pub(super) fn body<'a>(answer: &'a Answer, what: &str) -> Result<&'a str, DriverError> {
    check(answer, what)?;
    std::str::from_utf8(&answer.body).map_err(|_| garbage(what, "its body is no text"))
}

/// `Ok` for code 0; else the error.
pub(super) fn check(answer: &Answer, what: &str) -> Result<(), DriverError> {
    let (what, said) = (what.to_owned(), harmless(&answer.remark, 200));
    let said = if said.is_empty() {
        format!("code {}", answer.code)
    } else {
        format!("code {}: {said}", answer.code)
    };
    Err(match answer.code {
        0 => return Ok(()),
        16 => DriverError::Unauthorized { what, answer: said },
        NO_TOPIC | 26 => DriverError::NotThere { what, answer: said },
        3 => DriverError::Garbage {
            what,
            why: format!("it does not know the request ({said}); RocketMQ 5.3 does"),
        },
        // An error of its own, busy, on its way up or down, in flow control: they pass.
        1 | 2 | 14 | 215 => DriverError::Refused {
            what,
            status: Some(503),
            answer: said,
        },
        _ => DriverError::Refused {
            what,
            status: None,
            answer: said,
        },
    })
}

/// Master brokers by name, with their addresses, of a topic's route.
pub(super) fn masters(answer: &Answer, what: &str) -> Result<BTreeMap<String, String>, DriverError> {
    let node = read(body(answer, what)?, what)?;
    let mut masters = BTreeMap::new();
    for broker in node.get("brokerDatas").map(Node::items).unwrap_or_default() {
        let name = broker.text_of("brokerName");
        let name = name.ok_or_else(|| garbage(what, "a broker without a name"))?;
        // Only a master, which has the id 0, has the group's config and takes commits.
        let address = broker
            .get("brokerAddrs")
            .and_then(|addresses| addresses.text_of("0"));
        if let Some(address) = address {
            masters.insert(harmless(name, 200), harmless(address, 300));
        }
    }
    Ok(masters)
}

/// A group's config in the table of all groups.
pub(super) fn config(answer: &Answer, group: &str, what: &str) -> Result<GroupConfig, DriverError> {
    let node = read(body(answer, what)?, what)?;
    let table = node.get("subscriptionGroupTable");
    let table = table.filter(|table| matches!(table.value, Value::Map(_)));
    let table = table.ok_or_else(|| garbage(what, "it tells no groups"))?;
    let config = table.get(group).ok_or_else(|| DriverError::NotThere {
        what: what.to_owned(),
        answer: "the broker knows no such group; start its consumers once, or correct the name".into(),
    })?;
    let config = GroupConfig::of(config).map_err(|why| garbage(what, why))?;
    Ok(config)
}

/// How far a group is at one broker.
pub(super) fn offsets(answer: &Answer, what: &str) -> Result<Offsets, DriverError> {
    let node = read(body(answer, what)?, what)?;
    let table = node.get("offsetTable");
    let table = table.filter(|table| matches!(table.value, Value::Map(_)));
    let table = table.ok_or_else(|| garbage(what, "it tells no offsets"))?;
    let queue = |(key, value): &(Node<'_>, Node<'_>)| {
        Some(QueueSeen {
            topic: harmless(key.text_of("topic")?, 300),
            queue: key.number_of("queueId")?,
            at: value.number_of("consumerOffset")?,
            end: value.number_of("brokerOffset")?,
        })
    };
    let queues = table.entries().iter().map(queue).collect::<Option<Vec<_>>>();
    queues
        .map(Offsets)
        .ok_or_else(|| garbage(what, "offsets of a queue that are none"))
}

fn read<'a>(text: &'a str, what: &str) -> Result<Node<'a>, DriverError> {
    Node::read(text).map_err(|Torn(why)| garbage(what, why))
}

fn garbage(what: &str, why: &str) -> DriverError {
    DriverError::Garbage {
        what: what.to_owned(),
        why: why.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn says(body: &str) -> Answer {
        Answer {
            code: 0,
            remark: String::new(),
            body: body.as_bytes().to_vec(),
        }
    }

    fn no(code: i32) -> DriverError {
        let answer = Answer {
            code,
            remark: "no\u{7}".into(),
            body: Vec::new(),
        };
        check(&answer, "x").unwrap_err()
    }

    #[test]
    fn offsets_have_objects_as_keys() {
        let text = r#"{"consumeTps":43.3,"offsetTable":{{"brokerName":"broker-a","queueId":2,"topic":"orders"}:{"brokerOffset":150,"consumerOffset":140,"lastTimestamp":1,"pullOffset":150},{"brokerName":"broker-a","queueId":0,"topic":"%RETRY%g1"}:{"brokerOffset":500,"consumerOffset":500,"lastTimestamp":1,"pullOffset":500}}}"#;
        let offsets = offsets(&says(text), "x").unwrap();
        assert_eq!(offsets.backlog(), 10);
        assert_eq!(offsets.0[1].topic, "%RETRY%g1");
    }

    #[test]
    fn a_route_without_a_master_has_none() {
        let text = r#"{"brokerDatas":[{"brokerAddrs":{"0":"10.0.0.1:10911","1":"10.0.0.2:10911"},"brokerName":"a"},{"brokerAddrs":{"1":"10.0.0.3:10911"},"brokerName":"b"}]}"#;
        let masters = masters(&says(text), "x").unwrap();
        assert_eq!(masters, BTreeMap::from([("a".into(), "10.0.0.1:10911".into())]));
        let bare = text.replace("\"0\"", "0").replace("\"1\"", "1");
        assert_eq!(super::masters(&says(&bare), "x").unwrap(), masters);
    }

    #[test]
    fn an_unknown_group_is_not_there_and_no_table_is_no_answer() {
        let text = r#"{"subscriptionGroupTable":{"g1":{"consumeEnable":true,"groupName":"g1"}}}"#;
        assert!(config(&says(text), "g1", "x").unwrap().is_enabled());
        assert!(matches!(
            config(&says(text), "g2", "x"),
            Err(DriverError::NotThere { .. })
        ));
        assert!(matches!(
            config(&says("{}"), "g1", "x"),
            Err(DriverError::Garbage { .. })
        ));
    }

    #[test]
    fn what_passes_is_tried_again_and_what_is_not_allowed_is_named() {
        assert!(no(2).may_pass() && no(14).may_pass());
        assert!(matches!(no(16), DriverError::Unauthorized { .. }));
        assert!(matches!(no(17), DriverError::NotThere { .. }));
        assert!(!no(3).may_pass() && !no(99).may_pass());
        assert!(no(16).to_string().contains("code 16: no"), "{}", no(16));
    }

    proptest! {
        #[test]
        fn no_body_makes_it_panic(body in r#"[\[\]{}:,"0-9a-zA-Z ]{0,120}"#) {
            let answer = says(&body);
            let _ = (masters(&answer, "x"), config(&answer, "g", "x"), offsets(&answer, "x"));
        }
    }
}
