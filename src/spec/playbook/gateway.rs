//! The load balancer in front of the targets.

use super::MANY;
use crate::{
    model::{
        amount::Share,
        ids::RouteName,
        playbook::{Gateway, RouteGateway},
    },
    spec::{
        dashboard::each_once,
        diagnostic::Problem,
        fields::Fields,
        kubernetes,
        tree::Value,
        values::{self, Bad, quoted},
    },
};

pub(super) fn read(fields: &Fields) -> Option<Gateway> {
    if let Some(pods) = fields.map("kubernetes") {
        return kubernetes::gateway(&pods).map(Gateway::Pods);
    }
    if let Some(route) = fields.map("httproute") {
        return read_route(&route).map(Gateway::Route);
    }
    let haproxy = fields.map("haproxy")?;
    let sockets = read_sockets(&haproxy);
    let backend = haproxy.one("backend", plain_word);
    let ramp = read_ramp(&haproxy);
    let hold = haproxy.some_time("hold");
    Some(Gateway::Haproxy {
        sockets: sockets?,
        backend: backend?,
        ramp: ramp?,
        hold: hold?,
    })
}

fn read_route(fields: &Fields) -> Option<RouteGateway> {
    let route = fields.name("route", RouteName::new);
    let (namespace, backend) = kubernetes::backend(fields);
    let ramp = read_ramp(fields);
    let hold = fields.some_time("hold");
    Some(RouteGateway {
        namespace: namespace?,
        route: route?,
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
    each_once(haproxy.report, haproxy.list("socket").into_iter());
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
    if !fields.has("ramp") {
        return Some(vec![Share(0.1), Share(0.3), Share::ALL]);
    }
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
