//! An environment: where the system under drill can be reached, and how far allclear may go there.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    ids::{EnvironmentName, InstanceName, Namespace, ServerName, ServiceName},
    lease::LeasePlace,
    text::Lang,
    text::Word,
    time::Span,
};

/// One environment of `allclear.yaml`, checked. Holds no secret, only where each is found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Its name.
    pub name: EnvironmentName,
    /// How careful one must be.
    pub stage: Stage,
    /// Where metrics come from.
    pub metrics: MetricsSource,
    /// The services and their instances: `host:port` each.
    pub services: BTreeMap<ServiceName, BTreeMap<InstanceName, String>>,
    /// Redis servers.
    pub redis: BTreeMap<ServerName, Redis>,
    /// Kafka clusters.
    #[serde(default)]
    pub kafka: BTreeMap<ServerName, Kafka>,
    /// RocketMQ clusters.
    #[serde(default)]
    pub rocketmq: BTreeMap<ServerName, Rocketmq>,
    /// The Kubernetes cluster.
    #[serde(default)]
    pub kubernetes: Option<Kubernetes>,
    /// Load balancers: `host:port` or a unix socket path.
    pub gateways: BTreeMap<ServerName, String>,
    /// Where it is said, to every machine, that a run is on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeasePlace>,
    /// Who is told.
    pub notify: Vec<Webhook>,
}

impl Environment {
    /// The address of an instance of a service.
    pub fn address(&self, service: &ServiceName, instance: &InstanceName) -> Option<&str> {
        self.services.get(service)?.get(instance).map(String::as_str)
    }

    /// The address of an instance, whichever service it belongs to.
    pub fn address_of(&self, instance: &InstanceName) -> Option<&str> {
        self.services
            .values()
            .find_map(|instances| instances.get(instance))
            .map(String::as_str)
    }
}

/// How careful one must be.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The built-in range.
    Practice,
    /// Before production.
    Preprod,
    /// A copy of production's traffic.
    Shadow,
    /// Real users.
    Production,
}

impl Word for Stage {
    fn word(&self, lang: Lang) -> &'static str {
        match self {
            Stage::Practice => lang.pick("PRACTICE", "靶场"),
            Stage::Preprod => lang.pick("PREPROD", "预发"),
            Stage::Shadow => lang.pick("SHADOW", "影子"),
            Stage::Production => lang.pick("PRODUCTION", "生产"),
        }
    }
}

/// Where metrics come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricsSource {
    /// A Prometheus server.
    Prometheus(Prometheus),
    /// Every instance's own `/metrics`, read by allclear itself.
    Scrape {
        /// How often.
        every: Span,
        /// The path on each instance, usually `/metrics`.
        path: String,
    },
}

/// A Prometheus server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prometheus {
    /// Its base URL.
    pub url: String,
    /// How often it is asked.
    pub every: Span,
    /// The scrape interval of the server, if known; otherwise learnt from the samples.
    pub scrape_interval: Option<Span>,
    /// How allclear shows who it is.
    pub auth: Auth,
    /// A PEM file with the authority that signed the server's certificate.
    pub ca_file: Option<String>,
    /// PEM files with allclear's own certificate and key, for mutual TLS.
    pub client_cert: Option<ClientCert>,
    /// The time limit of one query.
    pub timeout: Span,
    /// More headers on each query, such as a tenant.
    pub headers: BTreeMap<String, String>,
    /// The path of the instances' own metrics page, which tripwires are read from.
    #[serde(default = "metrics_page")]
    pub targets_path: String,
}

/// Plans of before the path could be said.
fn metrics_page() -> String {
    "/metrics".to_owned()
}

/// A client certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientCert {
    /// The certificate chain, PEM.
    pub cert_file: String,
    /// Its key, PEM.
    pub key_file: String,
}

/// How allclear shows who it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// It does not.
    #[default]
    None,
    /// HTTP basic authentication.
    Basic {
        /// The user.
        user: String,
        /// The password.
        password: SecretRef,
    },
    /// A bearer token.
    Bearer {
        /// The token.
        token: SecretRef,
    },
}

