//! The built-in practice system: a small online shop on loopback.
