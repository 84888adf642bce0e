//! Texts to single values: names, durations, rates, shares, sizes, addresses. The unit is never guessed.

use crate::model::{amount::Share, time::Span};

/// Why a text is not the value that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bad {
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
    /// Where in the text, in bytes, if a part of it is at fault.
    pub at: Option<usize>,
    /// Whether the text holds a secret and may not be shown.
    pub is_secret: bool,
}

impl Bad {
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: None,
            at: None,
            is_secret: false,
        }
    }

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub fn secret(mut self) -> Self {
        self.is_secret = true;
        self
    }

    pub fn at(mut self, at: usize) -> Self {
        self.at = Some(at);
        self
    }
}

/// A text cut and cleaned for a message.
pub(super) fn quoted(text: &str) -> String {
    format!("`{}`", crate::model::text::harmless(text, 60))
}

/// A message on one line, free of control characters.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    crate::model::text::harmless(&words.join(" "), 300)
}

/// A number and what follows it: `20%` is (20, `%`). No exponents, no infinities.
pub(super) fn number_and_unit(text: &str) -> Option<(f64, &str)> {
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
pub(super) fn number(text: &str) -> Result<f64, Bad> {
    match number_and_unit(text) {
        Some((n, "")) => Ok(n),
        _ => Err(Bad::new(format!("{} is not a number", quoted(text)))
            .help("write digits, such as `200` or `0.5`")),
    }
}

/// A whole number from `least` to `most`.
pub(super) fn whole(least: u32, most: u32) -> impl Fn(&str) -> Result<u32, Bad> {
    move |text| match text.trim().parse::<u32>() {
        Ok(n) if (least..=most).contains(&n) => Ok(n),
        _ => Err(Bad::new(format!(
            "{} is not a whole number from {least} to {most}",
            quoted(text)
        ))),
    }
}

/// A duration: `500ms`, `10s`, `1m30s`.
pub(super) fn duration(text: &str) -> Result<Span, Bad> {
    Span::parse(text).map_err(|error| {
        let said = error.to_string();
        match said.split_once(": ") {
            Some((what, instead)) => Bad::new(format!("{}: {what}", quoted(text))).help(instead),
            None => Bad::new(format!("{}: {said}", quoted(text))),
        }
    })
}

/// A duration that is not zero.
pub(super) fn some_time(text: &str) -> Result<Span, Bad> {
    match duration(text)? {
        Span::ZERO => Err(Bad::new(format!("{} is no time at all", quoted(text)))),
        span => Ok(span),
    }
}

/// Seconds with their unit, finer than a millisecond too.
pub(super) fn seconds(text: &str) -> Result<f64, Bad> {
    match number_and_unit(text) {
        Some((n, "us" | "µs")) if n >= 0.0 => Ok(n / 1e6),
        Some((n, "ms")) if n >= 0.0 => Ok(n / 1e3),
        Some((n, "s")) if n >= 0.0 => Ok(n),
        _ => duration(text).map(Span::as_seconds),
    }
}

/// A rate: `200/s`.
pub(super) fn rate(text: &str) -> Result<f64, Bad> {
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
pub(super) fn share(text: &str) -> Result<Share, Bad> {
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
pub(super) fn bytes(text: &str) -> Result<f64, Bad> {
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
pub(super) fn flag(text: &str) -> Result<bool, Bad> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => {
            Err(Bad::new(format!("{} is neither true nor false", quoted(text)))
                .help("write `true` or `false`"))
        }
    }
}

/// A text for people: one paragraph, no control characters.
pub(super) fn prose(text: &str) -> Result<String, Bad> {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if joined.is_empty() {
        return Err(Bad::new("the text is empty"));
    }
    if joined.chars().count() > 2000 {
        return Err(Bad::new("the text is longer than 2,000 characters"));
    }
    Ok(crate::model::text::harmless(&joined, 2000))
}

/// A text for machines: no control characters, not empty, at most 4,096 bytes.
pub(super) fn token(text: &str) -> Result<String, Bad> {
    match text {
        "" => Err(Bad::new("the text is empty")),
        _ if text.len() > 4096 => Err(Bad::new("the text is longer than 4,096 bytes")),
        _ => match text.find(char::is_control) {
            Some(at) => Err(Bad::new("a control character").at(at)),
            None => Ok(text.to_owned()),
        },
    }
}

/// An `http://` or `https://` URL, without user and password, with every one of `places` in it.
pub(super) fn url(places: &'static [&'static str]) -> impl Fn(&str) -> Result<String, Bad> {
    move |text| {
        let url = token(text)?;
        let rest = url
            .strip_prefix("http://")
            .or_else(|| url.strip_prefix("https://"))
            .ok_or_else(|| {
                Bad::new(format!("{} is not a URL", quoted(text))).help("begin with `http://` or `https://`")
            })?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(with_password("a URL"));
        }
        if authority.is_empty() || url.contains(' ') {
            return Err(
                Bad::new(format!("{} is not a URL", quoted(text))).help("write `http://host:port/path`")
            );
        }
        match places.iter().find(|place| !url.contains(**place)) {
            Some(place) => Err(Bad::new(format!("the URL lacks `{place}`")).help(match *place {
                "{name}" => "`{name}` becomes the breaker's name",
                _ => "`{instance}` becomes host and port of each instance",
            })),
            None => Ok(url),
        }
    }
}

fn with_password(what: &str) -> Bad {
    Bad::new(format!("{what} with a user or a password in it"))
        .help("leave out what stands before the `@`; the environment's own keys say who asks; then change the password: it has been in a file")
        .secret()
}

/// `host:port`.
pub(super) fn address(text: &str) -> Result<String, Bad> {
    let address = token(text)?;
    if address.contains('@') {
        return Err(with_password("an address"));
    }
    let not = || {
        Bad::new(format!("{} is not an address", quoted(text)))
            .help("write `host:port`, without `http://` and without a path")
    };
    let (host, port) = address.rsplit_once(':').ok_or_else(not)?;
    let bracketed = host.starts_with('[') && host.ends_with(']');
    let host_is_fine =
        !host.is_empty() && !host.contains(['/', ' ', '@', '?', '#']) && (bracketed || !host.contains(':'));
    match port.parse::<u16>() {
        Ok(1..) if host_is_fine => Ok(address),
        _ => Err(not()),
    }
}

/// `host:port`, or the path of a unix socket.
pub(super) fn socket(text: &str) -> Result<String, Bad> {
    if text.starts_with('/') {
        token(text)
    } else {
        address(text)
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

    #[test]
    fn an_address_has_a_host_and_a_port_and_nothing_else() {
        for text in ["order:8080", "[::1]:80", "10.0.0.1:65535"] {
            assert!(address(text).is_ok(), "{text}");
        }
        for text in [
            "order",
            "http://order:80",
            "order:0",
            "order:70000",
            ":80",
            "::1:80",
            "a b:80",
            "u@h:80",
        ] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
