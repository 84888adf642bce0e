//! Cases as lines of JSON: what `judge --series` reads, and the form of `tests/judge/vectors.json`.
//!
//! Lines come from anywhere, so every mistake is named with its place. `NaN` and `Infinity` are no JSON, but
//! many writers emit them: they are read as the strings they stand for.

mod expect;
mod values;
mod windows;

use serde_json::{Map, Value};

use self::values::{clean, count, extended, given, quoted, shown, wrong};
use super::expect::Case;
use super::windows::{Periods, PeriodsError};

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
    #[error("`{at}` is missing; wanted: {wanted}")]
    Missing {
        /// The key, with its parents.
        at: String,
        /// What belongs there.
        wanted: &'static str,
    },
    /// A value is of the wrong form.
    #[error("`{at}` is {found}; wanted: {wanted}")]
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
        return Err(wrong(
            "line",
            &value,
            "an object with kind, baseline, injection, expect",
        ));
    };
    refuse_near_misses(case)?;
    let (baseline, injection) = windows::read(case)?;
    let mut periods = Periods::new(baseline, injection)?;
    periods.settle = count(case, "settle")?;
    periods.pause = count(case, "pause")?.unwrap_or(0);
    Ok(Case {
        periods,
        expect: expect::read(case)?,
        sdc: given(case, "sdc")
            .map(|value| {
                extended(value)
                    .filter(|sdc| *sdc >= 0.0)
                    .ok_or_else(|| wrong("sdc", value, "a number, not negative"))
            })
            .transpose()?,
        id: case.get("id").cloned(),
        name: given(case, "name")
            .map(|value| {
                value
                    .as_str()
                    .map(clean)
                    .ok_or_else(|| wrong("name", value, "a text"))
            })
            .transpose()?,
    })
}

