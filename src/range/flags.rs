//! The degrade flags of the order service, in Redis: `degrade:order:<instance>:campaign-<n>`.

use std::collections::BTreeSet;
use std::time::Duration;

use redis::AsyncCommands;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};

use super::error::RangeError;
use crate::point::Locked;

/// How long a flag stays when nobody deletes it.
const TTL_S: u64 = 600;
/// A flag that cannot be read in this time counts as not set.
const PATIENCE: Duration = Duration::from_millis(200);
/// The prefix of every degrade flag of the order service.
pub(super) const PREFIX: &str = "degrade:order:";

/// The connection to the Redis that holds the flags.
#[derive(Clone)]
pub(super) struct FlagStore {
    connection: ConnectionManager,
}

impl FlagStore {
    pub(super) async fn connect(url: &str) -> Result<Self, RangeError> {
        let refused = |source| RangeError::Redis {
            address: without_password(url),
            source,
        };
        let config = ConnectionManagerConfig::new()
            .set_number_of_retries(1)
            .set_connection_timeout(Some(Duration::from_secs(2)))
            .set_response_timeout(Some(PATIENCE));
        let client = redis::Client::open(url).map_err(refused)?;
        let connection = ConnectionManager::new_with_config(client, config)
            .await
            .map_err(refused)?;
        Ok(Self { connection })
    }
}

/// The URL as it may be shown.
pub(super) fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rfind('@')) {
        (Some((scheme, _)), Some(at)) => format!("{scheme}://{}", &url[at + 1..]),
        _ => url.to_owned(),
    }
}

/// The flags of one order instance.
pub(super) struct Flags {
    store: FlagStore,
    instance: &'static str,
    /// Campaigns that this instance has flagged and not yet lifted.
    own: Locked<BTreeSet<u64>>,
}

impl Flags {
    pub(super) fn new(store: FlagStore, instance: &'static str) -> Self {
        Self {
            store,
            instance,
            own: Locked::default(),
        }
    }

    fn key(&self, campaign: u64) -> String {
        format!("{PREFIX}{}:campaign-{campaign}", self.instance)
    }

    /// Whether orders of the campaign are to skip the coupon. An unreachable Redis means no.
    pub(super) async fn is_set(&self, campaign: u64) -> bool {
        let mut connection = self.store.connection.clone();
        let key = self.key(campaign);
        matches!(
            tokio::time::timeout(PATIENCE, connection.exists(key)).await,
            Ok(Ok(true))
        )
    }

    /// Flags a campaign.
    pub(super) async fn set(&self, campaign: u64) {
        self.own.with(|own| own.insert(campaign));
        let mut connection = self.store.connection.clone();
        let set = connection.set_ex::<_, _, ()>(self.key(campaign), "coupon timed out", TTL_S);
        // A flag that could not be written is only a slower path for the campaign's next order.
        let _ = tokio::time::timeout(PATIENCE, set).await;
    }

    fn own_keys(&self) -> Vec<String> {
        self.own
            .with(|own| own.iter().map(|campaign| self.key(*campaign)).collect())
    }

    /// Deletes the flags that this instance has set.
    pub(super) async fn lift(&self) {
        let own = self.own.with(|own| own.clone());
        let keys = self.own_keys();
        if keys.is_empty() {
            return;
        }
        let mut connection = self.store.connection.clone();
        if let Ok(Ok(())) = tokio::time::timeout(PATIENCE, connection.del::<_, ()>(keys)).await {
            self.own
                .with(|kept| kept.retain(|campaign| !own.contains(campaign)));
        }
    }

    /// How many flags of this instance are in Redis now; none if Redis does not answer.
    pub(super) async fn standing(&self) -> Option<u64> {
        let keys = self.own_keys();
        if keys.is_empty() {
            return Some(0);
        }
        let mut connection = self.store.connection.clone();
        tokio::time::timeout(PATIENCE, connection.exists(keys))
            .await
            .ok()?
            .ok()
    }
}
