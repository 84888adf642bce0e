//! One file per outside system: what it can break, put back and read.
//!
//! Every call has a time limit, every answer a size limit; texts from outside are stripped before they are shown.

pub mod command;
pub mod error;
pub mod haproxy;
pub mod http;
pub mod kafka;
pub mod kubernetes;
pub mod lease;
pub mod load;
pub mod place;
pub mod point;
pub mod redis;
pub mod resilience4j;
pub mod restart_http;
pub mod retry_http;
pub mod rocketmq;
pub mod sentinel;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
pub mod unanswered;
pub mod webhook;

use std::path::Path;

use serde_json::Value;

use crate::model::{
    environment::{Environment, SecretRef, Webhook},
    ids::{InstanceName, RunId, ServerName},
    lease::Holder,
    plan::Plan,
    secret::{SecretText, Secrets},
    time::Span,
};

use command::Ended;
use error::DriverError;
use haproxy::{Haproxy, Socket};
use http::Http;
use kafka::KafkaCluster;
use kubernetes::Kubernetes;
use lease::AskedFor;
use load::Loads;
use place::{PlaceError, Places};
use point::PointApi;
use redis::RedisServer;
use resilience4j::Resilience4j;
use retry_http::RetryHttp;
use rocketmq::RocketmqCluster;
use sentinel::Sentinel;
use unanswered::Unanswered;

/// How long recovery waits for outside systems. The defaults are meant for real ones; tests shorten them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For a connection.
    pub connect: Span,
    /// For one whole call.
    pub call: Span,
    /// After a create without an answer: how long it may still land.
    pub late: Span,
    /// For one recovery step that changes things, retries included.
    pub step: Span,
    /// For breakers to be closed by real calls.
    pub confirm: Span,
    /// For a guard to hold again before traffic goes on.
    pub guard: Span,
    /// Between two looks.
    pub poll: Span,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Span::seconds(2),
            call: Span::seconds(5),
            late: Span::seconds(6),
            step: Span::seconds(20),
            confirm: Span::seconds(60),
            guard: Span::seconds(120),
            poll: Span::millis(250),
        }
    }
}

/// The clients of one run.
#[derive(Debug)]
pub struct Drivers {
    http: Http,
    environment: Environment,
    run: RunId,
    folder: String,
    secrets: Secrets,
    patience: Patience,
    loads: Loads,
    unanswered: Unanswered,
    unanswered_switches: Unanswered<String>,
    kubernetes: Option<Kubernetes>,
    holder: Holder,
    lease_asked_for: AskedFor,
}

impl Drivers {
    /// The clients of a run, connected to nothing yet.
    ///
    /// # Errors
    /// [`DriverError::Setup`].
    pub fn new(plan: &Plan, secrets: Secrets) -> Result<Self, DriverError> {
        Self::with_patience(plan, secrets, Patience::default())
    }

    /// The same with other time limits.
    ///
    /// # Errors
    /// [`DriverError::Setup`].
    pub fn with_patience(plan: &Plan, secrets: Secrets, patience: Patience) -> Result<Self, DriverError> {
        // Another part of the process may have installed it already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        raise_file_limit();
        Ok(Self {
            http: Http::new(patience.connect, patience.call)?,
            kubernetes: plan
                .environment
                .kubernetes
                .clone()
                .map(|cluster| Kubernetes::new(cluster, patience.connect, patience.call)),
            environment: plan.environment.clone(),
            run: plan.run.clone(),
            folder: plan.drill_folder.clone(),
            secrets,
            patience,
            loads: Loads::default(),
            unanswered: Unanswered::default(),
            unanswered_switches: Unanswered::default(),
            holder: lease::holder(plan),
            lease_asked_for: AskedFor::default(),
        })
    }

    /// The time limits.
    pub fn patience(&self) -> Patience {
        self.patience
    }

    /// The HTTP client.
    pub fn http(&self) -> &Http {
        &self.http
    }

