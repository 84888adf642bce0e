//! Time. A [`Moment`] is monotonic and counts suspend; a [`Span`] is what passes between two of them; wall time
//! ([`jiff::Timestamp`]) is only for people and for the samples of other systems.

use std::{fmt, ops, time::Duration};

use serde::{Deserialize, Serialize};

/// A point on the clock that counts suspend (`CLOCK_BOOTTIME`), in milliseconds since the machine started. Two
/// processes on one machine agree on it; it means nothing on another machine or after a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(pub u64);

impl Moment {
    /// What has passed since `earlier`; zero if that lies ahead.
    pub fn since(self, earlier: Moment) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl ops::Add<Span> for Moment {
    type Output = Moment;
    fn add(self, span: Span) -> Moment {
        Moment(self.0.saturating_add(span.0))
    }
}

/// A duration in whole milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(pub u64);

/// Why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotASpan {
    /// A number without a unit.
    #[error("a duration needs its unit: write `{0}s`, `{0}ms` or `{0}m`")]
    NoUnit(String),
    /// Anything else.
    #[error("not a duration: write a number and ms, s, m or h, such as `500ms`, `10m` or `1m30s`")]
    Malformed,
    /// Over a year: surely a slip.
    #[error("a duration over a year is surely a slip")]
    TooLong,
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// That many seconds.
    pub const fn seconds(s: u64) -> Span {
        Span(s * 1000)
    }

    /// That many milliseconds.
    pub const fn millis(ms: u64) -> Span {
        Span(ms)
    }

    /// The same as fractional seconds.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1000.0
    }

    /// How many whole `window`s fit in; zero for an empty window.
    pub fn windows(self, window: Span) -> usize {
        self.0.checked_div(window.0).unwrap_or(0) as usize
    }

    /// Reads `500ms`, `10s`, `1m30s`, `2h`, `1.5s`. The unit is never guessed.
    pub fn parse(text: &str) -> Result<Span, NotASpan> {
        let text = text.trim();
        if !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.') {
            return Err(NotASpan::NoUnit(text.chars().take(20).collect()));
        }
        let mut rest = text;
        let mut total = 0.0;
        while !rest.is_empty() {
            let digits = rest
                .find(|c: char| !(c.is_ascii_digit() || c == '.'))
                .ok_or(NotASpan::Malformed)?;
            let number: f64 = rest[..digits].parse().map_err(|_| NotASpan::Malformed)?;
            let after = &rest[digits..];
            let unit = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
            total += number
                * match &after[..unit] {
                    "ms" => 1.0,
                    "s" => 1_000.0,
                    "m" => 60_000.0,
                    "h" => 3_600_000.0,
                    "d" => 86_400_000.0,
                    _ => return Err(NotASpan::Malformed),
                };
            rest = &after[unit..];
        }
        match total {
            _ if text.is_empty() => Err(NotASpan::Malformed),
            ms if ms > 366.0 * 86_400_000.0 => Err(NotASpan::TooLong),
            ms => Ok(Span(ms.round() as u64)),
        }
    }

    /// `04:12`, or `1:04:12` from an hour on: for running clocks.
    pub fn clock(self) -> String {
        let s = self.0 / 1000;
        let (h, m, s) = (s / 3600, s / 60 % 60, s % 60);
        if h > 0 {
            format!("{h}:{m:02}:{s:02}")
        } else {
            format!("{m:02}:{s:02}")
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0;
        let text = if ms == 0 {
            "0s".to_owned()
        } else if ms < 1000 {
            format!("{ms}ms")
        } else if ms < 60_000 && !ms.is_multiple_of(1000) {
            format!("{}s", ms as f64 / 1000.0)
        } else {
            let (d, h, m, s) = (
                ms / 86_400_000,
                ms / 3_600_000 % 24,
                ms / 60_000 % 60,
                ms / 1000 % 60,
            );
            [(d, "d"), (h, "h"), (m, "m"), (s, "s")]
                .iter()
                .filter(|(n, _)| *n > 0)
                .map(|(n, unit)| format!("{n}{unit}"))
                .collect()
        };
        f.pad(&text)
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Duration {
        Duration::from_millis(span.0)
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Span {
        Span(duration.as_millis().try_into().unwrap_or(u64::MAX))
    }
}

impl ops::Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl ops::Mul<u64> for Span {
    type Output = Span;
    fn mul(self, n: u64) -> Span {
        Span(self.0.saturating_mul(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_reads_back() {
        for text in ["500ms", "1.5s", "10s", "1m30s", "10m", "2h", "1d2h"] {
            assert_eq!(Span::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_bare_number_is_told_which_units_there_are() {
        assert_eq!(
            Span::parse("10").unwrap_err().to_string(),
            "a duration needs its unit: write `10s`, `10ms` or `10m`"
        );
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "s", "10x", "1..2s", "-5s", "999d9h"] {
            assert!(Span::parse(text).is_err(), "{text:?}");
        }
    }
}
