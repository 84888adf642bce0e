//! Recovery playbooks.

use std::collections::BTreeMap;

use super::{
    diagnostic::Problem,
    fields::Fields,
    look::{Look, level},
    shapes::playbook::{PLAYBOOK, SENTINEL_RULES, VIA},
    single,
    tree::Value,
    values::{self, Bad, quoted},
};
use crate::model::{
    amount::Share,
    ids::{CommandName, ServerName, ServiceName},
    playbook::{
        Breakers, Command, Flags, Gateway, How, HttpCheck, KafkaQueue, Method, OffsetReset, Playbook,
        PoolDrain, Restart, RetryQueue, SentinelRules, Via,
    },
    recovery::StepId,
    time::Span,
};

/// Where the service half-opens a breaker unless the file says otherwise.
const HALF_OPEN: &str = "http://{instance}/app/breakers/{name}/half-open";
/// More breakers or stages than this are surely a slip.
const MANY: usize = 100;

pub(super) fn read(fields: &Fields, look: Look) -> Option<Playbook> {
    let gateway = fields.map("gateway").map(|gateway| read_gateway(&gateway));
    let breakers = all(fields, "breakers", read_breakers);
    let flags = all(fields, "flags", |f| read_flags(&f.map("redis")?));
    let retry_queues = all(fields, "retry_queues", read_queue);
    let pools = all(fields, "pools", |f| read_pool(f, look));
    let commands = all(fields, "commands", read_command);
    let command_names: Vec<Fields> = fields.maps("commands");
    super::dashboard::each_once(fields.report, command_names.iter().filter_map(|c| c.node("name")));
    let (hold, verify_within) = match fields.map("verify") {
        Some(verify) => read_verify(&verify),
        None => (default_of("hold"), default_of("within")),
    };
    Some(Playbook {
        gateway: match gateway {
            Some(gateway) => Some(gateway?),
            None => None,
        },
        breakers: breakers?,
        flags: flags?,
        retry_queues: retry_queues?,
        pools: pools?,
        commands: commands?,
        hold: hold?,
        verify_within: verify_within?,
    })
}

fn all<T>(fields: &Fields, key: &str, read: impl Fn(&Fields) -> Option<T>) -> Option<Vec<T>> {
    let read: Vec<Option<T>> = fields.maps(key).iter().map(read).collect();
    read.into_iter().collect()
}

fn read_gateway(fields: &Fields) -> Option<Gateway> {
    let haproxy = fields.map("haproxy")?;
    let sockets = read_sockets(&haproxy);
    let backend = haproxy.one("backend", plain_word);
    let ramp = match haproxy.has("ramp") {
        true => read_ramp(&haproxy),
        false => Some(vec![Share(0.1), Share(0.3), Share::ALL]),
    };
    let hold = haproxy.some_time("hold");
    Some(Gateway::Haproxy {
        sockets: sockets?,
        backend: backend?,
        ramp: ramp?,
        hold: hold?,
    })
}

/// One socket, or a list of them.
fn read_sockets(haproxy: &Fields) -> Option<Vec<String>> {
    let node = haproxy.node("socket")?;
    if !matches!(node.value, Value::List(_)) {
        return haproxy.one("socket", values::token).map(|socket| vec![socket]);
    }
    let sockets = haproxy.ones("socket", values::token);
    if sockets.is_empty() || sockets.len() > MANY {
        let bad = Bad::new(format!("1 to {MANY} load balancers"));
        haproxy.wrong("socket", Problem::BadValue, bad);
        return None;
    }
    super::dashboard::each_once(haproxy.report, haproxy.list("socket").into_iter());
    Some(sockets)
}

/// A word that is sent to a line protocol: nothing in it may end or split the line.
fn plain_word(text: &str) -> Result<String, Bad> {
    let word = values::token(text)?;
    match word.find([' ', ';', '/', '\\']) {
        Some(at) => Err(Bad::new(format!("{} is not one plain word", quoted(text))).at(at)),
        None => Ok(word),
    }
}

fn read_ramp(fields: &Fields) -> Option<Vec<Share>> {
    let stages = fields.list("ramp").len();
    let ramp = fields.ones("ramp", values::share);
    if ramp.len() < stages {
        return None;
    }
    let rising = ramp.windows(2).all(|pair| pair[0] < pair[1]);
    if !rising || ramp.last() != Some(&Share::ALL) || stages > MANY {
        let bad = Bad::new("the stages of a ramp rise and end with 100%").help("write `[10%, 30%, 100%]`");
        fields.wrong("ramp", Problem::BadValue, bad);
    }
    Some(ramp)
}

fn read_breakers(fields: &Fields) -> Option<Breakers> {
    match fields.map("sentinel") {
        Some(sentinel) => read_sentinel(&sentinel),
        None => read_resilience4j(&fields.map("resilience4j")?),
    }
}

