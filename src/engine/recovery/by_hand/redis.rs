//! The command a person types to delete flags that recovery could not. It finds the master by itself, as recovery does.

use std::{collections::BTreeSet, fmt::Write};

use crate::{
    drivers::redis::{Key, host_and_port},
    model::{
        environment::{Redis, RedisPlace, SecretRef, Tls},
        snapshot::{FlagsSeen, KeptFlag},
    },
};

use super::{quoted, secret};

/// More keys than that are found by their glob again, instead of being named.
const NAMED_KEYS: usize = 100;

/// Where it is not known what the drill caused: deletes all that match except those that were there before, and nothing if they are
/// more than the drill allows.
pub(in crate::engine::recovery) fn delete_if_few(
    server: &Redis,
    pattern: &str,
    at_most: u32,
    before: &FlagsSeen,
) -> String {
    let cli = Cli::to(server);
    let (delete, found) = (before.removal.command(), cli.scan_but(pattern, before));
    let few = (at_most as usize).saturating_sub(before.keys.len());
    cli.with_its_place(&format!(
        "n=$({found} | wc -l); if [ \"$n\" -le {few} ]; then {found} | sed 's/^/{delete} /' | {}; \
         else echo \"$n flags match, more than at_most: none is deleted\"; fi",
        cli.at_master()
    ))
}

/// Deletes the flags that the drill caused: those named, or all that match the glob except those that were there before.
pub(in crate::engine::recovery) fn delete_flags(
    server: &Redis,
    pattern: &str,
    caused: &BTreeSet<Key>,
    before: &FlagsSeen,
) -> String {
    let delete = before.removal.command();
    let cli = Cli::to(server);
    let keys = match caused.len() {
        1..=NAMED_KEYS => {
            let lines = caused
                .iter()
                .map(|key| format!(" {}", quoted(&format!("{delete} {}", repr(key)))));
            format!("printf '%s\\n'{}", lines.collect::<String>())
        }
        // A key a line, quoted as redis-cli reads it: a key may hold any byte.
        _ => format!("{} | sed 's/^/{delete} /'", cli.scan_but(pattern, before)),
    };
    cli.with_its_place(&format!("{keys} | {}", cli.at_master()))
}

/// Where more match than the drill allows, a person looks first: the first line counts them and changes nothing, the second
/// says how many it deletes, and deletes them.
pub(in crate::engine::recovery) fn look_then_delete(
    server: &Redis,
    pattern: &str,
    (count, at_most): (usize, u32),
    before: &FlagsSeen,
) -> String {
    let cli = Cli::to(server);
    let look = cli.with_its_place(&format!("{} | wc -l", cli.scan_but(pattern, before)));
    let (kept, more) = (before.keys.len(), "or more");
    let deletes = count.saturating_sub(kept);
    let said = format!("this deletes {deletes} flags {more}: {count} {more} match, at_most is {at_most}");
    let delete = delete_flags(server, pattern, &BTreeSet::new(), before);
    format!("{look}\n: {}; {delete}", quoted(&said))
}

/// What a flag holds now and for how long. Changes nothing.
pub(in crate::engine::recovery) fn look_at(server: &Redis, flag: &KeptFlag) -> String {
    let cli = Cli::to(server);
    let key = repr(&Key::shown_as(&flag.key));
    let value = match flag.kind.as_str() {
        "hash" => format!("HGETALL {key}"),
        "list" => format!("LRANGE {key} 0 -1"),
        "set" => format!("SMEMBERS {key}"),
        "zset" => format!("ZRANGE {key} 0 -1 WITHSCORES"),
        _ => format!("GET {key}"),
    };
    let lines = [format!("TYPE {key}"), format!("TTL {key}"), value];
    let lines: String = lines.iter().map(|line| format!(" {}", quoted(line))).collect();
    cli.with_its_place(&format!("printf '%s\\n'{lines} | {}", cli.at_master()))
}

/// A key as `redis-cli` writes and reads it.
fn repr(key: &Key) -> String {
    let mut text = String::from("\"");
    for byte in key.bytes() {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(*byte)]),
            b'\n' => text += "\\n",
            b'\r' => text += "\\r",
            b'\t' => text += "\\t",
            0x07 => text += "\\a",
            0x08 => text += "\\b",
            b' '..=b'~' => text.push(char::from(*byte)),
            // Writing into a String cannot fail.
            other => drop(write!(text, "\\x{other:02x}")),
        }
    }
    text + "\""
}