/// Where a secret is found. Never the secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretRef {
    /// An environment variable.
    Env(String),
    /// A file; its last newline is dropped.
    File(String),
}

/// A Redis: one server, or several that are one to their clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redis {
    /// Where its master is, or its masters are.
    #[serde(flatten)]
    pub place: RedisPlace,
    /// The ACL user.
    pub user: Option<String>,
    /// The password.
    pub password: Option<SecretRef>,
    /// The database number; 0 in a cluster.
    pub db: u32,
    /// Encryption; without it connections are plain.
    #[serde(default)]
    pub tls: Option<Tls>,
}

/// Where a Redis' master is, or its masters are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RedisPlace {
    /// At `host:port`.
    Address(String),
    /// Where Sentinels say.
    Sentinel(Sentinels),
    /// All over a cluster.
    Cluster(RedisCluster),
}

/// Sentinels that watch a master.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sentinels {
    /// The master's name.
    pub master: String,
    /// All Sentinels, `host:port` each.
    pub addresses: Vec<String>,
    /// The ACL user at the Sentinels.
    pub user: Option<String>,
    /// The password at the Sentinels.
    pub password: Option<SecretRef>,
}

/// A Redis cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedisCluster {
    /// Some of its nodes, `host:port` each: the others are found through them.
    pub addresses: Vec<String>,
}

/// How connections are encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    /// A PEM file with the authority that signed the server's certificate; the system's authorities otherwise.
    pub ca_file: Option<String>,
    /// allclear's own certificate, for mutual TLS.
    pub client_cert: Option<ClientCert>,
}

/// A Kafka cluster. Neither `tls` nor `sasl` is plaintext.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kafka {
    /// `host:port` of the brokers that are asked first.
    pub bootstrap: Vec<String>,
    /// TLS, if the brokers' listener has it.
    pub tls: Option<KafkaTls>,
    /// The login, if the brokers' listener wants one.
    pub sasl: Option<KafkaSasl>,
}

/// TLS towards Kafka.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct KafkaTls {
    /// A PEM file with the authority that signed the brokers' certificates; the system's own authorities if left out.
    pub ca_file: Option<String>,
    /// allclear's own certificate, for mutual TLS.
    pub client_cert: Option<ClientCert>,
}

/// How allclear logs in at Kafka.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KafkaSasl {
    /// The password is sent as it is: only over TLS, or where nobody listens.
    Plain(KafkaLogin),
    /// SCRAM-SHA-256.
    ScramSha256(KafkaLogin),
    /// SCRAM-SHA-512.
    ScramSha512(KafkaLogin),
}

impl KafkaSasl {
    /// The user and the place of the password.
    pub fn login(&self) -> &KafkaLogin {
        match self {
            KafkaSasl::Plain(login) | KafkaSasl::ScramSha256(login) | KafkaSasl::ScramSha512(login) => login,
        }
    }
}

/// A Kafka user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KafkaLogin {
    /// The user.
    pub user: String,
    /// The password.
    pub password: SecretRef,
}

/// A RocketMQ cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rocketmq {
    /// `host:port` of the name servers, asked one after another.
    pub nameservers: Vec<String>,
    /// The login, if the brokers want one.
    pub login: Option<RocketmqLogin>,
}

/// A RocketMQ user. Requests are signed: the secret key itself is never sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RocketmqLogin {
    /// The access key: the user's name.
    pub access_key: String,
    /// The secret key.
    pub secret_key: SecretRef,
}

/// A Kubernetes cluster, as a kubeconfig describes it. Its secrets stay in that file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kubernetes {
    /// The kubeconfig. In a plan it is there, and absolute: the keeper reads the file itself, whenever it connects.
    pub kubeconfig: Option<String>,
    /// The context. In a plan it is there: whoever switches the file's current context meanwhile changes nothing.
    pub context: Option<String>,
    /// What allclear may touch. Anything else is refused.
    pub namespaces: Vec<Namespace>,
}

/// Who is told over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// Where the JSON is posted.
    pub url: String,
    /// A bearer token, if one is needed.
    pub token: Option<SecretRef>,
}
