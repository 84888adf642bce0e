//! Telling someone over HTTP. Never in the way of recovery: the caller spawns it.

use std::time::Duration;

use reqwest::{Method, Url};
use serde_json::Value;

use crate::model::{environment::Webhook, secret::Secrets};

use super::{Drivers, error::DriverError, http::Http};

/// Tries in all.
const TRIES: u32 = 3;

/// Posts `message` as JSON; tries again twice if the receiver may get well.
///
/// # Errors
/// The last try's error.
pub async fn tell(
    http: &Http,
    secrets: &Secrets,
    hook: &Webhook,
    message: &Value,
) -> Result<(), DriverError> {
    let token = match &hook.token {
        Some(place) => Some(Drivers::secret(secrets, place, &host(hook))?.reveal().to_owned()),
        None => None,
    };
    let mut tried = 0;
    loop {
        tried += 1;
        let sent = http
            .ask_with_token(Method::POST, &hook.url, Some(message), token.as_deref())
            .await;
        match sent {
            Ok(_) => return Ok(()),
            Err(error) if tried >= TRIES || !error.may_pass() => return Err(error.about(&host(hook))),
            Err(_) => tokio::time::sleep(Duration::from_secs(u64::from(tried))).await,
        }
    }
}

/// Whom it tells, as people may see it: the host only, for paths of webhooks are often secrets.
pub fn host(hook: &Webhook) -> String {
    let parsed = Url::parse(&hook.url).ok();
    parsed
        .and_then(|u| u.host_str().map(str::to_owned))
        .unwrap_or_else(|| "webhook".into())
}
