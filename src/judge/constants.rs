//! The fixed numbers of docs/judge.md ("Constants").

/// Probability left on either side of an interval: 98 % intervals.
pub(super) const ALPHA: f64 = 0.01;

/// One noise shape: how much neighbouring windows resemble each other.
pub(super) struct Shape {
    /// Correlation of neighbouring windows of the autoregressive part.
    pub rho: f64,
    /// Part of the variance that is autoregressive; the rest is white.
    pub share: f64,
    /// Prior weight, not normalised.
    pub prior: f64,
}

const fn shape(rho: f64, share: f64, prior: f64) -> Shape {
    Shape { rho, share, prior }
}

/// The noise shapes that every judgement weighs.
pub(super) const SHAPES: [Shape; 8] = [
    shape(0.0, 1.0, 12.0),
    shape(0.3, 1.0, 4.0),
    shape(0.6, 1.0, 3.0),
    shape(0.8, 1.0, 2.0),
    shape(0.9, 1.0, 1.0),
    shape(0.9, 0.8, 1.0),
    shape(0.9, 0.5, 1.0),
    shape(0.9, 0.25, 1.0),
];

/// Prior deviation of a linear drift over the whole baseline, in noise deviations, and its weight.
pub(super) const DRIFTS: [(f64, f64); 3] = [(0.0, 0.2), (1.5, 0.6), (8.0, 0.2)];

/// Pseudo events of the counting-noise floors.
pub(super) const PSEUDO: f64 = 4.0;
/// Relative spread kept at a higher level: all of it up to this coefficient of variation.
pub(super) const KEEP: f64 = 0.3;
/// Resting windows that still join two bursts.
pub(super) const BURST_GAP: usize = 2;
/// Bursts a sparse baseline needs before a relative change is shown.
pub(super) const MIN_BURSTS: usize = 5;
/// Allowance for the unknown shape inside histogram buckets.
pub(super) const KAPPA: f64 = 2.0;
/// Injection windows dropped at the start, unless the row says otherwise.
pub(super) const SETTLE: usize = 3;
/// Usable windows a baseline needs.
pub(super) const MIN_N1: usize = 20;
/// Usable windows an injection needs.
pub(super) const MIN_N2: usize = 6;
/// Share of the windows that must be usable.
pub(super) const MIN_COVER: f64 = 0.6;
/// Observations a quantile needs on its rarer side.
pub(super) const MIN_BEYOND: f64 = 10.0;
/// Odds against a steady baseline from which it counts as unsteady.
pub(super) const STEADY_BF: f64 = 30.0;
/// Prior deviation of a move of the baseline, in noise deviations.
pub(super) const STEADY_TAU: f64 = 3.0;
/// Places of a possible step, as parts of the baseline.
pub(super) const STEP_AT: [f64; 7] = [
    1.0 / 6.0,
    1.0 / 4.0,
    1.0 / 3.0,
    1.0 / 2.0,
    2.0 / 3.0,
    3.0 / 4.0,
    5.0 / 6.0,
];
/// The injection's own windows can make the noise look worse than the baseline did.
pub(super) const SDC_MARGIN: f64 = 1.2;
/// False share allowed among the listed movers.
pub(super) const MOVER_Q: f64 = 0.20;
/// Smallest relative move of a listed gauge or rate.
pub(super) const MOVER_REL: f64 = 0.10;
/// Smallest move of a listed ratio, as a share.
pub(super) const MOVER_PP: f64 = 0.005;
/// Residuals never fall below this part of what they were before a drift was fitted.
pub(super) const RESIDUE: f64 = 1e-12;
/// A spread up to this part of the largest value is rounding, not movement.
pub(super) const STILL: f64 = 1e-9;
