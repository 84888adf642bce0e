//! Verdicts, their reasons, and all that the sheet shows beside them.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::model::{said::Said, sheet::Verdict, text::Lang};

/// Which of the two periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// The silent observation.
    Baseline,
    /// The time with the fault.
    Injection,
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word(Lang::En))
    }
}

/// Why a verdict was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// NO DATA: too few usable windows.
    FewWindows {
        /// Where they are missing.
        period: Period,
        /// How many there are.
        usable: usize,
    },
    /// NO DATA: too few observations for the quantile.
    FewObservations {
        /// Where they are missing.
        period: Period,
        /// How many there are.
        observations: u64,
    },
    /// UNDECIDED: a relative bound, and no baseline to relate to.
    NoRelativeChange,
    /// UNDECIDED: the row has no bound, or none that is a number, where it needs one.
    NoBound,
    /// UNEXPECTED: a fall instead of a rise, or a rise instead of a fall.
    WrongDirection,
    /// AS EXPECTED: a row without bounds moved its way.
    MovedAsDeclared,
    /// UNEXPECTED: a row without bounds did not move by what could have been seen.
    NoDetectableMove,
    /// UNDECIDED: a bound lies inside the interval.
    Straddles,
    /// AS EXPECTED: the interval lies inside the bounds.
    Inside,
    /// UNEXPECTED: moved less than declared.
    TooSmall,
    /// UNEXPECTED: moved more than declared.
    TooLarge,
    /// UNEXPECTED: below the allowed band.
    Below,
    /// UNEXPECTED: above the allowed band.
    Above,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FewWindows { period, usable } => {
                return write!(f, "{period} too thin: {usable} usable windows");
            }
            Self::FewObservations { period, observations } => {
                return write!(
                    f,
                    "{period} too thin: {observations} observations for this quantile"
                );
            }
            Self::NoRelativeChange => "no relative change: baseline zero, too sparse, or signed",
            Self::NoBound => "no bound to judge by",
            Self::WrongDirection => "wrong direction",
            Self::MovedAsDeclared => "moved as declared",
            Self::NoDetectableMove => "no detectable move",
            Self::Straddles => "straddles",
            Self::Inside => "inside",
            Self::TooSmall => "too small",
            Self::TooLarge => "too large",
            Self::Below => "below",
            Self::Above => "above",
        })
    }
}

impl Period {
    fn word(self, lang: Lang) -> &'static str {
        match self {
            Self::Baseline => lang.pick("baseline", "基线"),
            Self::Injection => lang.pick("injection", "注入期"),
        }
    }
}

impl Reason {
    /// The same in both languages.
    pub fn said(&self) -> Said {
        let zh = match self {
            Self::FewWindows { period, usable } => {
                format!("{}数据不足：可用窗口 {usable} 个", period.word(Lang::Zh))
            }
            Self::FewObservations { period, observations } => {
                format!(
                    "{}数据不足：该分位数仅 {observations} 个观测",
                    period.word(Lang::Zh)
                )
            }
            Self::NoRelativeChange => "无相对变化：基线为零、太稀疏或有正有负".to_owned(),
            Self::NoBound => "无界限可判".to_owned(),
            Self::WrongDirection => "方向相反".to_owned(),
            Self::MovedAsDeclared => "变动符合声明".to_owned(),
            Self::NoDetectableMove => "无可分辨的变动".to_owned(),
            Self::Straddles => "跨越界限".to_owned(),
            Self::Inside => "在界限内".to_owned(),
            Self::TooSmall => "变动太小".to_owned(),
            Self::TooLarge => "变动太大".to_owned(),
            Self::Below => "低于界限".to_owned(),
            Self::Above => "高于界限".to_owned(),
        };
        Said::new(self.to_string(), zh)
    }
}

/// An end of the declared interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The smallest allowed.
    Lower,
    /// The largest allowed.
    Upper,
}

/// A bound inside the measured interval, counted in the declared direction: a fall's bounds are sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Straddled {
    /// Which end of the declared interval.
    pub end: End,
    /// The bound, in the row's unit.
    pub bound: f64,
    /// How far the measured interval reaches past it, positive, perhaps infinite.
    pub past: f64,
}

/// A row's verdict with all that the sheet shows beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
    /// The change, or the level for a level row, in the row's unit. `None` where it cannot be told.
    pub estimate: Option<f64>,
    /// Level of the baseline; infinite for a quantile in the +Inf bucket. `None` without data.
    pub base: Option<f64>,
    /// Level of the injection.
    pub level: Option<f64>,
    /// Lower end of the 98 % interval, in the row's unit; may be infinite.
    pub lo: Option<f64>,
    /// Upper end.
    pub hi: Option<f64>,
    /// With UNDECIDED: the bounds inside the interval.
    pub straddled: Vec<Straddled>,
    /// The estimate lies outside the interval, because the baseline's drift was taken out of the latter.
    pub drift_taken_out: bool,
}

impl Judgement {
    /// No verdict on the change: the windows do not suffice.
    pub(super) fn no_data(reason: Reason) -> Self {
        Self {
            verdict: Verdict::NoData,
            reason,
            estimate: None,
            base: None,
            level: None,
            lo: None,
            hi: None,
            straddled: Vec::new(),
            drift_taken_out: false,
        }
    }

    /// The line that `judge --series` prints; infinities are the strings `inf` and `-inf`.
    pub fn to_json(&self, id: Option<&Value>) -> Value {
        let mut line = Map::new();
        line.insert("id".into(), id.cloned().unwrap_or(Value::Null));
        if self.verdict != Verdict::NoData {
            let numbers = [
                ("estimate", self.estimate),
                ("base", self.base),
                ("level", self.level),
                ("lo", self.lo),
                ("hi", self.hi),
            ];
            for (key, number) in numbers {
                line.insert(key.into(), json_number(number));
            }
        }
        line.insert("verdict".into(), json!(self.verdict.to_string()));
        line.insert("reason".into(), json!(self.reason.to_string()));
        Value::Object(line)
    }
}

fn json_number(number: Option<f64>) -> Value {
    match number {
        Some(x) if x == f64::INFINITY => json!("inf"),
        Some(x) if x == f64::NEG_INFINITY => json!("-inf"),
        Some(x) if x.is_finite() => json!(x),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_written_as_it_is_read() {
        for verdict in [
            Verdict::AsExpected,
            Verdict::Unexpected,
            Verdict::Undecided,
            Verdict::NoData,
            Verdict::NotExercised,
            Verdict::Confounded,
        ] {
            let text = serde_json::to_string(&verdict).unwrap();
            assert_eq!(text, format!("\"{verdict}\""));
            assert_eq!(serde_json::from_str::<Verdict>(&text).unwrap(), verdict);
        }
    }
}