/// `redis-cli` with the options of a server.
struct Cli<'a> {
    server: &'a Redis,
    options: String,
}

impl<'a> Cli<'a> {
    fn to(server: &'a Redis) -> Self {
        let db = (server.db != 0).then(|| format!(" -n {}", server.db));
        let options = [
            user(server.user.as_deref()),
            tls(server.tls.as_ref()),
            db.unwrap_or_default(),
        ];
        Self {
            server,
            options: options.concat(),
        }
    }

    fn at(&self, place: &str) -> String {
        format!(
            "{}redis-cli {place}{}",
            login(self.server.password.as_ref()),
            self.options
        )
    }

    /// To the master; to any, which sends on, in a cluster.
    fn at_master(&self) -> String {
        match &self.server.place {
            RedisPlace::Address(address) => self.at(&host_option(address)),
            RedisPlace::Sentinel(_) => self.at("-h \"$1\" -p \"$2\""),
            RedisPlace::Cluster(_) => self.at("-c -h \"${1%:*}\" -p \"${1##*:}\""),
        }
    }

    /// The keys that match, on every master.
    fn scan(&self, pattern: &str) -> String {
        let what = format!("--no-raw --scan --pattern {pattern}");
        match &self.server.place {
            RedisPlace::Cluster(_) => {
                let node = self.at("-h \"${node%:*}\" -p \"${node##*:}\"");
                format!("for node; do {node} {what}; done")
            }
            _ => format!("{} {what}", self.at_master()),
        }
    }

    /// The keys that match, except those that were there before.
    fn scan_but(&self, pattern: &str, before: &FlagsSeen) -> String {
        let but: String = before
            .keys
            .iter()
            .map(|key| format!(" -e {}", quoted(&repr(&Key::shown_as(key)))))
            .collect();
        let filter = match but.is_empty() {
            true => String::new(),
            false => format!(" | grep -vxF{but}"),
        };
        format!("{}{filter}", self.scan(&quoted(pattern)))
    }

    /// The command, after the master (or the masters) have been asked for.
    fn with_its_place(&self, command: &str) -> String {
        let any = |asks: Vec<String>| format!("{{ {}; }}", asks.join(" || "));
        match &self.server.place {
            RedisPlace::Address(_) => command.to_owned(),
            RedisPlace::Sentinel(s) => {
                let options = [user(s.user.as_deref()), tls(self.server.tls.as_ref())].concat();
                let ask = |at: &String| {
                    format!(
                        "{}redis-cli {}{options} SENTINEL get-master-addr-by-name {}",
                        login(s.password.as_ref()),
                        host_option(at),
                        quoted(&s.master)
                    )
                };
                format!(
                    "(set -- $({}); {command})",
                    any(s.addresses.iter().map(ask).collect())
                )
            }
            RedisPlace::Cluster(c) => {
                let ask = |at: &String| format!("{} CLUSTER NODES", self.at(&host_option(at)));
                let masters = "awk '$3 ~ /master/ && $3 !~ /fail/ {sub(/@.*/, \"\", $2); print $2}'";
                format!(
                    "(set -- $({} | {masters}); {command})",
                    any(c.addresses.iter().map(ask).collect())
                )
            }
        }
    }
}

fn host_option(address: &str) -> String {
    let (host, port) = host_and_port(address).unwrap_or((address, 6379));
    format!("-h {} -p {port}", quoted(host))
}

fn user(name: Option<&str>) -> String {
    name.map(|user| format!(" --user {}", quoted(user)))
        .unwrap_or_default()
}

fn tls(tls: Option<&Tls>) -> String {
    let Some(tls) = tls else {
        return String::new();
    };
    let ca = tls
        .ca_file
        .iter()
        .map(|file| format!(" --cacert {}", quoted(file)));
    let pair = tls
        .client_cert
        .iter()
        .map(|c| format!(" --cert {} --key {}", quoted(&c.cert_file), quoted(&c.key_file)));
    std::iter::once(" --tls".to_owned())
        .chain(ca)
        .chain(pair)
        .collect()
}

/// The password stands as the variable or the file where it is found.
fn login(place: Option<&SecretRef>) -> String {
    place
        .map(|place| format!("REDISCLI_AUTH={} ", secret(place)))
        .unwrap_or_default()
}
