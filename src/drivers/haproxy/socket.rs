//! Where a load balancer's runtime API listens.

use std::fmt;

use crate::{
    drivers::place::PlaceError,
    model::{environment::Environment, ids::ServerName, text::harmless},
};

/// Where the runtime API listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Socket {
    /// `host:port`.
    Tcp(String),
    /// An absolute path.
    Unix(String),
}

impl Socket {
    /// `host:port`, an absolute path, or the name of a gateway of the environment.
    ///
    /// # Errors
    /// [`PlaceError::NotASocket`] if it is none of these.
    pub fn find(text: &str, environment: &Environment) -> Result<Self, PlaceError> {
        let named = ServerName::new(text)
            .ok()
            .and_then(|n| environment.gateways.get(&n));
        let address = named.map_or(text, String::as_str);
        let address = address.strip_prefix("unix:").unwrap_or(address);
        let port = address
            .rsplit_once(':')
            .and_then(|(host, p)| (!host.is_empty()).then_some(p));
        if address.starts_with('/') {
            Ok(Socket::Unix(address.to_owned()))
        } else if port.is_some_and(|p| p.parse::<u16>().is_ok()) {
            Ok(Socket::Tcp(address.to_owned()))
        } else {
            Err(PlaceError::NotASocket {
                text: harmless(text, 100),
                environment: environment.name.to_string(),
            })
        }
    }
}

impl fmt::Display for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Socket::Tcp(address) => write!(f, "TCP:{address}"),
            Socket::Unix(path) => write!(f, "UNIX-CONNECT:{path}"),
        }
    }
}
