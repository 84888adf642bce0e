//! Quotas of a cluster that speaks as Kafka does, as far as quotas go.

use std::{collections::BTreeMap, sync::Arc};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Mutex,
};

use super::*;
use crate::{
    drivers::{
        kafka::PartitionSeen,
        testing::{environment, nothing_to_do},
    },
    engine::recovery::tests::{Stage, stage},
    model::{
        ids::ServerName,
        playbook::{OffsetReset, QueueHold},
        quota::Payer,
        time::Span,
    },
};

const REFUSED: i16 = 31;

/// Quotas by client id, and whose may not be changed.
#[derive(Default)]
struct Broker {
    quotas: Mutex<BTreeMap<String, f64>>,
    refused: &'static str,
}

fn take<const N: usize>(from: &mut &[u8]) -> [u8; N] {
    let (taken, rest) = from.split_first_chunk().unwrap();
    *from = rest;
    *taken
}

fn text(from: &mut &[u8]) -> String {
    let length = u16::from_be_bytes(take(from)).into();
    let (taken, rest) = from.split_at(length);
    *from = rest;
    String::from_utf8(taken.to_vec()).unwrap()
}

fn said(to: &mut Vec<u8>, text: &str) {
    to.extend((text.len() as u16).to_be_bytes());
    to.extend(text.as_bytes());
}

impl Broker {
    async fn start(self: Arc<Self>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(self.clone().serve(stream));
            }
        });
        address
    }

    async fn serve(self: Arc<Self>, mut stream: TcpStream) {
        while let Ok(length) = stream.read_u32().await {
            let mut request = vec![0; length as usize];
            stream.read_exact(&mut request).await.unwrap();
            let mut from = request.as_slice();
            let key = i16::from_be_bytes(take(&mut from));
            let [_, _] = take(&mut from);
            let mut answer = take::<4>(&mut from).to_vec();
            text(&mut from);
            answer.extend(self.answer(key, from).await);
            stream.write_u32(answer.len() as u32).await.unwrap();
            stream.write_all(&answer).await.unwrap();
        }
    }

    async fn answer(&self, key: i16, mut from: &[u8]) -> Vec<u8> {
        let (mut to, none, one) = (Vec::new(), 0_i32.to_be_bytes(), 1_i32.to_be_bytes());
        let null = (-1_i16).to_be_bytes();
        match key {
            // ApiVersions: all of them.
            18 => {
                to.extend(0_i16.to_be_bytes());
                to.extend(60_i32.to_be_bytes());
                (0..60_i16).for_each(|key| to.extend([key, 0, 20].map(i16::to_be_bytes).concat()));
            }
            // Metadata: no broker, no name, no controller, no topic.
            3 => to.extend([&none[..], &none, &null, &none, &none].concat()),
            // DescribeClientQuotas.
            48 => {
                take::<4>(&mut from);
                text(&mut from);
                take::<1>(&mut from);
                let client = text(&mut from);
                to.extend([&none[..], &[0, 0], &null].concat());
                match self.quotas.lock().await.get(&client) {
                    None => to.extend(none),
                    Some(bytes) => {
                        to.extend([one, one].concat());
                        said(&mut to, "client-id");
                        said(&mut to, &client);
                        to.extend(one);
                        said(&mut to, "consumer_byte_rate");
                        to.extend(bytes.to_be_bytes());
                    }
                }
            }
            // AlterClientQuotas.
            49 => {
                take::<8>(&mut from);
                text(&mut from);
                let client = text(&mut from);
                take::<4>(&mut from);
                text(&mut from);
                let (bytes, removed) = (f64::from_be_bytes(take(&mut from)), take::<1>(&mut from));
                let code = if client == self.refused { REFUSED } else { 0 };
                let mut quotas = self.quotas.lock().await;
                match (code, removed) {
                    (0, [0]) => drop(quotas.insert(client, bytes)),
                    (0, _) => drop(quotas.remove(&client)),
                    _ => {}
                }
                to.extend([&none[..], &one, &code.to_be_bytes(), &null, &none].concat());
            }
            other => panic!("nobody asks for {other}"),
        }
        to
    }
}

