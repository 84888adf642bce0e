//! The expectation of a case.

use serde_json::{Map, Value};

use super::CaseError;
use super::values::{given, needed, shown, wrong};
use crate::judge::expect::{Bounds, Expect, Unit};

/// What a case declares.
pub(super) fn read(case: &Map<String, Value>) -> Result<Expect, CaseError> {
    const WANTED: &str =
        "{\"dir\": \"rises\"|\"falls\"|\"stays\"|\"level\", at_least, at_most, within, unit}";
    const DIRECTIONS: &str = "rises, falls, stays or level";
    let value = needed(case, "expect", WANTED)?;
    let Value::Object(expect) = value else {
        return Err(wrong("expect", value, WANTED));
    };
    let direction = expect.get("dir").ok_or_else(|| CaseError::Missing {
        at: "expect.dir".into(),
        wanted: DIRECTIONS,
    })?;
    let unit = unit(expect)?;
    match direction.as_str() {
        Some("rises") => Ok(Expect::Rises {
            bounds: sizes(expect)?,
            unit,
        }),
        Some("falls") => Ok(Expect::Falls {
            bounds: sizes(expect)?,
            unit,
        }),
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
        Some(other) => Err(wrong(
            "expect.unit",
            other,
            "abs, the metric's unit, or rel, a part of the baseline",
        )),
    }
}

fn stays(expect: &Map<String, Value>, unit: Unit) -> Result<Expect, CaseError> {
    const WANTED: &str = "the largest move either way, not negative";
    only(expect, &["dir", "unit", "within"])?;
    let within = bound(expect, "within", 0.0, WANTED)?;
    let within = within.ok_or_else(|| CaseError::Missing {
        at: "expect.within".into(),
        wanted: WANTED,
    })?;
    Ok(Expect::Stays { within, unit })
}

fn level(expect: &Map<String, Value>, unit: Unit) -> Result<Expect, CaseError> {
    const WANTED: &str = "at_least or at_most, for a level has no direction";
    let bounds = bounds(expect, f64::NEG_INFINITY)?;
    if unit == Unit::Rel {
        return Err(wrong(
            "expect.unit",
            &Value::from("rel"),
            "abs, for a level is in the metric's own unit",
        ));
    }
    if bounds.is_open() {
        return Err(CaseError::Missing {
            at: "expect.at_least".into(),
            wanted: WANTED,
        });
    }
    Ok(Expect::Level { bounds })
}

/// Bounds of a rise or a fall: sizes, never negative.
fn sizes(expect: &Map<String, Value>) -> Result<Bounds, CaseError> {
    bounds(expect, 0.0)
}

fn bounds(expect: &Map<String, Value>, least: f64) -> Result<Bounds, CaseError> {
    only(expect, &["dir", "unit", "at_least", "at_most"])?;
    let wanted = if least == 0.0 {
        "the size of the move, a number, not negative"
    } else {
        "a level, a number"
    };
    let bounds = Bounds {
        at_least: bound(expect, "at_least", least, wanted)?,
        at_most: bound(expect, "at_most", least, wanted)?,
    };
    match (bounds.at_least, bounds.at_most) {
        (Some(low), Some(high)) if low > high => Err(wrong(
            "expect.at_least",
            &Value::from(low),
            "no more than expect.at_most",
        )),
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
            let number = value
                .as_f64()
                .filter(|number| number.is_finite() && *number >= least);
            number.ok_or_else(|| wrong(format!("expect.{key}"), value, wanted))
        })
        .transpose()
}

fn only(expect: &Map<String, Value>, known: &[&str]) -> Result<(), CaseError> {
    match expect
        .iter()
        .find(|(key, value)| !known.contains(&key.as_str()) && !value.is_null())
    {
        None => Ok(()),
        Some((key, _)) => Err(CaseError::Unknown {
            at: format!("expect.{}", shown(key)),
            wanted: format!("here stand {}", known.join(", ")),
        }),
    }
}
