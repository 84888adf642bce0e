//! What a breaker may be in, and what that is called.

/// The state as the actuator names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::range) enum BreakerState {
    Closed,
    Open,
    HalfOpen,
    ForcedOpen,
    Disabled,
}

impl BreakerState {
    pub(in crate::range) const ALL: [Self; 5] = [
        Self::Closed,
        Self::Open,
        Self::HalfOpen,
        Self::ForcedOpen,
        Self::Disabled,
    ];

    /// As in the actuator's JSON.
    pub(in crate::range) fn name(self) -> &'static str {
        match self {
            Self::Closed => "CLOSED",
            Self::Open => "OPEN",
            Self::HalfOpen => "HALF_OPEN",
            Self::ForcedOpen => "FORCED_OPEN",
            Self::Disabled => "DISABLED",
        }
    }

    /// As in the label of `resilience4j_circuitbreaker_state`.
    pub(in crate::range) fn label(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
            Self::ForcedOpen => "forced_open",
            Self::Disabled => "disabled",
        }
    }
}
