//! What a restore would change, one thing each, as it is shown before anybody agrees to it.

use crate::{
    engine::recovery::{breakers::state_word, queues::count},
    model::{
        plan::Plan,
        playbook::{Flags, RetryQueue},
        said::{Said, said},
    },
};

use super::{Change, Restoring, breaker, kubernetes, place};

impl Restoring {
    /// What the playbook would change, one thing each. Empty: everything that was read is healthy.
    pub fn changes(&self, plan: &Plan) -> Vec<Change> {
        let mut all = self.servers(plan);
        all.extend(self.breakers());
        all.extend(self.flags(plan));
        all.extend(self.queues(plan));
        all.extend(kubernetes::changes(
            &self.now.kubernetes,
            &self.healthy.kubernetes,
        ));
        all
    }

    fn servers(&self, plan: &Plan) -> Vec<Change> {
        let servers = self.now.gateway.iter().zip(&self.healthy.gateway);
        let differing = servers.filter(|(now, healthy)| now != healthy);
        let changes = differing.map(|(now, healthy)| {
            let (is, state, then) = (now.weight, now.state.as_str(), healthy.weight);
            Change {
                what: place(plan, now),
                now: said!("weight {is}, {state}", "权重 {is}，{state}"),
                then: said!("weight {then}, in stages", "权重 {then}，分级放流"),
            }
        });
        changes.collect()
    }

    fn breakers(&self) -> Vec<Change> {
        let changes = self.now.breakers.iter().filter_map(|now| {
            let mut all = self.healthy.breakers.iter();
            let healthy =
                all.find(|h| (h.entry, &h.instance, &h.name) == (now.entry, &now.instance, &now.name))?;
            (healthy.state != now.state).then(|| Change {
                what: breaker(now),
                now: Said::as_it_is(state_word(now.state)),
                then: said!("closed, seen by real calls", "闭合，以真实调用确认"),
            })
        });
        changes.collect()
    }

    fn flags(&self, plan: &Plan) -> Vec<Change> {
        let there = self.now.flags.iter().filter(|f| !f.keys.is_empty());
        let changes = there.filter_map(|now| {
            let Flags::Redis { server, pattern, .. } = plan.drill.recovery.flags.get(now.entry)?;
            let count = now.keys.len();
            Some(Change {
                what: said!("flags {pattern} at {server}", "{server} 中的降级开关 {pattern}"),
                now: said!("{count} there", "有 {count} 个"),
                then: said!("deleted", "删除"),
            })
        });
        changes.collect()
    }

    fn queues(&self, plan: &Plan) -> Vec<Change> {
        let waiting = self.now.retry_queues.iter().filter(|q| q.held || q.backlog > 0);
        let changes = waiting.filter_map(|now| {
            let (queue, then) = released(plan.drill.recovery.retry_queues.get(now.entry)?);
            let waiting = count(now.backlog);
            Some(Change {
                what: said!("retry queue {queue}", "重试队列 {queue}"),
                now: match now.held {
                    true => said!("{waiting} waiting, held", "{waiting} 条等待，已暂停"),
                    false => said!("{waiting} waiting", "{waiting} 条等待"),
                },
                then,
            })
        });
        changes.collect()
    }
}

/// A queue's name, and how it is let go.
fn released(queue: &RetryQueue) -> (String, Said) {
    let at = |rate: f64| said!("let go at {rate}/s", "以 {rate}/s 放行");
    match queue {
        RetryQueue::Http { url, rate, .. } => (url.clone(), at(*rate)),
        RetryQueue::Kafka(kafka) => (format!("{} in {}", kafka.topic, kafka.cluster), at(kafka.rate)),
        RetryQueue::Rocketmq(group) => {
            let rate = group.rate;
            let about = said!("let go at about {rate}/s, in bursts", "约以 {rate}/s 成批放行");
            (format!("{} in {}", group.group, group.cluster), about)
        }
    }
}
