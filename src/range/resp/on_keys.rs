//! The commands on keys, with Redis' own answers and errors.

use std::time::Duration;

use tokio::time::Instant;

use super::commands::{KNOWN, Words, Wrong, lower, number};
use super::frame::{array, bulk, error, integer, null, simple};
use super::glob;
use super::keyspace::{Content, Keyspace};

/// Longest expiry accepted: 100 years. Beyond it the clock's arithmetic could overflow.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 86_400);

/// Answers a command on the keys of one database, or says that there is no such command.
pub(super) fn on_keys(
    keys: &mut Keyspace,
    name: &str,
    args: Words<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Wrong> {
    match (name, args) {
        ("get", [key]) => text_or_null(keys.get(key), out)?,
        ("mget", [_, ..]) => {
            array(out, args.len());
            for key in args {
                // Like Redis: a key of another type is a null here, not an error.
                if text_or_null(keys.get(key), out).is_err() {
                    null(out);
                }
            }
        }
        ("set", [key, value, options @ ..]) => set(keys, key, value, options, out)?,
        ("setex", [key, seconds, value]) => {
            let expires = Some(Instant::now() + lifetime(seconds, 1000)?);
            keys.set(key, Content::Text(value.clone()), expires)
                .map_err(|_| Wrong::Full)?;
            simple(out, "OK");
        }
        ("del" | "unlink", [_, ..]) => {
            integer(out, args.iter().filter(|key| keys.remove(key)).count() as i64);
        }
        ("exists", [_, ..]) => {
            integer(
                out,
                args.iter().filter(|key| keys.get(key).is_some()).count() as i64,
            );
        }
        ("type", [key]) => simple(out, keys.get(key).map_or("none", Content::kind)),
        ("ttl", [key]) => integer(out, left(keys, key, |left| left.as_millis().div_ceil(1000))),
        ("pttl", [key]) => integer(out, left(keys, key, |left| left.as_millis())),
        ("expire", [key, after]) => expire(keys, key, after, 1000, out)?,
        ("pexpire", [key, after]) => expire(keys, key, after, 1, out)?,
        ("persist", [key]) => integer(out, i64::from(keys.persist(key))),
        ("incr", [key]) => add(keys, key, 1, out)?,
        ("decr", [key]) => add(keys, key, -1, out)?,
        ("incrby", [key, by]) => add(keys, key, number(by)?, out)?,
        ("dbsize", []) => integer(out, keys.size() as i64),
        ("flushdb", _) => {
            keys.clear();
            simple(out, "OK");
        }
        ("scan", [cursor, options @ ..]) => scan(keys, cursor, options, out)?,
        ("hset", [key, fields @ ..]) if !fields.is_empty() && fields.len() % 2 == 0 => {
            hset(keys, key, fields, out)?;
        }
        ("hget", [key, field]) => match hash(keys, key)?.and_then(|hash| hash.get(field)) {
            Some(value) => bulk(out, value),
            None => null(out),
        },
        ("hgetall", [key]) => match hash(keys, key)? {
            Some(hash) => {
                array(out, hash.len() * 2);
                for (field, value) in hash {
                    bulk(out, field);
                    bulk(out, value);
                }
            }
            None => array(out, 0),
        },
        ("hdel", [key, fields @ ..]) if !fields.is_empty() => hdel(keys, key, fields, out)?,
        (known, _) if KNOWN.contains(&known) => return Err(Wrong::Arity),
        (unknown, _) => {
            let shown: String = unknown.chars().take(64).collect();
            error(
                out,
                &format!("ERR unknown command '{shown}', with args beginning with: "),
            );
        }
    }
    Ok(())
}

fn text_or_null(content: Option<&Content>, out: &mut Vec<u8>) -> Result<(), Wrong> {
    match content {
        Some(Content::Text(text)) => bulk(out, text),
        Some(Content::Hash(_)) => return Err(Wrong::Type),
        None => null(out),
    }
    Ok(())
}

/// A positive number of seconds (`unit_ms` 1000) or ms (1).
fn lifetime(word: &[u8], unit_ms: u64) -> Result<Duration, Wrong> {
    let n = u64::try_from(number(word)?)
        .ok()
        .filter(|n| *n > 0)
        .ok_or(Wrong::Expire)?;
    let life = n
        .checked_mul(unit_ms)
        .map(Duration::from_millis)
        .ok_or(Wrong::Expire)?;
    if life <= LONGEST {
        Ok(life)
    } else {
        Err(Wrong::Expire)
    }
}

/// Only if absent, or only if present.
enum Condition {
    Absent,
    Present,
}

fn set(
    keys: &mut Keyspace,
    key: &[u8],
    value: &[u8],
    options: Words<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Wrong> {
    let (mut life, mut condition, mut keep, mut give) = (None, None, false, false);
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        match lower(option).as_str() {
            "ex" if life.is_none() => life = Some(lifetime(rest.next().ok_or(Wrong::Syntax)?, 1000)?),
            "px" if life.is_none() => life = Some(lifetime(rest.next().ok_or(Wrong::Syntax)?, 1)?),
            "nx" if condition.is_none() => condition = Some(Condition::Absent),
            "xx" if condition.is_none() => condition = Some(Condition::Present),
            "keepttl" if life.is_none() => keep = true,
            "get" => give = true,
            _ => return Err(Wrong::Syntax),
        }
    }
    let old = keys.get(key).cloned();
    let allowed = match condition {
        Some(Condition::Absent) => old.is_none(),
        Some(Condition::Present) => old.is_some(),
        None => true,
    };
    if give {
        text_or_null(old.as_ref(), out)?;
    }
    if allowed {
        let kept = if keep { keys.expiry(key).flatten() } else { None };
        let expires = life.map(|life| Instant::now() + life).or(kept);
        keys.set(key, Content::Text(value.to_vec()), expires)
            .map_err(|_| Wrong::Full)?;
    }
    match (give, allowed) {
        (true, _) => {}
        (false, true) => simple(out, "OK"),
        (false, false) => null(out),
    }
    Ok(())
}

/// -2 without the key, -1 without an expiry.
fn left(keys: &mut Keyspace, key: &[u8], shown: impl Fn(Duration) -> u128) -> i64 {
    match keys.expiry(key) {
        None => -2,
        Some(None) => -1,
        Some(Some(at)) => {
            i64::try_from(shown(at.saturating_duration_since(Instant::now()))).unwrap_or(i64::MAX)
        }
    }
}

/// Like Redis, an expiry in the past deletes the key.
fn expire(
    keys: &mut Keyspace,
    key: &[u8],
    after: &[u8],
    unit_ms: u64,
    out: &mut Vec<u8>,
) -> Result<(), Wrong> {
    let done = if number(after)? <= 0 {
        keys.remove(key)
    } else {
        keys.expire_in(key, lifetime(after, unit_ms)?)
    };
    integer(out, i64::from(done));
    Ok(())
}

fn add(keys: &mut Keyspace, key: &[u8], by: i64, out: &mut Vec<u8>) -> Result<(), Wrong> {
    let old = match keys.get(key) {
        Some(Content::Text(text)) => number(text)?,
        Some(Content::Hash(_)) => return Err(Wrong::Type),
        None => 0,
    };
    let new = old.checked_add(by).ok_or(Wrong::NotInteger)?;
    let expires = keys.expiry(key).flatten();
    keys.set(key, Content::Text(new.to_string().into_bytes()), expires)
        .map_err(|_| Wrong::Full)?;
    integer(out, new);
    Ok(())
}

fn scan(keys: &Keyspace, cursor: &[u8], options: Words<'_>, out: &mut Vec<u8>) -> Result<(), Wrong> {
    let cursor = std::str::from_utf8(cursor)
        .ok()
        .and_then(|text| text.parse::<u64>().ok());
    let Some(cursor) = cursor else {
        error(out, "ERR invalid cursor");
        return Ok(());
    };
    let (mut pattern, mut count, mut kind) = (None, 10, None);
    for option in options.chunks(2) {
        let [name, value] = option else {
            return Err(Wrong::Syntax);
        };
        match lower(name).as_str() {
            "match" => pattern = Some(value),
            "count" => {
                count = usize::try_from(number(value)?)
                    .ok()
                    .filter(|count| *count > 0)
                    .ok_or(Wrong::Syntax)?;
            }
            "type" => kind = Some(lower(value)),
            _ => return Err(Wrong::Syntax),
        }
    }
    let (next, found) = keys.scan(cursor, count, |key, content| {
        pattern.is_none_or(|pattern| glob::matches(pattern, key))
            && kind.as_ref().is_none_or(|kind| kind == content.kind())
    });
    array(out, 2);
    bulk(out, next.to_string().as_bytes());
    array(out, found.len());
    found.iter().for_each(|key| bulk(out, key));
    Ok(())
}

type Hash = std::collections::BTreeMap<Vec<u8>, Vec<u8>>;

fn hash<'a>(keys: &'a mut Keyspace, key: &[u8]) -> Result<Option<&'a Hash>, Wrong> {
    match keys.get(key) {
        Some(Content::Hash(hash)) => Ok(Some(hash)),
        Some(Content::Text(_)) => Err(Wrong::Type),
        None => Ok(None),
    }
}

fn hset(keys: &mut Keyspace, key: &[u8], fields: Words<'_>, out: &mut Vec<u8>) -> Result<(), Wrong> {
    let mut changed = hash(keys, key)?.cloned().unwrap_or_default();
    let before = changed.len();
    for pair in fields.chunks_exact(2) {
        changed.insert(pair[0].clone(), pair[1].clone());
    }
    integer(out, (changed.len() - before) as i64);
    let expires = keys.expiry(key).flatten();
    keys.set(key, Content::Hash(changed), expires)
        .map_err(|_| Wrong::Full)
}

fn hdel(keys: &mut Keyspace, key: &[u8], fields: Words<'_>, out: &mut Vec<u8>) -> Result<(), Wrong> {
    let mut changed = hash(keys, key)?.cloned().unwrap_or_default();
    let removed = fields
        .iter()
        .filter(|field| changed.remove(*field).is_some())
        .count();
    integer(out, removed as i64);
    if changed.is_empty() {
        keys.remove(key);
        return Ok(());
    }
    let expires = keys.expiry(key).flatten();
    keys.set(key, Content::Hash(changed), expires)
        .map_err(|_| Wrong::Full)
}
