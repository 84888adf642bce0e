//! Commands of the user's own.

use std::collections::BTreeMap;

use crate::{
    model::{
        ids::CommandName,
        playbook::{Command, How, HttpCheck, Method},
        recovery::StepId,
    },
    spec::{
        diagnostic::Problem,
        fields::Fields,
        values::{self, Bad, quoted},
    },
};

pub(super) fn read(fields: &Fields) -> Option<Command> {
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

/// A program and its arguments: at least the program.
pub(super) fn program(fields: &Fields, key: &str) -> Option<Vec<String>> {
    if fields.is_empty_list(key) {
        let bad = Bad::new(format!("`{key}` names no program"));
        fields.wrong(key, Problem::MissingKey, bad);
        return None;
    }
    fields.has(key).then(|| fields.ones(key, values::token))
}

fn step(word: &str) -> Option<StepId> {
    serde_json::from_value(word.into()).ok()
}
