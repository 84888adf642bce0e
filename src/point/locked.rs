//! A value behind a short lock that can never be held over an await.

#[expect(
    clippy::disallowed_types,
    reason = "the closure of `with` cannot await, and a poisoned value is still used"
)]
use std::sync::Mutex;
use std::sync::PoisonError;

/// A value that several tasks change in short, synchronous strokes.
#[derive(Debug, Default)]
pub struct Locked<T> {
    #[expect(clippy::disallowed_types, reason = "see above")]
    value: Mutex<T>,
}

impl<T> Locked<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        #[expect(clippy::disallowed_types, reason = "see above")]
        let value = Mutex::new(value);
        Self { value }
    }

    /// Runs `act` with the value; others wait meanwhile, so `act` must be short.
    pub fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        act(&mut self.value.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
