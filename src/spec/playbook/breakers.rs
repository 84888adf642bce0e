//! Circuit breakers.

use crate::{
    model::{
        ids::ServiceName,
        playbook::{Breakers, SentinelRules, Via},
    },
    spec::{
        dashboard::each_once,
        diagnostic::Problem,
        fields::Fields,
        shapes::playbook::{SENTINEL_RULES, VIA},
        single,
        tree::Value,
        values::{self, Bad},
    },
};

/// Where the service half-opens a breaker unless the file says otherwise.
const HALF_OPEN: &str = "http://{instance}/app/breakers/{name}/half-open";

pub(super) fn read(fields: &Fields) -> Option<Breakers> {
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
    each_once(fields.report, fields.list("rules").into_iter());
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
    each_once(fields.report, fields.list("names").into_iter());
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