fn refuse_near_misses(case: &Map<String, Value>) -> Result<(), CaseError> {
    for key in case.keys() {
        let near = OPTIONAL.iter().find(|name| strsim::osa_distance(name, key) == 1);
        if let Some(name) = near {
            return Err(CaseError::Unknown {
                at: shown(key),
                wanted: format!("did you mean `{name}`?"),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::{Expect, Unit, Windows};

    const GAUGE: &str = r#""kind":"gauge","baseline":[1],"injection":[2]"#;

    fn error(line: &str) -> String {
        parse_case(line).unwrap_err().to_string()
    }

    fn with(rest: &str) -> String {
        format!("{{{GAUGE},{rest}}}")
    }

    #[test]
    fn gaps_and_numbers_that_json_cannot_write_are_read() {
        let line = r#"{"kind":"gauge","baseline":[1,null,"nan",NaN,-Infinity,"inf"],"injection":[2.5],
            "name":"a \"NaN\\ b","expect":{"dir":"stays","within":0.1,"unit":"rel"},"id":[7]}"#;
        let case = parse_case(line).unwrap();
        let Windows::Gauge(read) = case.periods.baseline() else {
            panic!("a gauge")
        };
        assert_eq!(read[0], Some(1.0));
        assert_eq!(read[1], None);
        assert!(read[2].unwrap().is_nan() && read[3].unwrap().is_nan());
        assert_eq!((read[4], read[5]), (Some(f64::NEG_INFINITY), Some(f64::INFINITY)));
        assert_eq!(case.name.as_deref(), Some("a \"NaN\\ b"));
        assert_eq!(
            case.expect,
            Expect::Stays {
                within: 0.1,
                unit: Unit::Rel
            }
        );
        assert_eq!(case.id, Some(serde_json::json!([7])));
    }

    #[test]
    fn a_window_with_a_gap_inside_is_a_gap() {
        let line = r#"{"kind":"rate","baseline":[[3,10],[null,10]],"injection":[],"expect":{"dir":"rises"}}"#;
        let expected = Windows::Rate(vec![Some([3.0, 10.0]), None]);
        assert_eq!(parse_case(line).unwrap().periods.baseline(), &expected);
    }

    #[test]
    fn settling_pause_and_a_frozen_sdc_are_read() {
        let case = parse_case(&with(
            r#""settle":6,"pause":4,"sdc":2.5,"expect":{"dir":"falls","at_least":1,"at_most":null}"#,
        ))
        .unwrap();
        assert_eq!(
            (case.periods.settle, case.periods.pause, case.sdc),
            (Some(6), 4, Some(2.5))
        );
    }

    #[test]
    fn keys_of_the_writer_are_left_alone_and_near_misses_are_not() {
        let declared = r#""expect":{"dir":"rises"}"#;
        assert!(parse_case(&with(&format!(r#"{declared},"truth":3,"sd":1,"want":{{}}"#))).is_ok());
        let near = error(&with(&format!(r#"{declared},"settel":6"#)));
        assert_eq!(near, "unknown key `settel`: did you mean `settle`?");
    }

    #[test]
    fn a_bad_line_says_what_is_wrong_and_where() {
        let quantile = r#""kind":"quantile","baseline":[[1,2]],"injection":[],"expect":{"dir":"rises"}"#;
        let shown: Vec<String> = [
            "{".into(),
            "[1]".into(),
            "{}".into(),
            r#"{"kind":"guage"}"#.into(),
            r#"{"kind":"gauge","baseline":[1]}"#.into(),
            r#"{"kind":"gauge","baseline":[1,"x"],"injection":[]}"#.into(),
            r#"{"kind":"gauge","baseline":7,"injection":[]}"#.into(),
            r#"{"kind":"ratio","baseline":[[1,2],[1,2,3]],"injection":[]}"#.into(),
            format!("{{{quantile}}}"),
            format!(r#"{{{quantile},"edges":[2,1],"q":0.5}}"#),
            format!(r#"{{{quantile},"edges":[1],"q":99}}"#),
            format!(r#"{{{quantile},"edges":[1,2],"q":0.5}}"#),
            with(r#""settle":-1,"expect":{"dir":"rises"}"#),
            with(r#""sdc":"nan","expect":{"dir":"rises"}"#),
            with(r#""name":7,"expect":{"dir":"rises"}"#),
            with(r#""id":1"#),
            with(r#""expect":{"dir":"up"}"#),
            with(r#""expect":{"dir":"stays"}"#),
            with(r#""expect":{"dir":"stays","within":-1}"#),
            with(r#""expect":{"dir":"stays","within":1,"at_least":2}"#),
            with(r#""expect":{"dir":"rises","at_lest":2}"#),
            with(r#""expect":{"dir":"rises","at_least":"inf"}"#),
            with(r#""expect":{"dir":"rises","at_least":3,"at_most":2}"#),
            with(r#""expect":{"dir":"rises","unit":"%"}"#),
            with(r#""expect":{"dir":"level"}"#),
            with(r#""expect":{"dir":"level","at_most":2,"unit":"rel"}"#),
        ]
        .iter()
        .map(|line| error(line))
        .collect();
        insta::assert_snapshot!(shown.join("\n"), @r###"
        not JSON: EOF while parsing an object at line 1 column 1
        `line` is [1]; wanted: an object with kind, baseline, injection, expect
        `kind` is missing; wanted: gauge, rate, ratio or quantile
        `kind` is "guage"; wanted: gauge, rate, ratio or quantile
        `injection` is missing; wanted: a list of windows, null being a gap
        `baseline[1]` is "x"; wanted: a number, "nan" or null
        `baseline` is 7; wanted: a list of windows, null being a gap
        `baseline[1]` is [1,2,3]; wanted: [good, total]
        `edges` is missing; wanted: the finite upper bounds of the buckets, ascending, at least one
        `edges` is [2,1]; wanted: the finite upper bounds of the buckets, ascending, at least one
        `q` is 99; wanted: the quantile, above 0 and below 1, 0.99 being the p99
        `baseline[0]` is [1,2]; wanted: a cumulative count for each edge, then the total
        `settle` is -1; wanted: a whole number of windows
        `sdc` is "nan"; wanted: a number, not negative
        `name` is 7; wanted: a text
        `expect` is missing; wanted: {"dir": "rises"|"falls"|"stays"|"level", at_least, at_most, within, unit}
        `expect.dir` is "up"; wanted: rises, falls, stays or level
        `expect.within` is missing; wanted: the largest move either way, not negative
        `expect.within` is -1; wanted: the largest move either way, not negative
        unknown key `expect.at_least`: here stand dir, unit, within
        unknown key `expect.at_lest`: here stand dir, unit, at_least, at_most
        `expect.at_least` is "inf"; wanted: the size of the move, a number, not negative
        `expect.at_least` is 3.0; wanted: no more than expect.at_most
        `expect.unit` is "%"; wanted: abs, the metric's unit, or rel, a part of the baseline
        `expect.at_least` is missing; wanted: at_least or at_most, for a level has no direction
        `expect.unit` is "rel"; wanted: abs, for a level is in the metric's own unit
        "###);
    }

    #[test]
    fn errors_carry_no_control_characters_and_no_long_text() {
        let long = format!(r#"{{"kind":"\u001b[31m{}"}}"#, "x".repeat(500));
        let text = error(&long);
        assert!(text.len() < 200 && !text.contains('\u{1b}'), "{text}");
    }
}
