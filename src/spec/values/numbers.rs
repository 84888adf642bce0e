//! Numbers with their units: durations, rates, shares, sizes.

use super::{Bad, quoted};
use crate::model::{amount::Share, time::Span};

/// A number and what follows it: `20%` is (20, `%`). No exponents, no infinities.
pub(in crate::spec) fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text),
    };
    let end = digits
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(digits.len());
    let number = &digits[..end];
    let well_formed = number.len() <= 20
        && number.starts_with(|c: char| c.is_ascii_digit())
        && number.ends_with(|c: char| c.is_ascii_digit());
    let value: f64 = number.parse().ok().filter(|_| well_formed)?;
    Some((sign * value, digits[end..].trim_start()))
}

/// A bare number.
pub(in crate::spec) fn number(text: &str) -> Result<f64, Bad> {
    match number_and_unit(text) {
        Some((n, "")) => Ok(n),
        _ => Err(Bad::new(format!("{} is not a number", quoted(text)))
            .help("write digits, such as `200` or `0.5`")),
    }
}

/// A whole number from `least` to `most`.
pub(in crate::spec) fn whole(least: u32, most: u32) -> impl Fn(&str) -> Result<u32, Bad> {
    move |text| match text.trim().parse::<u32>() {
        Ok(n) if (least..=most).contains(&n) => Ok(n),
        _ => Err(Bad::new(format!(
            "{} is not a whole number from {least} to {most}",
            quoted(text)
        ))),
    }
}

/// A duration: `500ms`, `10s`, `1m30s`.
pub(in crate::spec) fn duration(text: &str) -> Result<Span, Bad> {
    Span::parse(text).map_err(|error| {
        let said = error.to_string();
        match said.split_once(": ") {
            Some((what, instead)) => Bad::new(format!("{}: {what}", quoted(text))).help(instead),
            None => Bad::new(format!("{}: {said}", quoted(text))),
        }
    })
}

/// A duration that is not zero.
pub(in crate::spec) fn some_time(text: &str) -> Result<Span, Bad> {
    match duration(text)? {
        Span::ZERO => Err(Bad::new(format!("{} is no time at all", quoted(text)))),
        span => Ok(span),
    }
}

/// Seconds with their unit, finer than a millisecond too.
pub(in crate::spec) fn seconds(text: &str) -> Result<f64, Bad> {
    match number_and_unit(text) {
        Some((n, "us" | "µs")) if n >= 0.0 => Ok(n / 1e6),
        Some((n, "ms")) if n >= 0.0 => Ok(n / 1e3),
        Some((n, "s")) if n >= 0.0 => Ok(n),
        _ => duration(text).map(Span::as_seconds),
    }
}

/// A rate: `200/s`.
pub(in crate::spec) fn rate(text: &str) -> Result<f64, Bad> {
    match number_and_unit(text) {
        Some((n, "/s")) if n > 0.0 => Ok(n),
        Some((n, "")) => {
            Err(Bad::new(format!("{}: a rate needs its unit", quoted(text))).help(format!("write `{n}/s`")))
        }
        _ => Err(Bad::new(format!("{} is not a rate", quoted(text)))
            .help("write a number above 0 and `/s`, such as `200/s`")),
    }
}

/// A share of everything, above 0: `20%`.
pub(in crate::spec) fn share(text: &str) -> Result<Share, Bad> {
    match number_and_unit(text) {
        Some((n, "%")) if n > 0.0 && n <= 100.0 => Ok(Share(n / 100.0)),
        Some((n, "")) => Err(
            Bad::new(format!("{}: a share needs its unit", quoted(text))).help(if n < 1.0 {
                format!("write `{}%`", n * 100.0)
            } else {
                format!("write `{n}%`")
            }),
        ),
        _ => Err(Bad::new(format!("{} is not a share", quoted(text)))
            .help("write a percentage above 0% and up to 100%")),
    }
}

/// A size in bytes: `64MiB`.
pub(in crate::spec) fn bytes(text: &str) -> Result<f64, Bad> {
    let Some((n, unit)) = number_and_unit(text).filter(|(n, _)| *n >= 0.0) else {
        return Err(Bad::new(format!("{} is not a size", quoted(text)))
            .help("write a number and B, KiB, MiB or GiB, such as `64MiB`"));
    };
    let factor = match unit {
        "B" => 1.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        "TiB" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "" => {
            return Err(Bad::new(format!("{}: a size needs its unit", quoted(text)))
                .help(format!("write `{n}B`, `{n}KiB` or `{n}MiB`")));
        }
        _ => {
            return Err(Bad::new(format!(
                "{}: {} is not a unit of size",
                quoted(text),
                quoted(unit)
            ))
            .help("the units are B, KiB, MiB, GiB, kB, MB, GB"));
        }
    };
    Ok(n * factor)
}

/// `true` or `false`.
pub(in crate::spec) fn flag(text: &str) -> Result<bool, Bad> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => {
            Err(Bad::new(format!("{} is neither true nor false", quoted(text)))
                .help("write `true` or `false`"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_unit_is_told_and_never_guessed() {
        assert_eq!(rate("200").unwrap_err().help.unwrap(), "write `200/s`");
        assert_eq!(share("0.2").unwrap_err().help.unwrap(), "write `20%`");
        assert_eq!(
            bytes("64").unwrap_err().help.unwrap(),
            "write `64B`, `64KiB` or `64MiB`"
        );
        assert!(duration("10").unwrap_err().message.contains("needs its unit"));
    }

    #[test]
    fn values_are_in_base_units() {
        assert_eq!(seconds("250us").unwrap(), 0.00025);
        assert_eq!(seconds("1m30s").unwrap(), 90.0);
        assert_eq!(bytes("64MiB").unwrap(), 67_108_864.0);
        assert_eq!(share("20%").unwrap(), Share(0.2));
        assert_eq!(rate("0.5/s").unwrap(), 0.5);
    }

    #[test]
    fn numbers_that_only_a_computer_would_write_are_refused() {
        for text in ["inf", "NaN", "1e9", "0x10", "1.", ".5", "1..2", "--1", ""] {
            assert!(number(text).is_err(), "{text:?}");
        }
    }
}
