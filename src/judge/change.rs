//! The measured change of one metric: levels and their intervals.

use super::constants::MIN_BURSTS;
use super::judgement::Reason;
use super::model::{Model, Side};
use super::quantile::{self, Histogram};
use super::series::{Data, Used, parts};
use super::sparse::{self, Scaling};
use super::windows::{Periods, Windows};

/// A closed interval; its ends may be infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

impl Interval {
    /// Nothing is known.
    pub(super) const EVERYTHING: Self = Self {
        lo: f64::NEG_INFINITY,
        hi: f64::INFINITY,
    };

    /// Whether `x` lies inside, the ends counted.
    pub fn contains(&self, x: f64) -> bool {
        self.lo <= x && x <= self.hi
    }

    fn clamped(self, least: f64, most: f64) -> Self {
        Self {
            lo: self.lo.clamp(least, most),
            hi: self.hi.clamp(least, most),
        }
    }
}

/// What happened to one metric, with 98 % intervals ("Intervals", "Quantiles").
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Level of the baseline; infinite for a quantile in the +Inf bucket.
    pub base: f64,
    /// Level of the injection.
    pub level: f64,
    /// Change in the metric's unit.
    pub abs: Interval,
    /// Change as a fraction of the baseline; `None` where that has no meaning.
    pub rel: Option<Interval>,
    /// Level of the injection.
    pub level_ci: Interval,
}

/// The change of one metric.
///
/// # Errors
/// The reason why there is no data.
pub fn change(periods: &Periods) -> Result<Change, Reason> {
    let measured = Measured::of(periods)?;
    Ok(Change {
        base: measured.base(),
        level: measured.level(),
        abs: measured.absolute(),
        rel: measured.relative(),
        level_ci: measured.level_interval(),
    })
}

/// A change whose intervals are computed when asked for: each costs a few hundred t distributions.
pub(super) enum Measured {
    /// Gauge, rate, ratio.
    Means(Means),
    /// Quantile.
    Quantile(Change),
}

/// Two mean levels and the model of their noise.
pub(super) struct Means {
    /// Level of the baseline.
    pub base: f64,
    /// Level of the injection.
    pub level: f64,
    /// Noise of both.
    pub model: Model,
    is_ratio: bool,
    relative: Relative,
}

#[derive(Clone, Copy, PartialEq)]
enum Relative {
    /// It can be computed.
    Meaningful,
    /// Nothing before, perhaps nothing after.
    FromZero,
    /// A gauge with negative windows, or with too few bursts.
    Meaningless,
}

impl Measured {
    pub(super) fn of(periods: &Periods) -> Result<Self, Reason> {
        let (one, two) = parts(periods)?;
        if let (
            Data::Quantile {
                edges,
                q,
                cum: before,
            },
            Data::Quantile { cum: after, .. },
        ) = (&one.data, &two.data)
        {
            let (h1, h2) = (
                Histogram::new(edges, before, *q),
                Histogram::new(edges, after, *q),
            );
            return Ok(Self::Quantile(quantile::change(
                (&one.times, &h1),
                (&two.times, &h2),
                *q,
            )));
        }
        let means = means(periods.baseline(), &one, &two);
        Ok(Self::Means(means.expect(
            "Periods pairs one kind, and quantiles are dealt with above",
        )))
    }

    pub(super) fn base(&self) -> f64 {
        match self {
            Self::Means(means) => means.base,
            Self::Quantile(change) => change.base,
        }
    }

    pub(super) fn level(&self) -> f64 {
        match self {
            Self::Means(means) => means.level,
            Self::Quantile(change) => change.level,
        }
    }

    pub(super) fn absolute(&self) -> Interval {
        match self {
            Self::Means(means) if means.is_ratio => means.model.interval(1.0).clamped(-1.0, 1.0),
            Self::Means(means) => means.model.interval(1.0),
            Self::Quantile(change) => change.abs,
        }
    }

    pub(super) fn level_interval(&self) -> Interval {
        match self {
            Self::Means(means) if means.is_ratio => means.model.interval(0.0).clamped(0.0, 1.0),
            Self::Means(means) => means.model.interval(0.0),
            Self::Quantile(change) => change.level_ci,
        }
    }

    pub(super) fn relative(&self) -> Option<Interval> {
        let zero = Interval { lo: 0.0, hi: 0.0 };
        match self {
            Self::Quantile(change) => change.rel,
            Self::Means(means) => match means.relative {
                Relative::Meaningful => Some(means.model.relative()),
                Relative::FromZero => (means.level == 0.0 && self.absolute() == zero).then_some(zero),
                Relative::Meaningless => None,
            },
        }
    }
}

/// The levels of a gauge, rate or ratio; `None` for a quantile.
pub(super) fn means(kind: &Windows, one: &Used<'_>, two: &Used<'_>) -> Option<Means> {
    let (s1, s2) = (one.series()?, two.series()?);
    let is_gauge = matches!(kind, Windows::Gauge(_));
    let (mut floor1, mut floor2, mut relative) = (s1.floor, s2.floor, Relative::Meaningful);
    if is_gauge {
        let floors = sparse::floors(&s1.y, &s2.y);
        (floor1, floor2) = (floors.one, floors.two);
        let few = floors
            .bursts
            .is_some_and(|bursts| bursts > 0 && bursts < MIN_BURSTS);
        if few || sparse::is_signed(&s1.y) || sparse::is_signed(&s2.y) {
            relative = Relative::Meaningless;
        }
    }
    if s1.level == 0.0 {
        relative = Relative::FromZero;
    }
    let scaling = Scaling::of(kind, &s1.y, &s2.y);
    let model = Model::new(
        &Side {
            times: &one.times,
            y: &s1.y,
            floor: floor1,
        },
        &Side {
            times: &two.times,
            y: &s2.y,
            floor: floor2,
        },
        scaling,
    );
    Some(Means {
        base: s1.level,
        level: s2.level,
        model,
        is_ratio: matches!(kind, Windows::Ratio(_)),
        relative,
    })
}
