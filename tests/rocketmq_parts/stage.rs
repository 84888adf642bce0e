//! Recovery against real servers.

use allclear::{
    drivers::{Patience, rocketmq::RocketmqCluster},
    model::{
        environment::Rocketmq,
        ids::ServerName,
        playbook::{Playbook, RetryQueue, RocketmqQueue},
        secret::Secrets,
        time::Span,
    },
};

use crate::{
    part::{BROKERS, Part, until},
    parts_support::{PATIENCE, Process, Staged, environment, nothing_to_do, plan},
};

impl Staged {
    pub fn new(rocketmq: Rocketmq, queue: RocketmqQueue) -> Self {
        Self::with(rocketmq, queue, Secrets::none(), PATIENCE)
    }

    pub fn with(rocketmq: Rocketmq, queue: RocketmqQueue, secrets: Secrets, patience: Patience) -> Self {
        let mut environment = environment();
        environment.rocketmq.insert(main(), rocketmq);
        let playbook = Playbook {
            retry_queues: vec![RetryQueue::Rocketmq(queue)],
            ..nothing_to_do()
        };
        Self::of(plan(environment, &[], playbook), secrets, patience)
    }

    pub fn cluster(&self) -> RocketmqCluster {
        self.scene.drivers.rocketmq(&main()).unwrap()
    }

    pub fn queue(&self) -> &RocketmqQueue {
        let RetryQueue::Rocketmq(queue) = &self.scene.plan.drill.recovery.retry_queues[0] else {
            unreachable!()
        };
        queue
    }

    pub async fn backlog(&self, part: &Part) -> u64 {
        let (cluster, queue) = (self.cluster(), self.queue());
        let mut backlog = 0;
        for broker in BROKERS {
            let offsets = cluster
                .offsets(&part.broker(broker), &queue.group, &queue.topic)
                .await
                .unwrap();
            backlog += offsets.backlog();
        }
        backlog
    }

    pub async fn until_backlog(&self, part: &Part, wanted: impl Fn(u64) -> bool) {
        until("backlog", async || wanted(self.backlog(part).await)).await;
    }
}

pub fn main() -> ServerName {
    ServerName::new("main").unwrap()
}

/// The retry topic of a group.
pub fn queue(group: &str, rate: f64, within: Span) -> RocketmqQueue {
    RocketmqQueue {
        cluster: main(),
        group: group.to_owned(),
        topic: RocketmqQueue::retry_topic(group),
        rate,
        within,
    }
}

/// A group of this name that has worked off what it had, with its consumer, after preflight.
pub async fn caught_up(part: &Part, group: &str, rate: f64, within: Span) -> (Staged, Process) {
    let topic = format!("topic-{group}");
    part.create(&BROKERS, &topic, group).await;
    let consumer = part.consume(&topic, group, &["ahead=64", "each=20", "threads=12"]);
    // Sent in batches, unlike those of a retry topic.
    let mut queue = queue(group, rate, within);
    queue.topic = topic;
    let staged = Staged::new(part.open(), queue);
    part.produce(&staged.queue().topic, 20).await;
    staged.until_backlog(part, |n| n == 0).await;
    (staged.ready().await, consumer)
}

/// A storm of retries that the consumer has not worked off: it is off while they come.
pub async fn storm(part: &Part, staged: &Staged, messages: u32) {
    let (cluster, queue) = (staged.cluster(), staged.queue());
    let switch = async |on: bool| {
        for broker in BROKERS {
            let address = part.broker(broker);
            let config = cluster.config(&address, &queue.group).await.unwrap();
            cluster
                .write(&address, &queue.group, &config.switched(on))
                .await
                .unwrap();
        }
    };
    switch(false).await;
    part.produce(&queue.topic, messages).await;
    staged.until_backlog(part, |n| n >= u64::from(messages) / 2).await;
    switch(true).await;
}
