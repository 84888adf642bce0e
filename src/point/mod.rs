//! The injection point for Rust services: fault rules that each instance enforces itself.
