//! Units of metrics, and bounds with their basis. All values are kept in base units: seconds, bytes, shares of one.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::time::Span;

/// What a metric's numbers mean. Decides how they are shown and which units a bound may carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A share of one; shown as a percentage, changes in percentage points.
    Percent,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Events per second.
    PerSecond,
    /// Things: threads, messages, rows.
    Count,
}

impl Unit {
    /// A value with its unit: `99.60%`, `262ms`, `1,204`, `3.2/s`, `64MiB`. NaN is `--`.
    pub fn show(self, value: f64) -> String {
        if value.is_nan() {
            return "--".to_owned();
        }
        if value.is_infinite() {
            return if value > 0.0 { "∞" } else { "-∞" }.to_owned();
        }
        match self {
            Unit::Percent => format!("{:.2}%", value * 100.0),
            Unit::Seconds => seconds(value),
            Unit::Bytes => bytes(value),
            Unit::PerSecond => format!("{}/s", plain(value)),
            Unit::Count => plain(value),
        }
    }

    /// A change of a value, with its sign: `+1.52s`, `-0.40pp`.
    pub fn show_change(self, change: f64) -> String {
        let sign = if change < 0.0 { "-" } else { "+" };
        match self {
            Unit::Percent if change.is_finite() => format!("{sign}{:.2}pp", change.abs() * 100.0),
            _ => format!("{sign}{}", self.show(change.abs())),
        }
    }
}

fn seconds(value: f64) -> String {
    let ms = value * 1000.0;
    match ms.abs() {
        0.0 => "0ms".to_owned(),
        a if a < 10.0 => format!("{ms:.1}ms"),
        a if a < 1000.0 => format!("{ms:.0}ms"),
        a if a < 60_000.0 => format!("{value:.2}s"),
        _ if value < 0.0 => format!("-{}", Span(ms.abs().round() as u64)),
        _ => Span(ms.round() as u64).to_string(),
    }
}

fn bytes(value: f64) -> String {
    let mut scaled = value;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if scaled.abs() < 1024.0 {
            return if unit == "B" {
                format!("{scaled:.0}B")
            } else {
                format!("{scaled:.1}{unit}")
            };
        }
        scaled /= 1024.0;
    }
    format!("{scaled:.1}TiB")
}

fn plain(value: f64) -> String {
    match value.abs() {
        a if a >= 100.0 || value.fract() == 0.0 => thousands(value),
        a if a >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A whole number with commas between the thousands.
pub fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    if value < 0.0 && out != "0" {
        format!("-{out}")
    } else {
        out
    }
}

/// What a bound is measured against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The metric's own unit (for a ratio: percentage points, as a share of one).
    Absolute,
    /// A fraction of the baseline: 0.2 is 20 %.
    Relative,
}

/// A bound on a change or a level, in base units of its basis.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// The lower bound, if any.
    pub at_least: Option<f64>,
    /// The upper bound, if any.
    pub at_most: Option<f64>,
    /// What both are measured against.
    pub basis: Basis,
}

/// A number that may be infinite. JSON has no infinity, so it is written as the text `inf` or `-inf` there.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "LevelForm", into = "LevelForm")]
pub struct Level(pub f64);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum LevelForm {
    Number(f64),
    Text(String),
}

impl From<Level> for LevelForm {
    fn from(level: Level) -> Self {
        match level.0 {
            x if x.is_finite() => LevelForm::Number(x),
            x => LevelForm::Text(x.to_string()),
        }
    }
}

impl TryFrom<LevelForm> for Level {
    type Error = std::num::ParseFloatError;
    fn try_from(form: LevelForm) -> Result<Self, Self::Error> {
        match form {
            LevelForm::Number(x) => Ok(Level(x)),
            LevelForm::Text(text) => text.parse().map(Level),
        }
    }
}

/// A share of one, 0 to 1: percentages of traffic, ramp stages.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Share(pub f64);

impl Share {
    /// Everything.
    pub const ALL: Share = Share(1.0);
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = (self.0 * 1e6).round() / 1e4;
        f.pad(&format!("{percent}%"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_carry_their_units() {
        let shown: Vec<String> = [
            (Unit::Percent, 0.996),
            (Unit::Seconds, 0.262),
            (Unit::Seconds, 2.31),
            (Unit::Seconds, 0.0042),
            (Unit::PerSecond, 3.25),
            (Unit::Count, 110_412.0),
            (Unit::Bytes, 67_108_864.0),
            (Unit::Count, f64::NAN),
            (Unit::Seconds, f64::INFINITY),
        ]
        .iter()
        .map(|(unit, value)| unit.show(*value))
        .collect();
        assert_eq!(
            shown,
            [
                "99.60%", "262ms", "2.31s", "4.2ms", "3.25/s", "110,412", "64.0MiB", "--", "∞"
            ]
        );
    }

    #[test]
    fn a_change_of_a_percentage_is_in_points() {
        assert_eq!(Unit::Percent.show_change(-0.012), "-1.20pp");
        assert_eq!(Unit::Seconds.show_change(1.5), "+1.50s");
    }

    #[test]
    fn an_infinite_level_survives_json() {
        for x in [1.5, f64::INFINITY, f64::NEG_INFINITY] {
            let text = serde_json::to_string(&Level(x)).unwrap();
            assert_eq!(serde_json::from_str::<Level>(&text).unwrap(), Level(x), "{text}");
        }
    }

    #[test]
    fn a_share_reads_as_a_percentage() {
        assert_eq!(Share(0.07).to_string(), "7%");
        assert_eq!(Share(0.005).to_string(), "0.5%");
    }
}