    /// Fills templates of addresses.
    pub fn places(&self) -> Places<'_> {
        Places::new(&self.environment, &self.run)
    }

    /// The injection-point API.
    pub fn point(&self) -> PointApi<'_> {
        PointApi::new(&self.http)
    }

    /// The base of an instance's injection-point API: `http://host:port`.
    ///
    /// # Errors
    /// [`PlaceError::NoAddress`].
    pub fn point_base(&self, instance: &InstanceName) -> Result<String, PlaceError> {
        Ok(format!("http://{}", self.places().address(instance)?))
    }

    /// Circuit breakers.
    pub fn resilience4j(&self) -> Resilience4j<'_> {
        Resilience4j::new(&self.http)
    }

    /// Sentinel's rules.
    pub fn sentinel(&self) -> Sentinel<'_> {
        Sentinel::new(&self.http)
    }

    /// A backend at a load balancer: `host:port`, a socket path or a name of the environment.
    ///
    /// # Errors
    /// [`DriverError::Place`].
    pub fn haproxy(&self, socket: &str, backend: &str) -> Result<Haproxy, DriverError> {
        let socket = Socket::find(socket, &self.environment)?;
        Haproxy::new(socket, backend, self.patience.connect, self.patience.call)
    }

    /// A Redis server of the environment.
    ///
    /// # Errors
    /// [`DriverError`] if the environment has none of that name, or its secret is not known.
    pub fn redis(&self, name: &ServerName) -> Result<RedisServer, DriverError> {
        let server = self.known(name.as_str(), self.environment.redis.get(name))?;
        let Patience {
            connect, call, step, ..
        } = self.patience;
        RedisServer::new(name, server, &self.secrets, [connect, call, step])
    }

    /// A Kafka cluster of the environment.
    ///
    /// # Errors
    /// [`DriverError`] if the environment has none of that name, its secret is not known, or its files cannot be read.
    pub fn kafka(&self, name: &ServerName) -> Result<KafkaCluster, DriverError> {
        let cluster = self.known(name.as_str(), self.environment.kafka.get(name))?;
        let Patience { connect, call, .. } = self.patience;
        KafkaCluster::new(
            name,
            cluster,
            &self.secrets,
            [connect, call],
            self.unanswered.clone(),
        )
    }

    /// Changes of Kafka's quotas and of RocketMQ's groups that nobody answered.
    pub fn unanswered(&self) -> &Unanswered {
        &self.unanswered
    }

    /// A RocketMQ cluster of the environment.
    ///
    /// # Errors
    /// [`DriverError`] if the environment has none of that name, or its secret is not known.
    pub fn rocketmq(&self, name: &ServerName) -> Result<RocketmqCluster, DriverError> {
        let cluster = self.known(name.as_str(), self.environment.rocketmq.get(name))?;
        let Patience { connect, call, .. } = self.patience;
        RocketmqCluster::new(
            name,
            cluster,
            &self.secrets,
            [connect, call],
            self.unanswered.clone(),
        )
    }

    /// The environment's Kubernetes cluster.
    ///
    /// # Errors
    /// [`DriverError::Place`] if it has none.
    pub fn kubernetes(&self) -> Result<&Kubernetes, DriverError> {
        Ok(self.known("kubernetes", self.kubernetes.as_ref())?)
    }

    /// Retry queues with a switch of their own.
    pub fn retry(&self) -> RetryHttp<'_> {
        RetryHttp::new(&self.http, &self.unanswered_switches)
    }

    /// The loads of this process.
    pub fn loads(&self) -> &Loads {
        &self.loads
    }

    /// Asks for the restart of an instance.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn restart(&self, url: &str) -> Result<(), DriverError> {
        restart_http::restart(&self.http, url).await
    }

    /// Runs a command in the drill file's folder.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn run(&self, argv: &[String], limit: Span) -> Result<Ended, DriverError> {
        command::run(argv, Path::new(&self.folder), limit, &self.secrets).await
    }

    /// A text without the secrets of this run.
    pub fn mask(&self, text: &str) -> String {
        self.secrets.mask(text)
    }

    /// Proves that the program of a command is there, running nothing.
    ///
    /// # Errors
    /// [`DriverError::NotThere`].
    pub fn proves_program(&self, argv: &[String]) -> Result<(), DriverError> {
        command::proves_program(argv, Path::new(&self.folder)).map(|_| ())
    }

    /// Tells someone; tries three times.
    ///
    /// # Errors
    /// The last try's error.
    pub async fn tell(&self, hook: &Webhook, message: &Value) -> Result<(), DriverError> {
        webhook::tell(&self.http, &self.secrets, hook, message).await
    }

    /// What the environment has under a name, if it has it.
    fn known<'d, T>(&self, name: &str, found: Option<&'d T>) -> Result<&'d T, PlaceError> {
        found.ok_or_else(|| PlaceError::NoAddress {
            name: name.to_owned(),
            environment: self.environment.name.to_string(),
        })
    }

    fn secret<'s>(
        secrets: &'s Secrets,
        place: &SecretRef,
        what: &str,
    ) -> Result<&'s SecretText, DriverError> {
        secrets.get(place).ok_or_else(|| DriverError::NoSecret {
            what: what.to_owned(),
            secret: match place {
                SecretRef::Env(name) => format!("${name}"),
                SecretRef::File(path) => format!("in file {path}"),
            },
        })
    }
}

/// A thousand instances at once need more sockets than the usual soft limit; the hard limit is the user's own.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum.map(|m| m.min(65_536)).or(Some(65_536)),
        maximum: limit.maximum,
    };
    if limit.current < raised.current {
        // Where it is not allowed, recovery works with fewer connections at once.
        let _ = setrlimit(Resource::Nofile, raised);
    }
}
