//! One database: keys with values and expiries, in the order they were made, so that SCAN's cursors hold.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tokio::time::Instant;

/// Most keys of a database.
const MOST: usize = 2_000_000;

/// A key's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Text(Vec<u8>),
    Hash(BTreeMap<Vec<u8>, Vec<u8>>),
}

impl Content {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::Hash(_) => "hash",
        }
    }
}

#[derive(Debug)]
struct Entry {
    content: Content,
    expires: Option<Instant>,
    number: u64,
}

/// One database.
#[derive(Debug, Default)]
pub(super) struct Keyspace {
    entries: HashMap<Vec<u8>, Entry>,
    by_number: BTreeMap<u64, Vec<u8>>,
    last: u64,
}

/// The database holds as many keys as it may.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Full;

impl Keyspace {
    fn drop_if_expired(&mut self, key: &[u8]) {
        let expired = self
            .entries
            .get(key)
            .and_then(|entry| entry.expires)
            .is_some_and(|at| at <= Instant::now());
        if expired {
            self.remove(key);
        }
    }

    pub(super) fn get(&mut self, key: &[u8]) -> Option<&Content> {
        self.drop_if_expired(key);
        self.entries.get(key).map(|entry| &entry.content)
    }

    /// Replaces value and expiry; a key that is there keeps its place in the order.
    pub(super) fn set(&mut self, key: &[u8], content: Content, expires: Option<Instant>) -> Result<(), Full> {
        self.drop_if_expired(key);
        if let Some(entry) = self.entries.get_mut(key) {
            entry.content = content;
            entry.expires = expires;
            return Ok(());
        }
        if self.entries.len() >= MOST {
            return Err(Full);
        }
        self.last += 1;
        self.by_number.insert(self.last, key.to_vec());
        self.entries.insert(
            key.to_vec(),
            Entry {
                content,
                expires,
                number: self.last,
            },
        );
        Ok(())
    }

    pub(super) fn remove(&mut self, key: &[u8]) -> bool {
        match self.entries.remove(key) {
            Some(entry) => {
                self.by_number.remove(&entry.number);
                entry.expires.is_none_or(|at| at > Instant::now())
            }
            None => false,
        }
    }

    /// When the key expires; outer none: no such key.
    pub(super) fn expiry(&mut self, key: &[u8]) -> Option<Option<Instant>> {
        self.drop_if_expired(key);
        self.entries.get(key).map(|entry| entry.expires)
    }

    pub(super) fn expire_in(&mut self, key: &[u8], after: Duration) -> bool {
        self.drop_if_expired(key);
        let Some(entry) = self.entries.get_mut(key) else {
            return false;
        };
        entry.expires = Some(Instant::now() + after);
        true
    }

    pub(super) fn persist(&mut self, key: &[u8]) -> bool {
        self.drop_if_expired(key);
        self.entries
            .get_mut(key)
            .is_some_and(|entry| entry.expires.take().is_some())
    }

    /// Keys that are there and not expired.
    pub(super) fn size(&mut self) -> usize {
        let now = Instant::now();
        let expired: Vec<Vec<u8>> = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.expires.is_some_and(|at| at <= now))
            .map(|(key, _)| key.clone())
            .collect();
        expired.iter().for_each(|key| {
            self.remove(key);
        });
        self.entries.len()
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.by_number.clear();
    }

    /// Looks at `count` keys from the cursor on: those that `fits` takes, and the next cursor (0 at the end).
    pub(super) fn scan(
        &self,
        cursor: u64,
        count: usize,
        fits: impl Fn(&[u8], &Content) -> bool,
    ) -> (u64, Vec<Vec<u8>>) {
        let now = Instant::now();
        let mut found = Vec::new();
        let mut rest = self.by_number.range(cursor..);
        for (_, key) in rest.by_ref().take(count) {
            if let Some(entry) = self.entries.get(key)
                && entry.expires.is_none_or(|at| at > now)
                && fits(key, &entry.content)
            {
                found.push(key.clone());
            }
        }
        (rest.next().map_or(0, |(number, _)| *number), found)
    }
}
