//! What a row declares ("Expectations"), and the one metric's case that it is judged with.

use super::windows::Periods;

/// Whether a bound is in the metric's unit or a part of the baseline level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The metric's unit; for a ratio its share, 0.005 being half a percentage point.
    Abs,
    /// A fraction of the baseline level, 0.2 being 20 %.
    Rel,
}

/// The ends of a declared interval; a missing end is open.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    /// Smallest allowed.
    pub at_least: Option<f64>,
    /// Largest allowed.
    pub at_most: Option<f64>,
}

impl Bounds {
    /// Neither end declared.
    pub fn is_open(&self) -> bool {
        self.at_least.is_none() && self.at_most.is_none()
    }

    pub(super) fn given(&self) -> impl Iterator<Item = f64> {
        self.at_least.into_iter().chain(self.at_most)
    }
}

/// A declared change or level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expect {
    /// The metric rises; without bounds: by a detectable amount.
    Rises {
        /// Size of the rise.
        bounds: Bounds,
        /// Unit of the bounds.
        unit: Unit,
    },
    /// The metric falls; bounds are sizes of the fall, positive.
    Falls {
        /// Size of the fall.
        bounds: Bounds,
        /// Unit of the bounds.
        unit: Unit,
    },
    /// The metric moves by no more than `within` either way.
    Stays {
        /// Largest move.
        within: f64,
        /// Unit of `within`.
        unit: Unit,
    },
    /// The level during the injection, in the metric's unit.
    Level {
        /// The allowed levels.
        bounds: Bounds,
    },
}

impl Expect {
    /// The unit the row is judged and shown in.
    pub fn unit(&self) -> Unit {
        match *self {
            Self::Rises { unit, .. } | Self::Falls { unit, .. } | Self::Stays { unit, .. } => unit,
            Self::Level { .. } => Unit::Abs,
        }
    }

    /// Smallest move that matters to the row, in the metric's unit, at baseline level `base` ("Before the start").
    /// For a level it is the distance from the baseline to the nearer bound. `None` without a positive bound.
    pub fn smallest_bound(&self, base: f64) -> Option<f64> {
        let scale = match self.unit() {
            Unit::Abs => 1.0,
            Unit::Rel => base.abs(),
        };
        let sizes: Vec<f64> = match self {
            Self::Rises { bounds, .. } | Self::Falls { bounds, .. } => {
                bounds.given().map(|bound| bound * scale).collect()
            }
            Self::Stays { within, .. } => vec![within * scale],
            Self::Level { bounds } => bounds.given().map(|bound| (bound - base).abs()).collect(),
        };
        sizes
            .into_iter()
            .filter(|size| *size > 0.0)
            .min_by(f64::total_cmp)
    }

    /// Whether the row declares anything that can be checked: without it nothing may be called expected.
    pub(super) fn is_checkable(&self) -> bool {
        match self {
            Self::Rises { bounds, .. } | Self::Falls { bounds, .. } => bounds.given().all(f64::is_finite),
            Self::Stays { within, .. } => within.is_finite(),
            Self::Level { bounds } => !bounds.is_open() && bounds.given().all(f64::is_finite),
        }
    }
}

/// One row to judge.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The windows.
    pub periods: Periods,
    /// What was declared.
    pub expect: Expect,
    /// Smallest detectable change, frozen before the start, in the unit of `expect`.
    pub sdc: Option<f64>,
    /// Handed back with the judgement.
    pub id: Option<serde_json::Value>,
    /// For people.
    pub name: Option<String>,
}

impl Case {
    /// A case without a frozen smallest detectable change, id or name.
    pub fn new(periods: Periods, expect: Expect) -> Self {
        Self {
            periods,
            expect,
            sdc: None,
            id: None,
            name: None,
        }
    }
}

impl AsRef<Periods> for Case {
    fn as_ref(&self) -> &Periods {
        &self.periods
    }
}
