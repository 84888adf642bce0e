//! RocketMQ clusters of an environment, and groups of a playbook.

use super::{
    diagnostic::Problem,
    fields::Fields,
    playbook::read_release,
    report::Report,
    secret,
    shapes::config::ROCKETMQ,
    tree::Node,
    values::{self, Bad, quoted},
};
use crate::model::{
    environment::{Rocketmq, RocketmqLogin},
    ids::ServerName,
    playbook::{RetryQueue, RocketmqQueue},
};

/// The longest name of a group, as a broker allows it.
const LONGEST_GROUP: usize = 255;
/// The longest name of a topic: the retry topic of the longest group, and a little more.
const LONGEST_TOPIC: usize = 270;

pub(super) fn read_cluster(report: &Report, node: &Node) -> Option<Rocketmq> {
    let fields = Fields::open(report, node, &ROCKETMQ)?;
    let nameservers = fields.ones("nameservers", values::address);
    if fields.is_empty_list("nameservers") {
        let bad = Bad::new("a cluster without an address");
        fields.wrong("nameservers", Problem::MissingKey, bad);
    }
    for (one, other) in [("access_key", "secret_key"), ("secret_key", "access_key")] {
        if fields.has(one) && !fields.has(other) {
            let bad = Bad::new(format!("`{one}` without `{other}`")).help("a login is both of them");
            fields.wrong(one, Problem::MissingKey, bad);
        }
    }
    let login = match (fields.has("access_key"), fields.has("secret_key")) {
        (true, true) => {
            let access_key = fields.one("access_key", values::token);
            let secret_key = secret::read(&fields, "secret_key");
            Some(RocketmqLogin {
                access_key: access_key?,
                secret_key: secret_key?,
            })
        }
        _ => None,
    };
    Some(Rocketmq { nameservers, login })
}

pub(super) fn read_queue(fields: &Fields) -> Option<RocketmqQueue> {
    let cluster = fields.name("cluster", ServerName::new);
    let group = fields.one("group", |text| name(text, "group", LONGEST_GROUP));
    let topic = fields.one("topic", |text| name(text, "topic", LONGEST_TOPIC));
    let (rate, within) = read_release(fields);
    let group = group?;
    if fields.has("topic") && topic.is_none() {
        return None;
    }
    Some(RocketmqQueue {
        cluster: cluster?,
        topic: topic.unwrap_or_else(|| RocketmqQueue::retry_topic(&group)),
        group,
        rate: rate?,
        within: within?,
    })
}

/// A group has one switch on a cluster, whatever its topics.
pub(super) fn of_its_own_group(fields: &Fields, queue: &RocketmqQueue, earlier: &[RetryQueue]) {
    let same = |other: &RetryQueue| match other {
        RetryQueue::Rocketmq(other) => (&other.cluster, &other.group) == (&queue.cluster, &queue.group),
        _ => false,
    };
    if earlier.iter().any(same) {
        let RocketmqQueue { cluster, group, .. } = queue;
        let why = format!(
            "group {group} at RocketMQ {cluster} is switched for a queue above already: the release of one would start what the other still holds"
        );
        let bad = Bad::new(why).help(
            "keep one of them: the switch holds all that the group consumes; or give the consumers of each topic a group of their own",
        );
        fields.wrong("group", Problem::BadValue, bad);
    }
}

/// A name as RocketMQ's own check allows it.
fn name(text: &str, what: &str, longest: usize) -> Result<String, Bad> {
    let name = values::token(text)?;
    match name.find(|c: char| !c.is_ascii_alphanumeric() && !"%|_-".contains(c)) {
        Some(at) => Err(Bad::new(format!("{} is not a {what}'s name", quoted(text)))
            .at(at)
            .help("letters, digits, `%`, `|`, `_` and `-`")),
        None if name.len() > longest => Err(Bad::new(format!(
            "a {what}'s name has {longest} characters at most"
        ))),
        None => Ok(name),
    }
}
