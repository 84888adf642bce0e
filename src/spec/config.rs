//! allclear.yaml: environments and settings.

use std::collections::BTreeMap;

use super::{
    dashboard::key_name,
    diagnostic::Problem,
    fields::Fields,
    lease,
    names::meant,
    redis,
    report::Report,
    rocketmq, secret,
    shape::{Form, Scalar},
    shapes::config::{CONFIG, ENVIRONMENT, KAFKA, REDIS},
    single,
    steps::headers,
    tree::{Entry, Node},
    values::{self, Bad, quoted},
};
use crate::model::{
    environment::{
        Auth, ClientCert, Environment, Kafka, KafkaLogin, KafkaSasl, KafkaTls, Kubernetes, MetricsSource,
        Prometheus, Stage, Webhook,
    },
    ids::{EnvironmentName, InstanceName, ServerName, ServiceName},
    text::Lang,
};

/// The environment that is built in; a file cannot have one of this name.
const BUILT_IN: &str = "range";

/// What `allclear.yaml` says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    /// The environments, without the built-in `range`.
    pub environments: BTreeMap<EnvironmentName, Environment>,
    /// The environment that is used when none is named.
    pub default: Option<EnvironmentName>,
    /// More folders where dashboards are looked for.
    pub dashboards: Vec<String>,
    /// The language of screens and reports.
    pub lang: Option<Lang>,
    /// Where runs are kept.
    pub state_dir: Option<String>,
}

pub(super) fn read(report: &Report, tree: &Node) -> Option<Config> {
    let fields = Fields::open(report, tree, &CONFIG)?;
    let entries = fields.named("environments");
    let environments = entries
        .iter()
        .filter_map(|entry| read_entry(report, entry))
        .collect();
    let default = fields.name("default", EnvironmentName::new);
    if let Some(name) = &default
        && name.as_str() != BUILT_IN
        && !entries.iter().any(|entry| entry.key == name.as_str())
    {
        let names = entries.iter().map(|e| e.key.as_str()).chain([BUILT_IN]);
        let bad = Bad::new(format!("there is no environment `{name}`")).help(meant(
            name.as_str(),
            "environments",
            names,
        ));
        fields.wrong("default", Problem::UnknownName, bad);
    }
    Some(Config {
        environments,
        default,
        dashboards: fields.ones("dashboards", values::token),
        lang: fields
            .word("lang")
            .map(|word| if word == "zh" { Lang::Zh } else { Lang::En }),
        state_dir: fields.one("state_dir", values::token),
    })
}

fn read_entry(report: &Report, entry: &Entry) -> Option<(EnvironmentName, Environment)> {
    let name = key_name(report, &entry.key, &entry.key_span, EnvironmentName::new);
    if entry.key == BUILT_IN {
        let bad = Bad::new("the environment `range` is built in").help("give this one another name");
        report.error(&entry.key_span, Problem::DuplicateName, bad);
    }
    let fields = Fields::open(report, &entry.value, &ENVIRONMENT)?;
    let stage = fields.word("stage").map(|word| match word.as_str() {
        "practice" => Stage::Practice,
        "preprod" => Stage::Preprod,
        "shadow" => Stage::Shadow,
        _ => Stage::Production,
    });
    let metrics = read_source(&fields);
    let services = read_services(&fields);
    let redis_servers = servers(&fields, "redis", |node| {
        redis::read(&Fields::open(report, node, &REDIS)?)
    });
    let kafka = servers(&fields, "kafka", |node| {
        read_kafka(&Fields::open(report, node, &KAFKA)?)
    });
    let kubernetes = fields.map("kubernetes").map(|cluster| read_kubernetes(&cluster));
    let socket = Form::One(Scalar::Socket);
    let rocketmq_clusters = servers(&fields, "rocketmq", |node| rocketmq::read_cluster(report, node));
    let gateways = servers(&fields, "gateways", |node| {
        single::one(report, node, &socket, values::socket)
    });
    let notify = fields
        .maps("notify")
        .iter()
        .filter_map(|n| read_webhook(&n.map("webhook")?))
        .collect();
    let name = name?;
    let lease = lease::read(&fields, &name, kubernetes.iter().flatten().next());
    let environment = Environment {
        name: name.clone(),
        stage: stage?,
        metrics: metrics?,
        services,
        redis: redis_servers,
        kafka,
        rocketmq: rocketmq_clusters,
        kubernetes: match kubernetes {
            Some(cluster) => Some(cluster?),
            None => None,
        },
        gateways,
        lease,
        notify,
    };
    Some((name, environment))
}

fn read_source(fields: &Fields) -> Option<MetricsSource> {
    if let Some(scrape) = fields.map("scrape") {
        let (every, path) = (scrape.some_time("every"), scrape.one_or("path", path));
        return Some(MetricsSource::Scrape {
            every: every?,
            path: path?,
        });
    }
    fields
        .map("prometheus")
        .and_then(|p| read_prometheus(&p))
        .map(MetricsSource::Prometheus)
}

fn path(text: &str) -> Result<String, Bad> {
    let path = values::token(text)?;
    if path.starts_with('/') && !path.contains(' ') {
        Ok(path)
    } else {
        Err(Bad::new(format!("{} is not a path", quoted(text))).help("begin with `/`"))
    }
}

