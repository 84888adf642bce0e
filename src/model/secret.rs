//! Secrets that have been looked up. They show as `•••` wherever they could be printed.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use super::environment::{Auth, Environment, MetricsSource, RedisPlace, SecretRef};

/// A secret's text. Only [`SecretText::reveal`] gives it away.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretText(String);

impl SecretText {
    /// Wraps a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself: for a header or a password field, nowhere else.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("•••")
    }
}

/// The secrets of one run, by where each was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Secrets(BTreeMap<SecretRef, SecretText>);

impl Secrets {
    /// None at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds one.
    pub fn insert(&mut self, place: SecretRef, text: SecretText) {
        self.0.insert(place, text);
    }

    /// The secret found there.
    pub fn get(&self, place: &SecretRef) -> Option<&SecretText> {
        self.0.get(place)
    }

    /// All of them, for the sealed file of a run.
    pub fn iter(&self) -> impl Iterator<Item = (&SecretRef, &SecretText)> {
        self.0.iter()
    }

    /// Replaces every secret inside `text`, so that an answer that echoes one can be shown.
    pub fn mask(&self, text: &str) -> String {
        self.0
            .values()
            .filter(|s| s.0.len() >= 4)
            .fold(text.to_owned(), |masked, s| masked.replace(&s.0, "•••"))
    }
}

impl Environment {
    /// Where all of this environment's secrets are found.
    pub fn secret_refs(&self) -> Vec<&SecretRef> {
        let metrics = match &self.metrics {
            MetricsSource::Prometheus(p) => match &p.auth {
                Auth::None => None,
                Auth::Basic { password, .. } => Some(password),
                Auth::Bearer { token } => Some(token),
            },
            MetricsSource::Scrape { .. } => None,
        };
        let redis = self.redis.values().flat_map(|redis| {
            let sentinels = match &redis.place {
                RedisPlace::Sentinel(sentinels) => sentinels.password.as_ref(),
                RedisPlace::Address(_) | RedisPlace::Cluster(_) => None,
            };
            redis.password.as_ref().into_iter().chain(sentinels)
        });
        let kafka = self
            .kafka
            .values()
            .filter_map(|k| Some(&k.sasl.as_ref()?.login().password));
        let rocketmq = self
            .rocketmq
            .values()
            .filter_map(|r| Some(&r.login.as_ref()?.secret_key));
        let hooks = self.notify.iter().filter_map(|w| w.token.as_ref());
        metrics
            .into_iter()
            .chain(redis)
            .chain(kafka)
            .chain(rocketmq)
            .chain(hooks)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_neither_in_debug_nor_in_masked_text() {
        let mut secrets = Secrets::none();
        secrets.insert(SecretRef::Env("TOKEN".into()), SecretText::new("hunter22"));
        assert!(!format!("{secrets:?}").contains("hunter22"));
        assert_eq!(secrets.mask("bad token hunter22!"), "bad token •••!");
    }
}
