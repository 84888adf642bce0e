//! Cases as lines of JSON: what `judge --series` reads, and the form of the specification's vectors.
//!
//! Lines come from anywhere, so every mistake is named with its place. `NaN` and `Infinity` are no JSON, but
//! many writers emit them: they are read as the strings they stand for.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::expect::{Bounds, Case, Expect, Unit};
use super::series::are_edges;
use super::windows::{MAX_WINDOWS, Periods, PeriodsError, Windows};

/// Longest line that is read, in bytes.
const MAX_LINE: usize = 16 << 20;
/// Keys of a case that may be left out; a near miss is a mistake, any other key is the writer's own.
const OPTIONAL: [&str; 4] = ["settle", "expect", "edges", "pause"];

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CaseError {
    /// Over the size that is read.
    #[error("the line has {0} bytes, more than {MAX_LINE}: use fewer or wider windows")]
    TooLong(usize),
    /// Not JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// A key is missing.
    #[error("`{at}` is missing: {wanted}")]
    Missing {
        /// The key, with its parents.
        at: String,
        /// What belongs there.
        wanted: &'static str,
    },
    /// A value is of the wrong form.
    #[error("`{at}` is {found}: {wanted}")]
    Wrong {
        /// The key, with its parents and the window's index.
        at: String,
        /// What stands there, shortened.
        found: String,
        /// What belongs there.
        wanted: &'static str,
    },
    /// A key that this form does not have.
    #[error("unknown key `{at}`: {wanted}")]
    Unknown {
        /// The key, with its parents.
        at: String,
        /// The keys that would do.
        wanted: String,
    },
    /// The two periods do not fit together.
    #[error(transparent)]
    Periods(#[from] PeriodsError),
}

/// Reads one case from one line of JSON.
///
/// # Errors
/// [`CaseError`], which names the key or window that is wrong.
pub fn parse_case(line: &str) -> Result<Case, CaseError> {
    if line.len() > MAX_LINE {
        return Err(CaseError::TooLong(line.len()));
    }
    let value: Value =
        serde_json::from_str(&quoted(line)).map_err(|error| CaseError::NotJson(error.to_string()))?;
    let Value::Object(case) = &value else {
        return Err(wrong("line", &value, "a case is an object with kind, baseline, injection, expect"));
    };
    refuse_near_misses(case)?;
    let (baseline, injection) = windows(case)?;
    let mut periods = Periods::new(baseline, injection)?;
    periods.settle = count(case, "settle")?;
    periods.pause = count(case, "pause")?.unwrap_or(0);
    Ok(Case {
        periods,
        expect: expectation(case)?,
        sdc: given(case, "sdc")
            .map(|value| {
                extended(value)
                    .filter(|sdc| *sdc >= 0.0)
                    .ok_or_else(|| wrong("sdc", value, "a number, not negative"))
            })
            .transpose()?,
        id: case.get("id").cloned(),
        name: given(case, "name")
            .map(|value| value.as_str().map(clean).ok_or_else(|| wrong("name", value, "a text")))
            .transpose()?,
    })
}

/// A text without control characters: names are shown on terminals.
fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// The line with `NaN` and `Infinity` outside of strings put into quotes.
fn quoted(line: &str) -> Cow<'_, str> {
    if !line.contains("NaN") && !line.contains("Infinity") {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len() + 16);
    let (mut rest, mut is_string) = (line, false);
    while let Some(c) = rest.chars().next() {
        let token = ["-Infinity", "Infinity", "NaN"].into_iter().find(|token| rest.starts_with(token));
        match (token, is_string) {
            (Some(token), false) => {
                out.push_str(&format!("\"{token}\""));
                rest = &rest[token.len()..];
                continue;
            }
            _ if c == '"' => is_string = !is_string,
            _ if c == '\\' && is_string => {
                out.push(c);
                rest = &rest[1..];
            }
            _ => {}
        }
        if let Some(c) = rest.chars().next() {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    Cow::Owned(out)
}

fn refuse_near_misses(case: &Map<String, Value>) -> Result<(), CaseError> {
    for key in case.keys() {
        let near = OPTIONAL.iter().find(|name| strsim::osa_distance(name, key) == 1);
        if let Some(name) = near {
            return Err(CaseError::Unknown { at: shown(key), wanted: format!("did you mean `{name}`?") });
        }
    }
    Ok(())
}

/// A key's value, `null` being none.
fn given<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    map.get(key).filter(|value| !value.is_null())
}

fn needed<'a>(
    map: &'a Map<String, Value>,
    key: &'static str,
    wanted: &'static str,
) -> Result<&'a Value, CaseError> {
    map.get(key).ok_or_else(|| CaseError::Missing { at: key.into(), wanted })
}

fn wrong(at: impl Into<String>, found: &Value, wanted: &'static str) -> CaseError {
    CaseError::Wrong { at: at.into(), found: shown(&found.to_string()), wanted }
}

