//! What a driver brings to the table.

use allclear::{
    drivers::Patience,
    model::{secret::Secrets, time::Span, undo::ChangeIntent},
};
use serde_json::Value;

use crate::{luck::Luck, proxy::Proxy};

/// What answers when something else has taken the part's port.
pub const NO_PROTOCOL: &[u8] = b"\x00\x00\x00\x14\xde\xad\xbe\xef\xff\x00no protocol at all\r\n\r\n";
/// The same, where the part speaks HTTP.
pub const LOGIN_PAGE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 25\r\nConnection: close\r\n\r\n<html>please log in</html";

/// Long enough for a busy machine, short enough for a table.
pub const PATIENCE: Patience = Patience {
    connect: Span::seconds(3),
    call: Span::seconds(5),
    late: Span::millis(300),
    step: Span::seconds(8),
    confirm: Span::seconds(8),
    guard: Span::seconds(1),
    poll: Span::millis(50),
};

/// For what begins again in mid-step, and before anything has gone wrong: a busy machine is no bad luck.
pub const PATIENT: Patience = Patience {
    connect: Span::seconds(5),
    call: Span::seconds(20),
    step: Span::seconds(90),
    confirm: Span::seconds(90),
    ..PATIENCE
};

/// One driver, with its part, a proxy before it, and what a drill does to it. Reads are by the part's own tool or its
/// protocol, directly and never by allclear's driver.
pub trait Row {
    /// What the environment has of it, and what the playbook has.
    fn environment(&self) -> Value;
    fn playbook(&self) -> Value;
    /// Its secrets, and the variables under which a person has them.
    fn secrets(&self) -> Secrets {
        Secrets::none()
    }
    fn variables(&self) -> Vec<(String, String)> {
        Vec::new()
    }
    fn patience(&self, _luck: Luck) -> Patience {
        PATIENCE
    }
    /// Whether it comes right while recovery goes on.
    fn heals(&self, luck: Luck) -> bool {
        !luck.lasts()
    }
    /// What stands before the part.
    fn proxy(&self) -> &Proxy;
    fn garbage(&self) -> &'static [u8] {
        NO_PROTOCOL
    }
    /// Whether it knows no rights: then the gateway before it refuses.
    fn refuses_by_gateway(&self) -> bool {
        false
    }
    /// Why it has no such luck.
    fn cannot(&self, _luck: Luck) -> Option<&'static str> {
        None
    }
    /// Whether a change is one of its own.
    fn makes(&self, change: &ChangeIntent) -> bool;

    /// Told which luck is going to come.
    fn expect(&self, _luck: Luck) {}
    /// As before the drill.
    async fn before(&self);
    /// What a drill leaves.
    async fn sick(&self);
    /// How it stands; `None` while it cannot be read.
    async fn now(&self) -> Option<String>;
    /// Whether recovery may leave it so on its way: before, the drill's, or what the docs name between them.
    fn may_be(&self, seen: &str) -> bool;
    /// The luck that is the part's own: [`Luck::Refuses`], [`Luck::Restarts`], [`Luck::Topology`].
    async fn strike(&self, luck: Luck);
    /// It is over.
    async fn relent(&self, luck: Luck);
    /// Whether something that was done once in a run is not done again in it.
    fn is_once_a_run(&self) -> bool {
        false
    }
}
