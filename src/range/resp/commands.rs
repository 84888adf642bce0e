//! One client's session: what is asked of the server itself. What is asked of the keys is in `on_keys`.

use super::Databases;
use super::frame::{array, bulk, error, integer, null, simple};
use super::keyspace::Keyspace;
use super::on_keys::on_keys;
use crate::point::Locked;

/// Commands that exist, for COMMAND COUNT and for the rights test.
pub(super) const KNOWN: [&str; 33] = [
    "acl", "auth", "client", "command", "dbsize", "decr", "del", "echo", "exists", "expire", "flushdb",
    "get", "hdel", "hello", "hget", "hgetall", "hset", "incr", "incrby", "info", "mget", "persist",
    "pexpire", "ping", "pttl", "quit", "scan", "select", "set", "setex", "ttl", "type", "unlink",
];

/// What is wrong with a command.
pub(super) enum Wrong {
    Arity,
    Syntax,
    NotInteger,
    Type,
    Expire,
    Full,
}

impl Wrong {
    fn text(&self, name: &str) -> String {
        match self {
            Self::Arity => format!("ERR wrong number of arguments for '{name}' command"),
            Self::Syntax => "ERR syntax error".into(),
            Self::NotInteger => "ERR value is not an integer or out of range".into(),
            Self::Type => "WRONGTYPE Operation against a key holding the wrong kind of value".into(),
            Self::Expire => format!("ERR invalid expire time in '{name}' command"),
            Self::Full => "OOM command not allowed when used memory > 'maxmemory'.".into(),
        }
    }
}

/// One client's connection.
pub(super) struct Session<'a> {
    databases: &'a Databases,
    keys: &'a Locked<Keyspace>,
}

/// The words of a command, after its name.
pub(super) type Words<'a> = &'a [Vec<u8>];

impl<'a> Session<'a> {
    pub(super) fn new(databases: &'a Databases) -> Self {
        Self {
            databases,
            keys: &databases.0[0],
        }
    }

    /// Answers one command; false if the connection is to be closed.
    pub(super) fn answer(&mut self, words: Words<'_>, out: &mut Vec<u8>) -> bool {
        let Some((name, args)) = words.split_first() else {
            return true;
        };
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        if name == "quit" {
            simple(out, "OK");
            return false;
        }
        let before = out.len();
        if let Err(wrong) = self.run(&name, args, out) {
            out.truncate(before);
            error(out, &wrong.text(&name));
        }
        true
    }

    fn run(&mut self, name: &str, args: Words<'_>, out: &mut Vec<u8>) -> Result<(), Wrong> {
        match (name, args) {
            ("ping", []) => simple(out, "PONG"),
            ("ping" | "echo", [text]) => bulk(out, text),
            ("auth", [_] | [_, _]) => error(
                out,
                "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
            ),
            // Only RESP2 is spoken; clients fall back when told so.
            ("hello", _) => error(out, "NOPROTO unsupported protocol version"),
            ("client", [sub, ..]) => client(&lower(sub), out),
            ("acl", [sub, rest @ ..]) => acl(&lower(sub), rest, out)?,
            ("command", [sub, ..]) if lower(sub) == "count" => integer(out, KNOWN.len() as i64),
            ("command", _) => array(out, 0),
            ("info", _) => self.info(out),
            ("select", [index]) => match number(index).ok().and_then(|index| usize::try_from(index).ok()) {
                Some(index) => match self.databases.select(index) {
                    Some(keys) => {
                        self.keys = keys;
                        simple(out, "OK");
                    }
                    None => error(out, "ERR DB index is out of range"),
                },
                None => return Err(Wrong::NotInteger),
            },
            _ => {
                let keys = self.keys;
                return keys.with(|keys| on_keys(keys, name, args, out));
            }
        }
        Ok(())
    }

    fn info(&self, out: &mut Vec<u8>) {
        let mut text = String::from("# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n");
        text.push_str("# Replication\r\nrole:master\r\nconnected_slaves:0\r\n# Cluster\r\ncluster_enabled:0\r\n# Keyspace\r\n");
        for (index, keys) in self.databases.0.iter().enumerate() {
            let size = keys.with(Keyspace::size);
            if size > 0 {
                text.push_str(&format!("db{index}:keys={size},expires=0,avg_ttl=0\r\n"));
            }
        }
        bulk(out, text.as_bytes());
    }
}

pub(super) fn lower(word: &[u8]) -> String {
    String::from_utf8_lossy(word).to_ascii_lowercase()
}

pub(super) fn number(word: &[u8]) -> Result<i64, Wrong> {
    std::str::from_utf8(word)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(Wrong::NotInteger)
}

fn client(sub: &str, out: &mut Vec<u8>) {
    match sub {
        "setinfo" | "setname" | "no-evict" | "no-touch" => simple(out, "OK"),
        "getname" => null(out),
        "id" => integer(out, 1),
        _ => error(out, "ERR unknown subcommand. Try CLIENT HELP."),
    }
}

/// There is one user, who may do everything that exists.
fn acl(sub: &str, args: Words<'_>, out: &mut Vec<u8>) -> Result<(), Wrong> {
    match (sub, args) {
        ("whoami", []) => bulk(out, b"default"),
        ("dryrun", [user, command, ..]) => match (lower(user).as_str(), lower(command)) {
            ("default", command) if KNOWN.contains(&command.as_str()) => simple(out, "OK"),
            ("default", command) => error(out, &format!("ERR Command '{command}' not found")),
            (user, _) => error(out, &format!("ERR User '{user}' not found")),
        },
        ("whoami" | "dryrun", _) => return Err(Wrong::Arity),
        _ => error(out, "ERR unknown subcommand. Try ACL HELP."),
    }
    Ok(())
}