/// Foreign text, cleaned and shortened for an error.
fn shown(text: &str) -> String {
    const MOST: usize = 40;
    let text = clean(text);
    match text.char_indices().nth(MOST) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

/// A number, or the text of a number that JSON cannot write.
fn extended(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "nan" => Some(f64::NAN),
            "inf" | "+inf" | "infinity" | "+infinity" => Some(f64::INFINITY),
            "-inf" | "-infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

fn count(case: &Map<String, Value>, key: &'static str) -> Result<Option<usize>, CaseError> {
    given(case, key)
        .map(|value| {
            value
                .as_u64()
                .and_then(|count| usize::try_from(count).ok())
                .ok_or_else(|| wrong(key, value, "a whole number of windows"))
        })
        .transpose()
}

/// Both periods, in the kind's form.
fn windows(case: &Map<String, Value>) -> Result<(Windows, Windows), CaseError> {
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
            both(&|key| Ok(Windows::Quantile { edges: edges.clone(), q, cum: list(case, key, window)? }))
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
    let Value::Array(entries) = value else { return Err(wrong(key, value, WANTED)) };
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
    let Value::Array(entries) = value else { return Err(wanted) };
    if !entries.iter().all(|entry| entry.is_null() || extended(entry).is_some()) {
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
    let edges = numbers(value, WANTED).ok().flatten().filter(|edges| are_edges(edges));
    edges.ok_or_else(|| wrong("edges", value, WANTED))
}

fn quantile(case: &Map<String, Value>) -> Result<f64, CaseError> {
    const WANTED: &str = "the quantile, above 0 and below 1, 0.99 being the p99";
    let value = needed(case, "q", WANTED)?;
    value.as_f64().filter(|q| *q > 0.0 && *q < 1.0).ok_or_else(|| wrong("q", value, WANTED))
}

fn expectation(case: &Map<String, Value>) -> Result<Expect, CaseError> {
    const WANTED: &str = "{\"dir\": \"rises\"|\"falls\"|\"stays\"|\"level\", at_least, at_most, within, unit}";
    const DIRECTIONS: &str = "rises, falls, stays or level";
    let value = needed(case, "expect", WANTED)?;
    let Value::Object(expect) = value else { return Err(wrong("expect", value, WANTED)) };
    let direction = expect
        .get("dir")
        .ok_or_else(|| CaseError::Missing { at: "expect.dir".into(), wanted: DIRECTIONS })?;
    let unit = unit(expect)?;
    match direction.as_str() {
        Some("rises") => Ok(Expect::Rises { bounds: sizes(expect)?, unit }),
        Some("falls") => Ok(Expect::Falls { bounds: sizes(expect)?, unit }),
        Some("stays") => stays(expect, unit),
        Some("level") => level(expect, unit),
        _ => Err(wrong("expect.dir", direction, DIRECTIONS)),
    }
}

fn unit(expect: &Map<String, Value>) -> Result<Unit, CaseError> {
    match given(expect, "unit") {
        None => Ok(Unit::Abs),
        Some(Value::String(unit)) if unit == "abs" => Ok(Unit::Abs),
        Some(Value::String(unit)) if unit == "rel" => Ok(Unit::Rel),
        Some(other) => {
            Err(wrong("expect.unit", other, "abs, the metric's unit, or rel, a part of the baseline"))
        }
    }
}

fn stays(expect: &Map<String, Value>, unit: Unit) -> Result<Expect, CaseError> {
    const WANTED: &str = "the largest move either way, not negative";
    only(expect, &["dir", "unit", "within"])?;
    let within = bound(expect, "within", 0.0, WANTED)?;
    let within = within.ok_or_else(|| CaseError::Missing { at: "expect.within".into(), wanted: WANTED })?;
    Ok(Expect::Stays { within, unit })
}

fn level(expect: &Map<String, Value>, unit: Unit) -> Result<Expect, CaseError> {
    const WANTED: &str = "a level row needs at_least or at_most";
    let bounds = bounds(expect, f64::NEG_INFINITY)?;
    if unit == Unit::Rel {
        return Err(wrong("expect.unit", &Value::from("rel"), "a level is in the metric's own unit, abs"));
    }
    if bounds.is_open() {
        return Err(CaseError::Missing { at: "expect.at_least".into(), wanted: WANTED });
    }
    Ok(Expect::Level { bounds })
}

/// Bounds of a rise or a fall: sizes, never negative.
fn sizes(expect: &Map<String, Value>) -> Result<Bounds, CaseError> {
    bounds(expect, 0.0)
}

fn bounds(expect: &Map<String, Value>, least: f64) -> Result<Bounds, CaseError> {
    only(expect, &["dir", "unit", "at_least", "at_most"])?;
    let wanted =
        if least == 0.0 { "the size of the move, a number, not negative" } else { "a level, a number" };
    let bounds = Bounds {
        at_least: bound(expect, "at_least", least, wanted)?,
        at_most: bound(expect, "at_most", least, wanted)?,
    };
    match (bounds.at_least, bounds.at_most) {
        (Some(low), Some(high)) if low > high => {
            Err(wrong("expect.at_least", &Value::from(low), "no more than expect.at_most"))
        }
        _ => Ok(bounds),
    }
}

fn bound(
    expect: &Map<String, Value>,
    key: &str,
    least: f64,
    wanted: &'static str,
) -> Result<Option<f64>, CaseError> {
    given(expect, key)
        .map(|value| {
            let number = value.as_f64().filter(|number| number.is_finite() && *number >= least);
            number.ok_or_else(|| wrong(format!("expect.{key}"), value, wanted))
        })
        .transpose()
}

fn only(expect: &Map<String, Value>, known: &[&str]) -> Result<(), CaseError> {
    match expect.iter().find(|(key, value)| !known.contains(&key.as_str()) && !value.is_null()) {
        None => Ok(()),
        Some((key, _)) => Err(CaseError::Unknown {
            at: format!("expect.{}", shown(key)),
            wanted: format!("here stand {}", known.join(", ")),
        }),
    }
}
