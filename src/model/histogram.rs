//! What a histogram tells besides its quantiles: how often something was observed, and the mean of it.

use super::{
    amount::Unit,
    dashboard::{Dashboard, Metric, Read, Selector},
    ids::MetricId,
    text::{Lang, Localized},
};

impl Dashboard {
    /// This dashboard, and for each of its histograms the rate and the mean of what it observed: as such a histogram is
    /// looked at for unexpected moves (docs/judge.md, "Unexpected movers"). Quantiles of the same histogram have one of
    /// each.
    pub fn with_rates_and_means(mut self) -> Dashboard {
        let mut found: Vec<(&Selector, Vec<&Metric>)> = Vec::new();
        for metric in &self.metrics {
            let Read::Quantile { histogram, .. } = &metric.read else {
                continue;
            };
            match found.iter_mut().find(|(known, _)| *known == histogram) {
                Some((_, of)) => of.push(metric),
                None => found.push((histogram, vec![metric])),
            }
        }
        let more: Vec<Metric> = found
            .iter()
            .flat_map(|(histogram, of)| observed(histogram, of))
            .collect();
        let new = |m: &Metric| {
            !self
                .metrics
                .iter()
                .any(|known| known.id == m.id || known.read == m.read)
        };
        let more: Vec<Metric> = more.into_iter().filter(new).collect();
        self.metrics.extend(more);
        self
    }
}

/// The rate and the mean of what a histogram observed, named after the first of its quantiles. None if that name is too
/// long for more.
fn observed(histogram: &Selector, quantiles: &[&Metric]) -> Vec<Metric> {
    let (Some(base), Some(first)) = (histogram.name.strip_suffix("_bucket"), quantiles.first()) else {
        return Vec::new();
    };
    let series = |suffix: &str| Selector {
        name: format!("{base}{suffix}"),
        matchers: histogram.matchers.clone(),
    };
    let metric = |suffix: &str, (en, zh): (&str, &str), unit: Unit, read: Read| {
        Some(Metric {
            id: MetricId::new(&format!("{}.{suffix}", first.id)).ok()?,
            title: Localized {
                en: format!("{} ({en})", first.title.get(Lang::En)),
                zh: Some(format!("{} ({zh})", first.title.get(Lang::Zh))),
            },
            kind: first.kind,
            unit,
            better: None,
            read,
            of: quantiles.iter().map(|m| m.id.clone()).collect(),
        })
    };
    let rate = Read::Rate {
        selector: series("_count"),
    };
    let mean = Read::Mean {
        sum: series("_sum"),
        count: series("_count"),
    };
    [
        metric(
            "rate",
            ("rate of what it counts", "计数速率"),
            Unit::PerSecond,
            rate,
        ),
        metric("mean", ("mean of what it counts", "均值"), first.unit, mean),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{dashboard::MetricKind, testing};

    fn metric(id: &str, read: Read) -> Metric {
        Metric {
            id: MetricId::new(id).unwrap(),
            title: Localized::plain(id),
            kind: MetricKind::Business,
            unit: Unit::Seconds,
            better: None,
            read,
            of: Vec::new(),
        }
    }

    fn series(name: &str) -> Selector {
        Selector {
            name: name.to_owned(),
            matchers: Vec::new(),
        }
    }

    fn quantile(id: &str, q: f64) -> Metric {
        let histogram = series("order_seconds_bucket");
        metric(id, Read::Quantile { histogram, q })
    }

    fn told(metrics: Vec<Metric>) -> Vec<(String, Unit, Vec<String>)> {
        let mut dashboard = testing::drill(Vec::new()).dashboard;
        dashboard.metrics = metrics;
        let named = |ids: &[MetricId]| ids.iter().map(ToString::to_string).collect();
        let all = dashboard.with_rates_and_means().metrics.into_iter();
        all.map(|m| (m.id.to_string(), m.unit, named(&m.of))).collect()
    }

    #[test]
    fn two_quantiles_of_one_histogram_have_one_rate_and_one_mean() {
        let got = told(vec![quantile("p99", 0.99), quantile("p50", 0.5)]);
        let of = vec!["p99".to_owned(), "p50".to_owned()];
        assert_eq!(got.len(), 4);
        assert_eq!(got[2], ("p99.rate".to_owned(), Unit::PerSecond, of.clone()));
        assert_eq!(got[3], ("p99.mean".to_owned(), Unit::Seconds, of));
    }

    #[test]
    fn a_rate_that_the_file_names_itself_is_not_doubled() {
        let selector = series("order_seconds_count");
        let got = told(vec![
            quantile("p99", 0.99),
            metric("orders", Read::Rate { selector }),
        ]);
        let names: Vec<_> = got.iter().map(|(id, ..)| id.as_str()).collect();
        assert_eq!(names, ["p99", "orders", "p99.mean"]);
    }
}
