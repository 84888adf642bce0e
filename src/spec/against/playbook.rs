//! The playbook: servers, services and addresses that the environment has.

use super::Check;
use crate::{
    model::playbook::{Breakers, Command, Flags, Gateway, How, PoolDrain, Restart, RetryQueue, Via},
    spec::{
        diagnostic::{Problem, Severity},
        values::{Bad, address},
    },
};

impl Check<'_> {
    pub(super) fn recovery(&mut self) {
        let playbook = &self.drill.recovery;
        if let Some(gateway) = &playbook.gateway {
            self.gateway(gateway);
        }
        for (i, entry) in playbook.breakers.iter().enumerate() {
            self.breakers(format!("recovery.breakers.{i}"), entry);
        }
        for (i, entry) in playbook.flags.iter().enumerate() {
            self.flags(format!("recovery.flags.{i}"), entry);
        }
        for (i, queue) in playbook.retry_queues.iter().enumerate() {
            self.retry_queue(format!("recovery.retry_queues.{i}"), queue);
        }
        for (i, pool) in playbook.pools.iter().enumerate() {
            self.pool(format!("recovery.pools.{i}"), pool);
        }
        for (i, command) in playbook.commands.iter().enumerate() {
            self.command(format!("recovery.commands.{i}"), command);
        }
    }

    fn gateway(&mut self, gateway: &Gateway) {
        let sockets = match gateway {
            Gateway::Haproxy { sockets, .. } => sockets,
            Gateway::Pods(pods) => {
                self.namespace("recovery.gateway.kubernetes".into(), pods.pods.namespace.as_ref());
                return;
            }
            Gateway::Route(route) => {
                self.namespace("recovery.gateway.httproute".into(), route.namespace.as_ref());
                return;
            }
        };
        let environment = self.environment;
        let names: Vec<&str> = environment.gateways.keys().map(|name| name.as_str()).collect();
        for (i, socket) in sockets.iter().enumerate() {
            let is_address = socket.starts_with('/') || address(socket).is_ok();
            if !is_address && !names.contains(&socket.as_str()) {
                let keys = match sockets.len() {
                    1 => "recovery.gateway.haproxy.socket".to_owned(),
                    _ => format!("recovery.gateway.haproxy.socket.{i}"),
                };
                self.unknown(keys, "gateway", socket, &names);
            }
        }
    }

    fn breakers(&mut self, keys: String, breakers: &Breakers) {
        match breakers {
            Breakers::Resilience4j {
                actuator,
                callers,
                via,
                ..
            } => {
                let keys = format!("{keys}.resilience4j");
                self.service(format!("{keys}.callers"), callers);
                self.template(format!("{keys}.actuator"), actuator, &["instance", "host"]);
                let given = &["instance", "host", "name"];
                match via {
                    Via::App { url } => self.template(format!("{keys}.via.app"), url, given),
                    Via::Probe { url, .. } => self.template(format!("{keys}.via.wait.probe"), url, given),
                    Via::Close | Via::Wait => {}
                }
            }
            Breakers::Sentinel { api, callers, .. } => {
                let keys = format!("{keys}.sentinel");
                self.service(format!("{keys}.callers"), callers);
                self.template(format!("{keys}.api"), api, &["instance", "host"]);
            }
        }
    }

    fn flags(&mut self, keys: String, flags: &Flags) {
        let Flags::Redis { server, .. } = flags;
        let environment = self.environment;
        if !environment.redis.contains_key(server) {
            let names: Vec<&str> = environment.redis.keys().map(|name| name.as_str()).collect();
            self.unknown(
                format!("{keys}.redis.server"),
                "Redis server",
                server.as_str(),
                &names,
            );
        }
    }

    fn retry_queue(&mut self, keys: String, queue: &RetryQueue) {
        let environment = self.environment;
        match queue {
            RetryQueue::Http { url, .. } => self.template(format!("{keys}.http.url"), url, &[]),
            RetryQueue::Kafka(queue) => {
                self.hold(format!("{keys}.kafka.hold"), queue);
                if !environment.kafka.contains_key(&queue.cluster) {
                    let names: Vec<&str> = environment.kafka.keys().map(|name| name.as_str()).collect();
                    let keys = format!("{keys}.kafka.cluster");
                    self.unknown(keys, "Kafka cluster", queue.cluster.as_str(), &names);
                }
            }
            RetryQueue::Rocketmq(queue) if !environment.rocketmq.contains_key(&queue.cluster) => {
                let names: Vec<&str> = environment.rocketmq.keys().map(|name| name.as_str()).collect();
                let keys = format!("{keys}.rocketmq.cluster");
                self.unknown(keys, "RocketMQ cluster", queue.cluster.as_str(), &names);
            }
            RetryQueue::Rocketmq(_) => {}
        }
    }

    fn pool(&mut self, keys: String, pool: &PoolDrain) {
        if let Some(Restart::Http { url }) = &pool.if_stuck {
            self.template(format!("{keys}.if_stuck.http.restart"), url, OF_INSTANCE);
        }
        if let Some(Restart::Kubernetes(pods)) = &pool.if_stuck {
            self.namespace(format!("{keys}.if_stuck.kubernetes"), pods.namespace.as_ref());
        }
        if let Some(Restart::Rollout(rollout)) = &pool.if_stuck {
            self.namespace(format!("{keys}.if_stuck.kubernetes"), rollout.namespace.as_ref());
        }
        if let Some(url) = &pool.ready {
            self.template(format!("{keys}.ready"), url, OF_INSTANCE);
        }
        self.restart(keys, pool);
    }

    fn command(&mut self, keys: String, command: &Command) {
        let How::Http {
            method, url, check, ..
        } = &command.how
        else {
            return;
        };
        let method = method.as_str().to_lowercase();
        self.template(format!("{keys}.http.{method}"), url, OF_INSTANCE);
        if let Some(check) = check {
            self.template(format!("{keys}.http.check.get"), &check.url, OF_INSTANCE);
        }
    }

    /// A program that names no instance would restart the same thing for each.
    fn restart(&mut self, keys: String, pool: &PoolDrain) {
        let words = match &pool.if_stuck {
            Some(Restart::Command { run, .. }) => run.as_slice(),
            Some(Restart::Rollout(rollout)) => std::slice::from_ref(&rollout.name),
            _ => return,
        };
        let places: Vec<String> = OF_INSTANCE.iter().map(|name| format!("{{{name}}}")).collect();
        let is_told_apart = words.iter().any(|w| places.iter().any(|p| w.contains(p)));
        if !is_told_apart && self.drill.targets.instances.len() > 1 {
            let bad = Bad::new("the restart names no instance, and there are several targets")
                .help("write `{instance}`, `{host}` or `{target}` where the instance belongs");
            self.note(
                Severity::Error,
                Problem::BadValue,
                format!("{keys}.if_stuck"),
                bad,
            );
        }
    }
}

/// What a place that is filled for an instance gives.
const OF_INSTANCE: &[&str] = &["instance", "host", "target"];
