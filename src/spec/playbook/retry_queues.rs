//! Retry queues.

use super::MANY;
use crate::{
    model::{
        ids::ServerName,
        playbook::{KafkaQueue, OffsetReset, QueueHold, RetryQueue},
        quota::Payer,
        time::Span,
    },
    spec::{
        dashboard::each_once,
        diagnostic::Problem,
        fields::Fields,
        kubernetes, rocketmq,
        values::{self, Bad, quoted},
    },
};

pub(super) fn read(fields: &Fields) -> Option<RetryQueue> {
    if let Some(kafka) = fields.map("kafka") {
        return read_kafka_queue(&kafka).map(RetryQueue::Kafka);
    }
    if let Some(queue) = fields.map("rocketmq") {
        return rocketmq::read_queue(&queue).map(RetryQueue::Rocketmq);
    }
    let fields = &fields.map("http")?;
    let url = fields.one("url", values::url(&[]));
    let (rate, within) = read_release(fields);
    Some(RetryQueue::Http {
        url: url?,
        rate: rate?,
        within: within?,
    })
}

/// What holds a queue holds it alone: of two queues with one quota, one group's switch or one Deployment, each would
/// undo what the other does.
pub(super) fn each_for_itself(fields: &[Fields], queues: &[RetryQueue]) {
    for (n, (queue, fields)) in queues.iter().zip(fields).enumerate() {
        let earlier = &queues[..n];
        match queue {
            RetryQueue::Kafka(queue) => {
                let Some(fields) = fields.map("kafka") else {
                    continue;
                };
                of_its_own_quota(&fields, queue, earlier);
                of_its_own_deployment(&fields, queue, earlier);
            }
            RetryQueue::Rocketmq(queue) => {
                let Some(fields) = fields.map("rocketmq") else {
                    continue;
                };
                rocketmq::of_its_own_group(&fields, queue, earlier);
            }
            RetryQueue::Http { .. } => {}
        }
    }
}

fn of_kafka(queues: &[RetryQueue]) -> impl Iterator<Item = &KafkaQueue> {
    queues.iter().filter_map(|queue| match queue {
        RetryQueue::Kafka(queue) => Some(queue),
        _ => None,
    })
}

/// A client id has one quota on a cluster: two queues would each hold and let go the other's consumers with it.
fn of_its_own_quota(fields: &Fields, queue: &KafkaQueue, earlier: &[RetryQueue]) {
    let same_cluster = of_kafka(earlier).filter(|other| other.cluster == queue.cluster);
    let limited: Vec<Payer> = same_cluster.flat_map(|other| other.payers()).collect();
    let shared = queue
        .payers()
        .find(|payer| limited.iter().any(|other| other.meets(payer)));
    if let Some(payer) = shared {
        let why = format!("{payer} is limited by a queue above as well, and a cluster has one quota of it");
        let bad = Bad::new(why).help("give the consumers of each queue a client id of their own");
        fields.wrong("clients", Problem::BadValue, bad);
    }
}

/// A Deployment has one number of replicas. Without a namespace it is in the environment's only one, which any other names.
fn of_its_own_deployment(fields: &Fields, queue: &KafkaQueue, earlier: &[RetryQueue]) {
    let QueueHold::Scale {
        namespace,
        deployment,
    } = &queue.hold
    else {
        return;
    };
    let is_same = |other: &KafkaQueue| match &other.hold {
        QueueHold::Scale {
            namespace: there,
            deployment: name,
        } => name == deployment && (there == namespace || there.is_none() || namespace.is_none()),
        QueueHold::Quota => false,
    };
    if let (Some(other), Some(hold)) = (of_kafka(earlier).find(|other| is_same(other)), fields.map("hold")) {
        let why = format!(
            "the Deployment {deployment} is scaled for {} above already: the release of one would start what the other still holds",
            other.topic
        );
        let bad = Bad::new(why).help(
            "give the consumers of each topic a Deployment of their own, or leave `hold` out of one: it is held by quota then",
        );
        hold.wrong("scale", Problem::BadValue, bad);
    }
}

fn read_kafka_queue(fields: &Fields) -> Option<KafkaQueue> {
    let cluster = fields.name("cluster", ServerName::new);
    let topic = fields.one("topic", topic);
    let group = fields.one("group", kafka_name);
    let reset = fields.word("reset").map(|word| match word.as_str() {
        "latest" => OffsetReset::Latest,
        _ => OffsetReset::Earliest,
    });
    let user = fields.one("user", kafka_name);
    let clients = fields.ones("clients", kafka_name);
    if fields.list("clients").len() > MANY {
        fields.wrong(
            "clients",
            Problem::TooMuch,
            Bad::new(format!("more than {MANY} client ids")),
        );
    }
    each_once(fields.report, fields.list("clients").into_iter());
    let (rate, within) = read_release(fields);
    let hold = match fields.map("hold") {
        Some(hold) => kubernetes::hold(&hold),
        None => Some(QueueHold::Quota),
    };
    Some(KafkaQueue {
        cluster: cluster?,
        topic: topic?,
        group: group?,
        reset: reset?,
        user,
        clients,
        rate: rate?,
        within: within?,
        hold: hold?,
    })
}

pub(in crate::spec) fn read_release(fields: &Fields) -> (Option<f64>, Option<Span>) {
    let release = fields.map("release");
    let rate = release.and_then(|release| release.one("rate", values::rate));
    (rate, fields.some_time("within"))
}

/// A topic's name, as Kafka allows it.
fn topic(text: &str) -> Result<String, Bad> {
    let name = values::token(text)?;
    match name.find(|c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c)) {
        Some(at) => Err(Bad::new(format!("{} is not a topic's name", quoted(text)))
            .at(at)
            .help("letters, digits, `.`, `_` and `-`, 249 at most")),
        None if name.len() > 249 => Err(Bad::new("a topic's name has 249 characters at most")),
        None => Ok(name),
    }
}

/// The name of a group, user or client id: Kafka allows any text.
fn kafka_name(text: &str) -> Result<String, Bad> {
    let name = values::token(text)?;
    match name.len() <= 1024 {
        true => Ok(name),
        false => Err(Bad::new("a name of Kafka has 1,024 bytes at most here")),
    }
}
