//! Bounds and limits, typed by the metric's unit. What could mean two things is refused, with both spelt out.

use crate::model::amount::{Basis, Unit};

use super::values::{self, Bad, number_and_unit, quoted};

/// A level of a metric: a guard's limit, a `level` row, an idle mark. In base units.
pub(super) fn level(text: &str, unit: Unit) -> Result<f64, Bad> {
    match unit {
        Unit::Percent => match number_and_unit(text) {
            Some((n, "%")) if n >= 0.0 => Ok(n / 100.0),
            Some((n, "")) => Err(Bad::new(format!("{}: a percentage needs its unit", quoted(text)))
                .help(format!("write `{n}%`"))),
            Some((n, "pp")) => Err(Bad::new(format!(
                "{}: percentage points measure a change, not a level",
                quoted(text)
            ))
            .help(format!("write `{n}%`"))),
            _ => Err(Bad::new(format!("{} is not a percentage", quoted(text))).help("write it like `99.5%`")),
        },
        Unit::Seconds => values::seconds(text),
        Unit::Bytes => values::bytes(text),
        Unit::PerSecond => match number_and_unit(text) {
            Some((n, "/s" | "")) if n >= 0.0 => Ok(n),
            _ => Err(Bad::new(format!("{} is not a rate", quoted(text))).help("write it like `3/s`")),
        },
        Unit::Count => match number_and_unit(text) {
            Some((n, "")) => Ok(n),
            _ => Err(Bad::new(format!("{} is not a number", quoted(text)))
                .help("this metric counts things: write a bare number, such as `200`")),
        },
    }
}

/// A change of a metric and what it is measured against.
pub(super) fn change(text: &str, unit: Unit) -> Result<(f64, Basis), Bad> {
    let Some((n, suffix)) = number_and_unit(text) else {
        return Err(Bad::new(format!("{} is not a size of change", quoted(text))).help(examples(unit)));
    };
    if n < 0.0 {
        return Err(Bad::new(format!("{}: a bound has no sign", quoted(text)))
            .help("`rises` and `falls` say the direction"));
    }
    match (suffix, unit) {
        ("%rel" | "% rel", _) => Ok((n / 100.0, Basis::Relative)),
        ("pp", Unit::Percent) if n > 100.0 => Err(Bad::new(format!(
            "{}: a percentage cannot change by more than 100pp",
            quoted(text)
        ))),
        ("pp", Unit::Percent) => Ok((n / 100.0, Basis::Absolute)),
        ("%", Unit::Percent) => Err(Bad::new(format!(
            "{} could mean two things for a metric in percent",
            quoted(text)
        ))
        .help(format!(
            "write `{n}pp` for percentage points, or `{n}%rel` for a part of its baseline"
        ))),
        ("", Unit::Percent) => Err(Bad::new(format!(
            "{}: a change of a percentage needs its unit",
            quoted(text)
        ))
        .help(format!(
            "write `{n}pp` for percentage points, or `{n}%rel` for a part of its baseline"
        ))),
        (_, Unit::Percent) => {
            Err(Bad::new(format!("{} is not a change of a percentage", quoted(text))).help(examples(unit)))
        }
        ("pp", _) => Err(Bad::new(format!(
            "{}: only a metric in percent changes by percentage points",
            quoted(text)
        ))
        .help(examples(unit))),
        ("%", _) => Ok((n / 100.0, Basis::Relative)),
        _ => level(text, unit).map(|value| (value, Basis::Absolute)),
    }
}

/// A fraction of the baseline: the guard's `within`.
pub(super) fn fraction(text: &str, unit: Unit) -> Result<f64, Bad> {
    match (number_and_unit(text), unit) {
        (Some((n, "%rel" | "% rel")), _) if n > 0.0 => Ok(n / 100.0),
        (Some((n, "%" | "pp")), Unit::Percent) => Err(Bad::new(format!(
            "{} could mean two things for a metric in percent",
            quoted(text)
        ))
        .help(format!(
            "write `{n}%rel` for a part of its baseline, or use `at_least` or `at_most` with a level"
        ))),
        (Some((n, "%")), _) if n > 0.0 => Ok(n / 100.0),
        _ => Err(
            Bad::new(format!("{} is not a part of the baseline", quoted(text)))
                .help("write a percentage above 0, such as `30%`"),
        ),
    }
}

fn examples(unit: Unit) -> &'static str {
    match unit {
        Unit::Percent => "write `0.5pp` for percentage points, or `0.5%rel` for a part of its baseline",
        Unit::Seconds => "write `500ms`, or `20%` of the baseline",
        Unit::Bytes => "write `64MiB`, or `20%` of the baseline",
        Unit::PerSecond => "write `3/s`, or `20%` of the baseline",
        Unit::Count => "write `200`, or `20%` of the baseline",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_percent_on_a_ratio_is_refused_with_both_meanings() {
        let bad = change("0.5%", Unit::Percent).unwrap_err();
        assert_eq!(
            bad.help.unwrap(),
            "write `0.5pp` for percentage points, or `0.5%rel` for a part of its baseline"
        );
        assert_eq!(change("0.5pp", Unit::Percent).unwrap(), (0.005, Basis::Absolute));
        assert_eq!(
            change("0.5%rel", Unit::Percent).unwrap(),
            (0.005, Basis::Relative)
        );
    }

    #[test]
    fn a_percent_on_another_metric_is_relative() {
        assert_eq!(change("20%", Unit::Seconds).unwrap(), (0.2, Basis::Relative));
        assert_eq!(change("1500ms", Unit::Seconds).unwrap(), (1.5, Basis::Absolute));
        assert_eq!(change("3/s", Unit::PerSecond).unwrap(), (3.0, Basis::Absolute));
        assert_eq!(change("3", Unit::PerSecond).unwrap(), (3.0, Basis::Absolute));
        assert_eq!(
            change("64MiB", Unit::Bytes).unwrap(),
            (67_108_864.0, Basis::Absolute)
        );
        assert_eq!(change("200", Unit::Count).unwrap(), (200.0, Basis::Absolute));
    }

    #[test]
    fn a_bound_of_another_unit_is_refused() {
        for (text, unit) in [
            ("3", Unit::Seconds),
            ("3s", Unit::Count),
            ("3/s", Unit::Seconds),
            ("0.5pp", Unit::Seconds),
            ("64", Unit::Bytes),
            ("1", Unit::Percent),
            ("-1s", Unit::Seconds),
        ] {
            assert!(change(text, unit).is_err(), "{text} {unit:?}");
        }
    }

    #[test]
    fn a_level_of_a_percentage_is_a_percentage() {
        assert_eq!(level("99%", Unit::Percent).unwrap(), 0.99);
        assert!(level("0.99", Unit::Percent).is_err());
        assert!(level("0.5pp", Unit::Percent).is_err());
    }

    #[test]
    fn within_is_a_part_of_the_baseline() {
        assert_eq!(fraction("30%", Unit::PerSecond).unwrap(), 0.3);
        assert!(fraction("30%", Unit::Percent).is_err());
        assert_eq!(fraction("30%rel", Unit::Percent).unwrap(), 0.3);
        assert!(fraction("30", Unit::Count).is_err());
    }
}
