//! Restarting an instance by a `POST` to a URL of its own.

use reqwest::Method;

use super::{error::DriverError, http::Http};

/// Asks for the restart. Accepted is not yet restarted: the caller watches the pool.
///
/// # Errors
/// [`DriverError`]; a connection that breaks is usual for a process that goes down at once.
pub async fn restart(http: &Http, url: &str) -> Result<(), DriverError> {
    http.ask(Method::POST, url, None).await.map(|_| ())
}
