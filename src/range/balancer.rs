//! The gateway's servers: weights and states, as HAProxy keeps them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::time::Instant;

use super::dice::Dice;
use crate::point::Locked;

/// Weight that every server starts with.
pub(super) const INITIAL_WEIGHT: u32 = 100;

/// State that an operator gives a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admin {
    Ready,
    Drain,
    Maint,
}

#[derive(Debug, Clone, Copy)]
struct Setting {
    weight: u32,
    admin: Admin,
    changed: Instant,
}

/// One server of a backend.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) name: &'static str,
    pub(super) port: u16,
    setting: Locked<Setting>,
    pub(super) sessions: AtomicU64,
    pub(super) total: AtomicU64,
}

/// A backend; its first server is the isolated one, for marked traffic.
#[derive(Debug)]
pub(super) struct Backend {
    pub(super) id: u32,
    pub(super) name: &'static str,
    pub(super) servers: Vec<Server>,
    /// Whether unmarked traffic may reach the isolated server.
    open: bool,
}

/// A request in progress at a server.
pub(super) struct Session<'a> {
    server: &'a Server,
    pub(super) index: usize,
}

impl Server {
    fn new(name: &'static str, port: u16) -> Self {
        let setting = Setting {
            weight: INITIAL_WEIGHT,
            admin: Admin::Ready,
            changed: Instant::now(),
        };
        Self {
            name,
            port,
            setting: Locked::new(setting),
            sessions: AtomicU64::new(0),
            total: AtomicU64::new(0),
        }
    }

    pub(super) fn weight(&self) -> u32 {
        self.setting.with(|setting| setting.weight)
    }

    pub(super) fn admin(&self) -> Admin {
        self.setting.with(|setting| setting.admin)
    }

    /// Seconds since an operator last changed it.
    pub(super) fn unchanged_for(&self) -> u64 {
        self.setting.with(|setting| setting.changed.elapsed().as_secs())
    }

    /// Sets the weight, 0 to 256.
    pub(super) fn set_weight(&self, weight: u32) {
        self.setting.with(|setting| {
            setting.weight = weight;
            setting.changed = Instant::now();
        });
    }

    /// Sets the state; the weight stays as it is.
    pub(super) fn set_admin(&self, admin: Admin) {
        self.setting.with(|setting| {
            setting.admin = admin;
            setting.changed = Instant::now();
        });
    }

    /// The weight that counts: 0 unless ready.
    fn effective(&self) -> u32 {
        self.setting.with(|setting| {
            if setting.admin == Admin::Ready {
                setting.weight
            } else {
                0
            }
        })
    }
}

impl Backend {
    pub(super) fn new(id: u32, name: &'static str, servers: &[(&'static str, u16)], open: bool) -> Self {
        let servers = servers
            .iter()
            .map(|(name, port)| Server::new(name, *port))
            .collect();
        Self {
            id,
            name,
            servers,
            open,
        }
    }

    pub(super) fn server(&self, name: &str) -> Option<&Server> {
        self.servers.iter().find(|server| server.name == name)
    }

    /// Chooses a server. Marked traffic belongs to the first one, as far as its weight allows; the others share
    /// the rest by weight. None if no server takes traffic.
    pub(super) fn choose(&self, marked: bool, dice: &Dice) -> Option<Session<'_>> {
        let isolated = self.servers.first()?;
        if marked && dice.below(u64::from(INITIAL_WEIGHT)) < u64::from(isolated.effective()) {
            return Some(Session::begin(isolated, 0));
        }
        let first = usize::from(!self.open);
        self.by_weight(first, dice).or_else(|| self.by_weight(0, dice))
    }

    fn by_weight(&self, first: usize, dice: &Dice) -> Option<Session<'_>> {
        let weights: Vec<u32> = self.servers[first..].iter().map(Server::effective).collect();
        let total: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
        let mut drawn = dice.below(total);
        for (server, weight) in self.servers.iter().zip(0..).skip(first).zip(weights) {
            let (server, index) = server;
            match drawn.checked_sub(u64::from(weight)) {
                Some(left) => drawn = left,
                None => return Some(Session::begin(server, index)),
            }
        }
        None
    }
}

impl<'a> Session<'a> {
    fn begin(server: &'a Server, index: usize) -> Self {
        server.sessions.fetch_add(1, Relaxed);
        server.total.fetch_add(1, Relaxed);
        Self { server, index }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.server.sessions.fetch_sub(1, Relaxed);
    }
}
