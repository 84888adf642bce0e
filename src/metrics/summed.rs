//! Selectors with too many series for raw samples: the server adds them up, target by target.
//!
//! A sum over all targets would fall when one of them restarts, and hide it. A sum per target falls only when its target
//! restarts, so resets are still seen. Its sample time is the newest one of the target, asked for in the same query, so
//! that value and time belong together.

use std::collections::BTreeMap;

use super::answer::{Series, millis};
use crate::model::{dashboard::Agg, sample::SourceMs};

/// The label that tells the two halves of the answer apart.
const HALF: &str = "allclear_half";

/// The query that adds up `selector`, target by target; `le` is kept for histograms.
pub(super) fn query(selector: &str, histogram: bool, agg: Option<Agg>) -> String {
    let (fold, by) = match agg {
        // A mean of means of targets would weigh their series differently: the server folds the whole.
        Some(Agg::Avg) => ("avg", ""),
        Some(Agg::Max) => ("max", "by (job, instance) "),
        Some(Agg::Sum) | None if histogram => ("sum", "by (job, instance, le) "),
        Some(Agg::Sum) | None => ("sum", "by (job, instance) "),
    };
    let half = |name: &str, inner: String| format!(r#"label_replace({inner}, "{HALF}", "{name}", "", "")"#);
    let value = half("value", format!("{fold} {by}({selector})"));
    let time = half("time", format!("max {by}(timestamp({selector}))"));
    format!("{value} or {time}")
}

/// Puts values and times together again.
pub(super) fn joined(halves: Vec<Series>) -> Vec<Series> {
    let mut times: BTreeMap<BTreeMap<String, String>, SourceMs> = BTreeMap::new();
    let mut values = Vec::new();
    for mut series in halves {
        let Some((_, number)) = series.samples.first().copied() else {
            continue;
        };
        match series.labels.remove(HALF).as_deref() {
            Some("time") => {
                times.extend(millis(number).map(|time| (series.labels, time)));
            }
            _ => values.push((series.labels, number)),
        }
    }
    values
        .into_iter()
        .filter_map(|(labels, value)| {
            let time = *times.get(&labels)?;
            Some(Series {
                labels,
                samples: vec![(time, value)],
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_asks_for_values_and_times_at_once() {
        insta::assert_snapshot!(
            query("m{a=\"b\"}", true, None),
            @r#"label_replace(sum by (job, instance, le) (m{a="b"}), "allclear_half", "value", "", "") or label_replace(max by (job, instance, le) (timestamp(m{a="b"})), "allclear_half", "time", "", "")"#
        );
        insta::assert_snapshot!(
            query("m", false, Some(Agg::Avg)),
            @r#"label_replace(avg (m), "allclear_half", "value", "", "") or label_replace(max (timestamp(m)), "allclear_half", "time", "", "")"#
        );
    }

    #[test]
    fn values_get_the_times_of_their_own_target() {
        let series = |instance: &str, half: &str, value: f64| Series {
            labels: [("instance", instance), (HALF, half)]
                .into_iter()
                .map(|(k, v)| (k.to_owned(), v.to_owned()))
                .collect(),
            samples: vec![(9_000, value)],
        };
        let got = joined(vec![
            series("a", "value", 7.0),
            series("b", "value", 8.0),
            series("b", "time", 2.5),
            series("a", "time", 1.5),
            series("c", "value", 9.0),
        ]);
        let short: Vec<_> = got
            .iter()
            .map(|s| (s.labels["instance"].as_str(), s.samples[0]))
            .collect();
        assert_eq!(short, [("a", (1500, 7.0)), ("b", (2500, 8.0))]);
    }
}
