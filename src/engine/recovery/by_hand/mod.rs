//! The commands a person can type to finish what recovery could not. They hold no secret: a password stands as the
//! variable or the file where it is found.

pub(super) mod kafka;
pub(super) mod kubernetes;
pub(super) mod redis;
pub(super) mod rocketmq;

use crate::{
    drivers::{haproxy::Socket, http::typed_url},
    model::{
        environment::SecretRef,
        ids::InstanceName,
        said::{Said, said},
        snapshot::GatewayState,
        text::Lang,
    },
};

use super::Scene;

/// A command under a line that says when it is to be typed. A shell takes that line for a comment; it has no sign that means
/// something to one that knows none.
pub(super) fn only(when: &Said, command: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || " -_./:,%：，；".contains(c);
    let when = format!("{} / {}", when.en(), when.get(Lang::Zh));
    let when: String = when.chars().filter(|c| plain(*c)).collect();
    format!("# {when}\n{command}")
}

/// When what stands back may go on: once the guards hold.
pub(super) fn once_guards_hold(command: &str) -> String {
    only(&said!("only once the guards hold", "守护成立后再执行"), command)
}

/// When what lets a backlog go without a limit may be typed.
pub(super) fn once_back_at(back_at: u64, command: &str) -> String {
    let when = said!(
        "only once its backlog is back at {back_at}",
        "积压回到 {back_at} 后再执行"
    );
    only(&when, command)
}

/// When what lets all of a backlog come at once may be typed.
pub(super) fn all_at_once(command: &str) -> String {
    let when = said!(
        "all that waits comes at once: only when that can be carried",
        "积压会一次涌来：承受得住时再执行"
    );
    only(&when, command)
}

/// A text as one word of a shell.
pub(super) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// A secret as a word of a shell: the variable or the file where it is found, read when the command is typed.
pub(super) fn secret(place: &SecretRef) -> String {
    match place {
        SecretRef::Env(name) => format!("\"${name}\""),
        SecretRef::File(path) => format!("\"$(cat {})\"", quoted(path)),
    }
}

/// An HTTP request without a body. A password inside the URL is left out.
pub(super) fn curl(method: &str, url: &str) -> String {
    format!("curl -fsS -X {method} {}", quoted(&typed_url(url)))
}

/// An HTTP request with a JSON body.
pub(super) fn curl_json(method: &str, url: &str, json: &serde_json::Value) -> String {
    let body = quoted(&json.to_string());
    format!(
        "curl -fsS -X {method} -H 'Content-Type: application/json' -d {body} {}",
        quoted(&typed_url(url))
    )
}

/// An HTTP request with a body that is sent as it is.
pub(super) fn curl_text(method: &str, url: &str, text: &str) -> String {
    format!(
        "curl -fsS -X {method} -H 'Content-Type:' --data-raw {} {}",
        quoted(text),
        quoted(&typed_url(url))
    )
}

/// A command of the user's own, from the drill file's folder.
pub(super) fn command(scene: &Scene, argv: &[String]) -> String {
    let words: Vec<String> = argv.iter().map(|w| quoted(w)).collect();
    let folder = quoted(&scene.plan.drill_folder);
    scene.drivers.mask(&format!("cd {folder} && {}", words.join(" ")))
}

/// An HTTP request with a form.
pub(super) fn curl_form(url: &str, form: &[(&str, &str)]) -> String {
    let fields = form
        .iter()
        .map(|(key, value)| format!("--data-urlencode {}", quoted(&format!("{key}={value}"))));
    let fields: Vec<String> = fields.collect();
    format!("curl -fsS {} {}", fields.join(" "), quoted(&typed_url(url)))
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
    let state = state.as_str();
    let socket = quoted(&socket.to_string());
    format!("echo \"set server {name} weight {weight}; set server {name} state {state}\" | socat - {socket}")
}
