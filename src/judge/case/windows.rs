//! The windows of a case, kind by kind.

use serde_json::{Map, Value};

use super::CaseError;
use super::values::{extended, needed, wrong};
use crate::judge::series::are_edges;
use crate::judge::windows::{MAX_WINDOWS, PeriodsError, Windows};

/// Both periods, in the kind's form.
pub(super) fn read(case: &Map<String, Value>) -> Result<(Windows, Windows), CaseError> {
    const KINDS: &str = "gauge, rate, ratio or quantile";
    let kind = needed(case, "kind", KINDS)?;
    let both = |read: &dyn Fn(&'static str) -> Result<Windows, CaseError>| {
        Ok((read("baseline")?, read("injection")?))
    };
    match kind.as_str() {
        Some("gauge") => both(&|key| Ok(Windows::Gauge(list(case, key, gauge_window)?))),
        Some("rate") => both(&|key| Ok(Windows::Rate(list(case, key, rate_window)?))),
        Some("ratio") => both(&|key| Ok(Windows::Ratio(list(case, key, ratio_window)?))),
        Some("quantile") => {
            let (edges, q) = (edges(case)?, quantile(case)?);
            let window = |value: &Value| bucket_window(value, edges.len());
            both(&|key| {
                Ok(Windows::Quantile {
                    edges: edges.clone(),
                    q,
                    cum: list(case, key, window)?,
                })
            })
        }
        _ => Err(wrong("kind", kind, KINDS)),
    }
}

/// A window, or what it should have been. `Ok(None)` is a gap.
type Read<T> = Result<Option<T>, &'static str>;

fn list<T>(
    case: &Map<String, Value>,
    key: &'static str,
    window: impl Fn(&Value) -> Read<T>,
) -> Result<Vec<Option<T>>, CaseError> {
    const WANTED: &str = "a list of windows, null being a gap";
    let value = needed(case, key, WANTED)?;
    let Value::Array(entries) = value else {
        return Err(wrong(key, value, WANTED));
    };
    if entries.len() > MAX_WINDOWS {
        return Err(PeriodsError::TooLong(entries.len()).into());
    }
    let read = |(k, entry): (usize, &Value)| match entry {
        Value::Null => Ok(None),
        _ => window(entry).map_err(|wanted| wrong(format!("{key}[{k}]"), entry, wanted)),
    };
    entries.iter().enumerate().map(read).collect()
}

fn gauge_window(value: &Value) -> Read<f64> {
    extended(value).map(Some).ok_or("a number, \"nan\" or null")
}

/// All numbers of a window; a gap among them makes the window a gap.
fn numbers(value: &Value, wanted: &'static str) -> Read<Vec<f64>> {
    let Value::Array(entries) = value else {
        return Err(wanted);
    };
    if !entries
        .iter()
        .all(|entry| entry.is_null() || extended(entry).is_some())
    {
        return Err(wanted);
    }
    let read: Vec<f64> = entries.iter().filter_map(extended).collect();
    Ok((read.len() == entries.len()).then_some(read))
}

fn pair(value: &Value, wanted: &'static str) -> Read<[f64; 2]> {
    if value.as_array().is_none_or(|entries| entries.len() != 2) {
        return Err(wanted);
    }
    Ok(numbers(value, wanted)?.map(|read| [read[0], read[1]]))
}

fn rate_window(value: &Value) -> Read<[f64; 2]> {
    pair(value, "[events, seconds]")
}

fn ratio_window(value: &Value) -> Read<[f64; 2]> {
    pair(value, "[good, total]")
}

fn bucket_window(value: &Value, edges: usize) -> Read<Vec<f64>> {
    const WANTED: &str = "a cumulative count for each edge, then the total";
    if value.as_array().is_none_or(|entries| entries.len() != edges + 1) {
        return Err(WANTED);
    }
    numbers(value, WANTED)
}

fn edges(case: &Map<String, Value>) -> Result<Vec<f64>, CaseError> {
    const WANTED: &str = "the finite upper bounds of the buckets, ascending, at least one";
    let value = needed(case, "edges", WANTED)?;
    let edges = numbers(value, WANTED)
        .ok()
        .flatten()
        .filter(|edges| are_edges(edges));
    edges.ok_or_else(|| wrong("edges", value, WANTED))
}

fn quantile(case: &Map<String, Value>) -> Result<f64, CaseError> {
    const WANTED: &str = "the quantile, above 0 and below 1, 0.99 being the p99";
    let value = needed(case, "q", WANTED)?;
    value
        .as_f64()
        .filter(|q| *q > 0.0 && *q < 1.0)
        .ok_or_else(|| wrong("q", value, WANTED))
}
