//! Who asks, for the journal.

use crate::model::text::harmless;

/// A user name (or its number, where none is set), and from where if over ssh.
pub fn who() -> String {
    let user = std::env::var("USER")
        .or_else(|_| std::env::var("LOGNAME"))
        .unwrap_or_else(|_| format!("uid {}", rustix::process::getuid().as_raw()));
    let from = std::env::var("SSH_CONNECTION")
        .ok()
        .and_then(|c| c.split(' ').next().map(str::to_owned));
    let text = match from {
        Some(from) => format!("{user} from {from}"),
        None => user,
    };
    harmless(&text, 80)
}
