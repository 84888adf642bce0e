//! All buckets of one period, added up.

use crate::judge::{constants::PSEUDO, series::linearise};

/// All buckets of one period added up.
pub(in crate::judge) struct Histogram<'a> {
    pub(super) edges: &'a [f64],
    /// Share at or below each edge, then 1 at +Inf.
    shares: Vec<f64>,
    observations: f64,
    /// The quantile, by log-log interpolation; infinite in the last bucket.
    pub value: f64,
    /// Share of each window at or below the quantile: its mean is q.
    pub y: Vec<f64>,
    /// Noise of the position inside the bucket.
    pub inside: f64,
    /// Least variance of the share.
    pub floor: f64,
}

impl<'a> Histogram<'a> {
    /// Adds up windows of `edges.len() + 1` cumulative counts each, at least one, none empty.
    pub(in crate::judge) fn new(edges: &'a [f64], windows: &[&[f64]], q: f64) -> Self {
        let last = edges.len();
        let sum = |k: usize| windows.iter().map(|counts| counts[k]).sum::<f64>();
        let observations = sum(last);
        let mut shares: Vec<f64> = (0..last).map(|k| sum(k) / observations).collect();
        shares.push(1.0);
        let mut all = Self {
            edges,
            shares,
            observations,
            value: 0.0,
            y: Vec::new(),
            inside: 0.0,
            floor: 0.0,
        };
        let (value, bucket) = all.inverse(q);
        let low = |counts: &[f64]| if bucket > 0 { counts[bucket - 1] } else { 0.0 };
        let low_share = all.share_below(bucket);
        let width = all.shares[bucket] - low_share;
        let phi = (q - low_share) / width;
        let below: Vec<[f64; 2]> = windows
            .iter()
            .map(|counts| [low(counts) + phi * (counts[bucket] - low(counts)), counts[last]])
            .collect();
        let total = below.iter().map(|pair| pair[0]).sum();
        all.y = linearise(below.iter().copied(), total, observations).1;
        all.value = value;
        all.inside = phi * (1.0 - phi) * width / observations;
        all.floor = (observations * q.min(1.0 - q) + PSEUDO) * q.max(1.0 - q) / (observations * observations);
        all
    }

    fn share_below(&self, bucket: usize) -> f64 {
        if bucket > 0 { self.shares[bucket - 1] } else { 0.0 }
    }

    /// Lower edge of a bucket.
    pub(super) fn low_edge(&self, bucket: usize) -> f64 {
        match bucket {
            0 if self.edges[0] > 0.0 => 0.0,
            0 => f64::NEG_INFINITY,
            _ => self.edges[bucket - 1],
        }
    }

    /// Upper edge of a bucket.
    pub(in crate::judge) fn high_edge(&self, bucket: usize) -> f64 {
        self.edges.get(bucket).copied().unwrap_or(f64::INFINITY)
    }

    /// The p-quantile and its bucket: log survival linear in log value, infinite in the last bucket.
    pub(in crate::judge) fn inverse(&self, p: f64) -> (f64, usize) {
        let last = self.edges.len();
        if p <= 0.0 {
            let bucket = self.shares.iter().position(|share| *share > 0.0).unwrap_or(last);
            return (
                if bucket < last {
                    self.low_edge(bucket)
                } else {
                    f64::INFINITY
                },
                bucket,
            );
        }
        let bucket = self.shares.iter().position(|share| *share >= p).unwrap_or(last);
        if bucket == last {
            return (f64::INFINITY, last);
        }
        let (b, high_share) = (self.edges[bucket], self.shares[bucket]);
        let a = if bucket > 0 {
            self.edges[bucket - 1]
        } else {
            b.min(0.0)
        };
        let low_share = self.share_below(bucket);
        let (above_a, above_b) = (1.0 - low_share, (1.0 - high_share).max(0.5 / self.observations));
        if a > 0.0 && above_a > above_b {
            let slope = (b / a).ln() / (above_a / above_b).ln();
            return (
                (a * (above_a / (1.0 - p).max(above_b)).powf(slope)).min(b),
                bucket,
            );
        }
        (a + (b - a) * (p - low_share) / (high_share - low_share), bucket)
    }
}
