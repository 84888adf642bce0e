//! What is judged: the windows of a silent baseline and of an injection ("Windows").

use super::constants::SETTLE;

/// More windows in one period than any drill has; the judge refuses them instead of taking minutes.
pub const MAX_WINDOWS: usize = 100_000;

/// One period of one metric, window by window in time order. `None` is a gap.
#[derive(Clone, Debug, PartialEq)]
pub enum Windows {
    /// Mean of the window's samples, in the metric's unit.
    Gauge(Vec<Option<f64>>),
    /// Events and seconds observed.
    Rate(Vec<Option<[f64; 2]>>),
    /// Good and total.
    Ratio(Vec<Option<[f64; 2]>>),
    /// Classic histogram buckets.
    Quantile {
        /// Finite upper bounds, ascending.
        edges: Vec<f64>,
        /// Which quantile, inside (0, 1).
        q: f64,
        /// Cumulative counts at each edge, then the total.
        cum: Vec<Option<Vec<f64>>>,
    },
}

impl Windows {
    /// Number of windows, gaps included.
    pub fn len(&self) -> usize {
        match self {
            Self::Gauge(list) => list.len(),
            Self::Rate(list) | Self::Ratio(list) => list.len(),
            Self::Quantile { cum, .. } => cum.len(),
        }
    }

    /// Whether the period has no window at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn comparable(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Gauge(_), Self::Gauge(_))
            | (Self::Rate(_), Self::Rate(_))
            | (Self::Ratio(_), Self::Ratio(_)) => true,
            (Self::Quantile { edges: e1, q: q1, .. }, Self::Quantile { edges: e2, q: q2, .. }) => {
                e1 == e2 && q1 == q2
            }
            _ => false,
        }
    }
}

/// Why two periods cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeriodsError {
    /// Different kinds of metric, or different buckets or quantile.
    #[error("baseline and injection are not the same metric: give both the same kind, edges and q")]
    Different,
    /// A period is longer than [`MAX_WINDOWS`].
    #[error("a period has {0} windows, more than {MAX_WINDOWS}: use wider windows")]
    TooLong(usize),
}

/// A baseline and an injection of the same metric, and where the injection starts to count.
#[derive(Clone, Debug, PartialEq)]
pub struct Periods {
    baseline: Windows,
    injection: Windows,
    /// Injection windows dropped at the start; `None` takes [`settle_windows`].
    pub settle: Option<usize>,
    /// Windows that passed between the two periods.
    pub pause: usize,
}

impl Periods {
    /// Pairs two periods of one metric, with the default settling and no pause between them.
    ///
    /// # Errors
    /// [`PeriodsError`] if they are of different kinds, buckets or quantiles, or too long.
    pub fn new(baseline: Windows, injection: Windows) -> Result<Self, PeriodsError> {
        let longest = baseline.len().max(injection.len());
        if longest > MAX_WINDOWS {
            return Err(PeriodsError::TooLong(longest));
        }
        if !baseline.comparable(&injection) {
            return Err(PeriodsError::Different);
        }
        Ok(Self {
            baseline,
            injection,
            settle: None,
            pause: 0,
        })
    }

    /// The silent observation before the fault.
    pub fn baseline(&self) -> &Windows {
        &self.baseline
    }

    /// The windows with the fault in place.
    pub fn injection(&self) -> &Windows {
        &self.injection
    }

    /// Injection windows that are dropped at the start.
    pub fn settle_windows(&self) -> usize {
        self.settle
            .unwrap_or_else(|| settle_windows(self.injection.len()))
    }
}

impl AsRef<Periods> for Periods {
    fn as_ref(&self) -> &Periods {
        self
    }
}

/// Default settling of an injection of `n2` windows: three, at most a third ("Windows", rule 1).
pub fn settle_windows(n2: usize) -> usize {
    SETTLE.min(n2 / 3)
}