fn read_sentinel(fields: &Fields) -> Option<Breakers> {
    let api = fields.one("api", |text| {
        values::url(&[])(text).and_then(|url| match url.contains("{instance}") || url.contains("{host}") {
            true => Ok(url),
            false => Err(Bad::new("the URL lacks `{instance}` or `{host}`")
                .help("`{instance}` becomes host and port of each instance, `{host}` its host: `http://{host}:8719`")),
        })
    });
    let callers = fields.name("callers", ServiceName::new);
    let rules = fields.ones("rules", sentinel_rules);
    if fields.is_empty_list("rules") {
        fields.wrong(
            "rules",
            Problem::MissingKey,
            Bad::new("no list of rules is named"),
        );
    }
    super::dashboard::each_once(fields.report, fields.list("rules").into_iter());
    Some(Breakers::Sentinel {
        api: api?,
        callers: callers?,
        rules,
    })
}

fn sentinel_rules(text: &str) -> Result<SentinelRules, Bad> {
    Ok(match single::word(&SENTINEL_RULES, text)?.as_str() {
        "flow" => SentinelRules::Flow,
        _ => SentinelRules::Degrade,
    })
}

fn read_resilience4j(fields: &Fields) -> Option<Breakers> {
    let actuator = fields.one("actuator", values::url(&["{instance}"]));
    let callers = fields.name("callers", ServiceName::new);
    let names = fields.ones("names", values::token);
    if fields.is_empty_list("names") {
        fields.wrong("names", Problem::MissingKey, Bad::new("breakers without a name"));
    }
    super::dashboard::each_once(fields.report, fields.list("names").into_iter());
    let via = read_via(fields);
    Some(Breakers::Resilience4j {
        actuator: actuator?,
        callers: callers?,
        names,
        via: via?,
    })
}

fn read_via(fields: &Fields) -> Option<Via> {
    if let Some(node) = fields
        .node("via")
        .filter(|node| matches!(node.value, Value::Map(_)))
    {
        let via = Fields::open(fields.report, node, &VIA)?;
        let Some(wait) = via.map("wait") else {
            let url = via.one("app", values::url(&["{instance}", "{name}"]));
            return Some(Via::App { url: url? });
        };
        let (url, after) = (
            wait.one("probe", values::url(&["{instance}"])),
            wait.some_time("after"),
        );
        return Some(Via::Probe {
            url: url?,
            after: after?,
        });
    }
    fields.word("via").map(|word| match word.as_str() {
        "close" => Via::Close,
        "wait" => Via::Wait,
        _ => Via::App {
            url: HALF_OPEN.to_owned(),
        },
    })
}

fn read_flags(fields: &Fields) -> Option<Flags> {
    let server = fields.name("server", ServerName::new);
    let pattern = match fields.has("prefix") {
        true => fields.one("prefix", prefix),
        false => fields.one("match", glob),
    };
    let at_most = fields.one("at_most", values::whole(1, 10_000_000));
    Some(Flags::Redis {
        server: server?,
        pattern: pattern?,
        at_most: at_most?,
    })
}

/// A glob that begins with some text of its own: one that begins with a wildcard could match what is not a flag.
fn glob(text: &str) -> Result<String, Bad> {
    let glob = values::token(text)?;
    if glob.starts_with(['*', '?', '[']) {
        return Err(Bad::new(format!(
            "{} begins with a wildcard and could match anything",
            quoted(text)
        ))
        .help("begin with the flags' own prefix, such as `degrade:order:*`"));
    }
    Ok(glob)
}

/// The glob of all keys that begin so: what would be a wildcard means itself.
fn prefix(text: &str) -> Result<String, Bad> {
    let mut glob = String::new();
    for c in values::token(text)?.chars() {
        if "*?[]\\".contains(c) {
            glob.push('\\');
        }
        glob.push(c);
    }
    Ok(glob + "*")
}

