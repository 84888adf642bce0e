//! Classic histograms: from buckets to rows of counts, and from counts to a quantile.

use super::fetch::RawSeries;
use crate::model::sample::SourceMs;

/// The most buckets of one histogram.
const MAX_BUCKETS: usize = 500;

/// The buckets of one histogram, lined up by their sample times.
#[derive(Debug, PartialEq)]
pub(super) struct Histogram {
    /// The finite upper edges, rising.
    pub(super) edges: Vec<f64>,
    /// At each time the counts at or below each edge, and all of them last.
    pub(super) rows: Vec<(SourceMs, Vec<f64>)>,
}

impl Histogram {
    /// Lines the buckets up. Times at which a bucket is missing are left out.
    ///
    /// Fails, with the reason, if there is no `+Inf` bucket, if an edge comes twice, or if the edges are not those
    /// that were seen first: counts of different edges cannot be added.
    pub(super) fn of(buckets: &[&RawSeries], expected: Option<&[f64]>) -> Result<Self, String> {
        if buckets.len() > MAX_BUCKETS {
            return Err(format!("a histogram of more than {MAX_BUCKETS} buckets"));
        }
        let mut by_edge: Vec<(f64, &RawSeries)> = Vec::with_capacity(buckets.len());
        for bucket in buckets {
            let edge = bucket.le.filter(|le| !le.is_nan());
            by_edge.push((
                edge.ok_or("a series without an `le` label: name the `_bucket` series")?,
                bucket,
            ));
        }
        by_edge.sort_by(|a, b| a.0.total_cmp(&b.0));
        let Some(((last, all), finite)) = by_edge.split_last() else {
            return Err("no buckets".to_owned());
        };
        if *last != f64::INFINITY {
            return Err("a histogram without its +Inf bucket".to_owned());
        }
        let edges: Vec<f64> = finite.iter().map(|(edge, _)| *edge).collect();
        if edges.windows(2).any(|pair| pair[0] >= pair[1]) || edges.contains(&f64::INFINITY) {
            return Err("a histogram with the same bucket edge twice".to_owned());
        }
        if expected.is_some_and(|expected| expected != edges) {
            return Err("the bucket edges differ between series, or have changed".to_owned());
        }
        let rows = all.samples.iter().filter_map(|(time, count)| {
            let mut row = Vec::with_capacity(finite.len() + 1);
            for (_, bucket) in finite {
                let place = bucket.samples.binary_search_by_key(time, |s| s.0).ok()?;
                row.push(bucket.samples[place].1);
            }
            row.push(*count);
            Some((*time, row))
        });
        let rows = rows.collect();
        Ok(Self { edges, rows })
    }
}

/// Whether counts rise along the edges, as counts of "at or below" must.
pub(super) fn rise(counts: &[f64]) -> bool {
    counts
        .windows(2)
        .all(|pair| pair[0] <= pair[1] + 1e-9 * pair[1].abs())
}

/// The quantile `q` of counts at or below each edge, all of them last; infinite above the last edge, `None` without
/// observations. Inside a bucket the survival is log-log, as the judge has it: a straight line errs by half a
/// bucket in a tail.
pub(super) fn quantile(edges: &[f64], counts: &[f64], q: f64) -> Option<f64> {
    let all = *counts.last()?;
    if all <= 0.0 {
        return None;
    }
    let share = |j: usize| counts[j] / all;
    if q <= 0.0 {
        let first = (0..edges.len()).find(|j| share(*j) > 0.0)?;
        return Some(match first {
            0 => edges[0].min(0.0),
            j => edges[j - 1],
        });
    }
    let Some(j) = (0..edges.len()).find(|j| share(*j) >= q) else {
        return Some(f64::INFINITY);
    };
    let (a, below) = match j {
        0 => (edges[0].min(0.0), 0.0),
        j => (edges[j - 1], share(j - 1)),
    };
    let (b, upto) = (edges[j], share(j));
    let (left, right) = (1.0 - below, (1.0 - upto).max(0.5 / all));
    Some(if a > 0.0 && left > right {
        let power = (b / a).ln() / (left / right).ln();
        b.min(a * (left / (1.0 - q).max(right)).powf(power))
    } else {
        a + (b - a) * (q - below) / (upto - below)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::testing::bucket;

    #[test]
    fn buckets_are_lined_up_by_time_whatever_their_order() {
        let (inf, low) = (
            bucket("+Inf", &[(1, 9.0), (2, 12.0)]),
            bucket("0.1", &[(1, 4.0), (2, 5.0)]),
        );
        let got = Histogram::of(&[&inf, &low], None).unwrap();
        assert_eq!(got.edges, [0.1]);
        assert_eq!(got.rows, [(1, vec![4.0, 9.0]), (2, vec![5.0, 12.0])]);
    }

    #[test]
    fn a_time_at_which_a_bucket_is_missing_is_left_out() {
        let (low, inf) = (bucket("0.1", &[(2, 5.0)]), bucket("+Inf", &[(1, 9.0), (2, 12.0)]));
        assert_eq!(Histogram::of(&[&low, &inf], None).unwrap().rows.len(), 1);
    }

    #[test]
    fn other_edges_a_double_edge_and_no_infinity_are_told() {
        let (low, low2, inf) = (bucket("1", &[]), bucket("1.0", &[]), bucket("+Inf", &[]));
        for (buckets, expected, part) in [
            (vec![&low, &inf], Some(&[2.0][..]), "differ"),
            (vec![&low, &low2, &inf], None, "twice"),
            (vec![&low], None, "+Inf"),
        ] {
            let why = Histogram::of(&buckets, expected).unwrap_err();
            assert!(why.contains(part), "{why}");
        }
    }

    #[test]
    fn a_quantile_lies_inside_its_bucket_and_above_the_last_edge_is_infinite() {
        let edges = [0.1, 0.2, 0.4];
        let counts = [90.0, 98.0, 99.5, 100.0];
        let p95 = quantile(&edges, &counts, 0.95).unwrap();
        assert!((0.1..0.2).contains(&p95), "{p95}");
        assert_eq!(quantile(&edges, &counts, 0.999), Some(f64::INFINITY));
        assert_eq!(quantile(&edges, &counts, 0.5), Some(0.1 * 0.5 / 0.9));
        assert_eq!(quantile(&edges, &[0.0; 4], 0.5), None);
    }

    #[test]
    fn the_tail_follows_the_judges_formula() {
        // From the formula by hand: a=0.1, b=0.2, Fa=.9, Fb=.98, q=.95: 0.1·(.1/.05)^(ln2/ln5)
        let want = 0.1 * 2f64.powf(2f64.ln() / 5f64.ln());
        let got = quantile(&[0.1, 0.2], &[90.0, 98.0, 100.0], 0.95).unwrap();
        assert!((got - want).abs() < 1e-12, "{got} {want}");
    }
}
