//! The commands a person can type to finish what recovery could not. They hold no secret: a password stands as the
//! variable or the file where it is found.

use crate::{
    drivers::{haproxy::Socket, haproxy::state_word, http::shown_url, redis::Key},
    model::{
        environment::{Redis, SecretRef},
        ids::InstanceName,
        snapshot::GatewayState,
    },
};

/// A text as one word of a shell.
pub(super) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// An HTTP request without a body. A password inside the URL is left out.
pub(super) fn curl(method: &str, url: &str) -> String {
    format!("curl -fsS -X {method} {}", quoted(&shown_url(url)))
}

/// An HTTP request with a JSON body.
pub(super) fn curl_json(method: &str, url: &str, json: &serde_json::Value) -> String {
    let body = quoted(&json.to_string());
    format!(
        "curl -fsS -X {method} -H 'Content-Type: application/json' -d {body} {}",
        quoted(&shown_url(url))
    )
}

/// A server's weight and state at a load balancer.
pub(super) fn set_server(
    socket: &Socket,
    backend: &str,
    server: &InstanceName,
    weight: u32,
    state: GatewayState,
) -> String {
    let name = format!("{backend}/{server}");
    let state = state_word(state);
    let socket = quoted(&socket.to_string());
    format!("echo \"set server {name} weight {weight}; set server {name} state {state}\" | socat - {socket}")
}

/// More keys than that are found by their glob again, instead of being named.
const NAMED_KEYS: usize = 100;

/// Flags of a Redis server that the drill caused: all that match the glob, except those that were there before.
pub(super) fn delete_flags<'a>(
    server: &Redis,
    pattern: &str,
    caused: impl ExactSizeIterator<Item = &'a Key>,
    kept: &[String],
) -> String {
    let (secret, cli) = redis_cli(server);
    // A kept key that is no plain text could slip through the filter: then every key is named.
    let odd = kept.iter().any(|k| k.contains('\\'));
    if caused.len() > 0 && (caused.len() <= NAMED_KEYS || odd) {
        let keys: String = caused.map(|k| format!(" {}", quoted_key(k))).collect();
        return format!("{secret}{cli} DEL{keys}");
    }
    let but: String = kept.iter().map(|k| format!(" -e {}", quoted(k))).collect();
    let filter = if kept.is_empty() {
        String::new()
    } else {
        format!(" | grep -vxF{but}")
    };
    let pattern = quoted(pattern);
    format!(
        "{secret}{cli} --scan --pattern {pattern}{filter} | tr '\\n' '\\0' | xargs -0 -r env {secret}{cli} DEL"
    )
}

/// What goes before `redis-cli`, and `redis-cli` at a server.
fn redis_cli(server: &Redis) -> (String, String) {
    let (host, port) = server
        .address
        .rsplit_once(':')
        .unwrap_or((&server.address, "6379"));
    let secret = match &server.password {
        None => String::new(),
        Some(SecretRef::Env(name)) => format!("REDISCLI_AUTH=\"${name}\" "),
        Some(SecretRef::File(path)) => format!("REDISCLI_AUTH=\"$(cat {})\" ", quoted(path)),
    };
    let user = server.user.iter().map(|u| format!(" --user {}", quoted(u)));
    let db = (server.db != 0).then(|| format!(" -n {}", server.db));
    let host = quoted(host.trim_matches(['[', ']']));
    let options: String = user.chain(db).collect();
    (secret, format!("redis-cli -h {host} -p {port}{options}"))
}

/// A key with bytes that are no plain text is printed in octal, which every shell's `printf` knows.
fn quoted_key(key: &Key) -> String {
    let shown = key.to_string();
    if shown.as_bytes() == key.bytes() {
        return quoted(&shown);
    }
    let octal = key.bytes().iter().map(|b| match b {
        b if b.is_ascii_alphanumeric() || b":-_./".contains(b) => char::from(*b).to_string(),
        b => format!("\\{b:03o}"),
    });
    format!("\"$(printf '{}')\"", octal.collect::<String>())
}