/// A group so far in its one partition.
pub(super) fn at(offset: i64, end: i64) -> Position {
    let seen = PartitionSeen {
        partition: 0,
        at: offset,
        end,
        committed: true,
    };
    Position {
        partitions: vec![seen],
    }
}

/// A topic that clients a and b consume, without a quota before the drill.
struct Set {
    stage: Stage,
    queue: KafkaQueue,
    before: RetryQueueSeen,
}

impl Set {
    async fn up(broker: &Arc<Broker>) -> Self {
        let cluster = ServerName::new("events").unwrap();
        let mut environment = environment(&[]);
        let reached = Kafka {
            bootstrap: vec![broker.clone().start().await],
            tls: None,
            sasl: None,
        };
        environment.kafka.insert(cluster.clone(), reached);
        let queue = KafkaQueue {
            cluster,
            topic: "retry".into(),
            group: "coupons".into(),
            reset: OffsetReset::Earliest,
            user: None,
            clients: vec!["a".into(), "b".into()],
            rate: 50.0,
            within: Span::seconds(60),
            hold: QueueHold::Quota,
        };
        let quota = |client: &str| QuotaSeen {
            payer: Payer {
                user: None,
                client: client.to_owned(),
            },
            bytes: None,
        };
        let before = RetryQueueSeen {
            entry: 0,
            backlog: 0,
            held: false,
            rate: None,
            quotas: vec![quota("a"), quota("b")],
            groups: Vec::new(),
        };
        Self {
            stage: stage(environment, nothing_to_do()),
            queue,
            before,
        }
    }

    fn topic(&self) -> Topic<'_> {
        let scene = &self.stage.scene;
        Topic {
            queue: &self.queue,
            cluster: scene.drivers.kafka(&self.queue.cluster).unwrap(),
            before: &self.before,
            reached: scene.plan.environment.kafka.get(&self.queue.cluster),
            scale: None,
        }
    }
}

#[tokio::test]
async fn a_quota_that_may_not_be_changed_keeps_no_other_from_being_put_back() {
    let held = [("a", 100.0), ("b", 100.0)].map(|(client, bytes)| (client.to_owned(), bytes));
    let broker = Arc::new(Broker {
        quotas: Mutex::new(held.into()),
        refused: "a",
    });
    let set = Set::up(&broker).await;
    let ended = set.topic().put_back(&set.stage.scene).await;
    assert!(
        matches!(&ended, Err(DriverError::Unauthorized { what, .. }) if what.contains("client a")),
        "{ended:?}"
    );
    let left = broker.quotas.lock().await.clone();
    assert_eq!(left, BTreeMap::from([("a".to_owned(), 100.0)]));
}

#[tokio::test]
async fn by_hand_a_held_topic_is_let_go_at_its_rate_before_its_quota_goes() {
    let set = Set::up(&Arc::default()).await;
    let topic = set.topic();
    let waiting = |end| at(0, end);
    let by_hand = async |bytes, now: Position| {
        let command = topic.let_go_by_hand(&set.before.quotas[0], bytes, &now).await;
        let command = command.unwrap();
        command.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let held = by_hand(100.0, waiting(6000)).await;
    assert_eq!(held[0], "# only once the guards hold / 守护成立后再执行");
    assert!(
        held[1].contains("--add-config consumer_byte_rate=51200 "),
        "{held:?}"
    );
    assert_eq!(
        held[2],
        "# only once its backlog is back at 5 / 积压回到 5 后再执行"
    );
    assert!(held[3].contains("--delete-config"), "{held:?}");
    // Under way at its rate already, or not known at all.
    let nowhere = Position {
        partitions: Vec::new(),
    };
    assert_eq!(by_hand(60_000.0, waiting(6000)).await, held[2..]);
    assert_eq!(by_hand(100.0, nowhere).await, held[2..]);
    // Nothing waits: the quota may go.
    assert_eq!(by_hand(100.0, waiting(0)).await, held[3..]);
}