fn read_prometheus(fields: &Fields) -> Option<Prometheus> {
    let url = web_address(fields, "url");
    let every = fields.some_time("every");
    let scrape_interval = fields.some_time("scrape_interval");
    let auth = match fields.has("auth") {
        true => fields.map("auth").and_then(|auth| read_auth(&auth)),
        false => Some(Auth::None),
    };
    let ca_file = fields.one("ca", values::token);
    let client_cert = read_client_cert(fields);
    let timeout = fields.some_time("timeout");
    secret::no_secret_headers(fields, "headers", "use `auth`: it takes `\"${NAME}\"` or a file");
    let headers = headers(fields, "headers");
    let targets_path = fields.one_or("targets_path", path);
    Some(Prometheus {
        url: url?,
        every: every?,
        scrape_interval,
        auth: auth?,
        ca_file,
        client_cert,
        timeout: timeout?,
        headers,
        targets_path: targets_path?,
    })
}

fn read_client_cert(fields: &Fields) -> Option<ClientCert> {
    let cert = fields.map("client_cert")?;
    let (cert_file, key_file) = (cert.one("cert", values::token), cert.one("key", values::token));
    Some(ClientCert {
        cert_file: cert_file?,
        key_file: key_file?,
    })
}

fn web_address(fields: &Fields, key: &str) -> Option<String> {
    fields
        .one(key, values::url(&[]))
        .map(|url| url.trim_end_matches('/').to_owned())
}

fn read_auth(fields: &Fields) -> Option<Auth> {
    if let Some(basic) = fields.map("basic") {
        let (user, password) = (basic.one("user", values::token), secret::read(&basic, "password"));
        return Some(Auth::Basic {
            user: user?,
            password: password?,
        });
    }
    secret::read(fields, "bearer").map(|token| Auth::Bearer { token })
}

fn read_services(fields: &Fields) -> BTreeMap<ServiceName, BTreeMap<InstanceName, String>> {
    let report = fields.report;
    let form = Form::One(Scalar::Address);
    let mut seen: Vec<&Entry> = Vec::new();
    let mut services = BTreeMap::new();
    for service in fields.named("services") {
        let name = key_name(report, &service.key, &service.key_span, ServiceName::new);
        let mut instances = BTreeMap::new();
        for instance in single::named(report, &service.value) {
            if let Some(first) = seen.iter().find(|other| other.key == instance.key) {
                let bad = Bad::new(format!(
                    "{} is an instance twice; first in line {}",
                    quoted(&instance.key),
                    report.line(&first.key_span)
                ))
                .help("an instance's name is used without its service, so each stands once");
                report.error(&instance.key_span, Problem::DuplicateName, bad);
            }
            seen.push(instance);
            let id = key_name(report, &instance.key, &instance.key_span, InstanceName::new);
            let address = single::one(report, &instance.value, &form, values::address);
            instances.extend(id.zip(address));
        }
        services.extend(name.map(|name| (name, instances)));
    }
    services
}

fn servers<T>(fields: &Fields, key: &str, read: impl Fn(&Node) -> Option<T>) -> BTreeMap<ServerName, T> {
    fields
        .named(key)
        .into_iter()
        .filter_map(|entry| {
            let name = key_name(fields.report, &entry.key, &entry.key_span, ServerName::new);
            let value = read(&entry.value);
            name.zip(value)
        })
        .collect()
}

fn read_kafka(fields: &Fields) -> Option<Kafka> {
    let bootstrap = fields.ones("bootstrap", values::address);
    if fields.is_empty_list("bootstrap") {
        fields.wrong(
            "bootstrap",
            Problem::MissingKey,
            Bad::new("a cluster without an address"),
        );
    }
    let tls = fields.map("tls").map(|tls| KafkaTls {
        ca_file: tls.one("ca", values::token),
        client_cert: read_client_cert(&tls),
    });
    let sasl = match fields.map("sasl") {
        Some(sasl) => Some(read_sasl(&sasl)?),
        None => None,
    };
    if let (Some(KafkaSasl::Plain(_)), None) = (&sasl, &tls) {
        let bad =
            Bad::new("PLAIN without TLS sends the password as it is").help("add `tls: {}`, or use SCRAM");
        fields.doubtful("sasl", bad);
    }
    Some(Kafka { bootstrap, tls, sasl })
}

fn read_sasl(fields: &Fields) -> Option<KafkaSasl> {
    let login = |key| {
        let login = fields.map(key)?;
        let (user, password) = (login.one("user", values::token), secret::read(&login, "password"));
        Some(KafkaLogin {
            user: user?,
            password: password?,
        })
    };
    let plain = login("plain").map(KafkaSasl::Plain);
    let sha_256 = || login("scram_sha_256").map(KafkaSasl::ScramSha256);
    let sha_512 = || login("scram_sha_512").map(KafkaSasl::ScramSha512);
    plain.or_else(sha_256).or_else(sha_512)
}

fn read_kubernetes(fields: &Fields) -> Option<Kubernetes> {
    let kubeconfig = fields.one("kubeconfig", values::token);
    let context = fields.one("context", values::token);
    let namespaces = fields.ones("namespaces", super::kubernetes::namespace);
    if fields.is_empty_list("namespaces") {
        let bad = Bad::new("no namespace is allowed").help("name those that allclear may touch: `[shop]`");
        fields.wrong("namespaces", Problem::MissingKey, bad);
        return None;
    }
    super::dashboard::each_once(fields.report, fields.list("namespaces").into_iter());
    fields.has("namespaces").then_some(Kubernetes {
        kubeconfig,
        context,
        namespaces,
    })
}

fn read_webhook(fields: &Fields) -> Option<Webhook> {
    let url = web_address(fields, "url");
    let token = secret::read(fields, "token");
    Some(Webhook { url: url?, token })
}