fn read_queue(fields: &Fields) -> Option<RetryQueue> {
    if let Some(kafka) = fields.map("kafka") {
        return read_kafka_queue(&kafka).map(RetryQueue::Kafka);
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
    super::dashboard::each_once(fields.report, fields.list("clients").into_iter());
    let (rate, within) = read_release(fields);
    Some(KafkaQueue {
        cluster: cluster?,
        topic: topic?,
        group: group?,
        reset: reset?,
        user,
        clients,
        rate: rate?,
        within: within?,
    })
}

fn read_release(fields: &Fields) -> (Option<f64>, Option<Span>) {
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

fn read_pool(fields: &Fields, look: Look) -> Option<PoolDrain> {
    let wait = fields.some_time("wait");
    let if_stuck = fields.map("if_stuck").map(|stuck| read_restart(&stuck));
    let scrape_holds = fields.one_or("scrape_holds", at_least_zero);
    let ready = fields
        .has("ready")
        .then(|| fields.one("ready", values::url(&["{instance}"])));
    let seen = look.seen(fields)?;
    let idle = level(fields, "idle_at_most", seen.metric.unit);
    Some(PoolDrain {
        metric: seen.metric.id.clone(),
        scope: seen.scope,
        idle_at_most: idle?,
        wait: wait?,
        if_stuck: match if_stuck {
            Some(restart) => Some(restart?),
            None => None,
        },
        scrape_holds: scrape_holds?,
        ready: match ready {
            Some(ready) => Some(ready?),
            None => None,
        },
    })
}

fn at_least_zero(text: &str) -> Result<f64, Bad> {
    match values::number(text)? {
        n if n >= 0.0 => Ok(n),
        _ => Err(Bad::new(format!("{} is below 0", quoted(text)))),
    }
}

fn read_restart(fields: &Fields) -> Option<Restart> {
    if let Some(command) = fields.map("command") {
        let run = program(&command, "run");
        let timeout = command.some_time("timeout");
        return Some(Restart::Command {
            run: run?,
            timeout: timeout?,
        });
    }
    if let Some(systemd) = fields.map("systemd") {
        let unit = systemd.one("unit", values::token);
        let mut run = systemd.ones("run", values::token);
        let timeout = systemd.some_time("timeout");
        run.extend(["systemctl", "restart", &unit?].map(str::to_owned));
        return Some(Restart::Command {
            run,
            timeout: timeout?,
        });
    }
    let url = fields.map("http")?.one("restart", values::url(&["{instance}"]))?;
    Some(Restart::Http { url })
}

/// A program and its arguments: at least the program.
fn program(fields: &Fields, key: &str) -> Option<Vec<String>> {
    if fields.is_empty_list(key) {
        let bad = Bad::new(format!("`{key}` names no program"));
        fields.wrong(key, Problem::MissingKey, bad);
        return None;
    }
    fields.has(key).then(|| fields.ones(key, values::token))
}

fn read_command(fields: &Fields) -> Option<Command> {
    let name = fields.name("name", CommandName::new);
    let after = fields.word("after").and_then(|word| step(&word));
    let check = program(fields, "check");
    let how = match fields.map("http") {
        Some(http) => read_request(&http),
        None => program(fields, "run").map(|run| How::Run { run, check }),
    };
    let timeout = fields.some_time("timeout");
    Some(Command {
        name: name?,
        after: after?,
        how: how?,
        timeout: timeout?,
    })
}

fn read_request(fields: &Fields) -> Option<How> {
    let methods = [
        ("put", Method::Put),
        ("post", Method::Post),
        ("delete", Method::Delete),
    ];
    let (key, method) = methods.into_iter().find(|(key, _)| fields.has(key))?;
    let url = fields.one(key, values::url(&[]));
    let check = fields.map("check").map(|check| read_http_check(&check));
    Some(How::Http {
        method,
        url: url?,
        body: fields.node("body").map(|body| body.to_json()),
        check: match check {
            Some(check) => Some(check?),
            None => None,
        },
    })
}

fn read_http_check(fields: &Fields) -> Option<HttpCheck> {
    let url = fields.one("get", values::url(&[]));
    let status = fields.one_or("status", values::whole(100, 599));
    let mut json = BTreeMap::new();
    for entry in fields.named("json") {
        if !(entry.key.is_empty() || entry.key.starts_with('/')) {
            let bad = Bad::new(format!("{} is not a JSON pointer", quoted(&entry.key)))
                .help("begin with `/`, such as `/enabled`");
            fields.report.error(&entry.key_span, Problem::BadValue, bad);
        }
        json.insert(entry.key.clone(), entry.value.to_json());
    }
    Some(HttpCheck {
        url: url?,
        status: u16::try_from(status?).ok()?,
        json,
    })
}

fn step(word: &str) -> Option<StepId> {
    serde_json::from_value(word.into()).ok()
}

fn read_verify(fields: &Fields) -> (Option<Span>, Option<Span>) {
    let (hold, within) = (fields.some_time("hold"), fields.some_time("within"));
    if let (Some(hold), Some(within)) = (hold, within)
        && within < hold
    {
        let bad = Bad::new(format!("verifying within {within} cannot hold for {hold}"))
            .help("give `within` more time than `hold`");
        fields.wrong("within", Problem::Conflict, bad);
    }
    (hold, within)
}

/// What `verify` says when it is left out.
fn default_of(key: &str) -> Option<Span> {
    let verify = PLAYBOOK.key("verify").map(|key| key.form);
    match single::map_shape(&verify?)?.key(key)?.need {
        super::shape::Need::Default(text) => values::duration(text).ok(),
        _ => None,
    }
}
