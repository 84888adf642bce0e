//! The Prometheus text format, as far as samples need it (exposition format 0.0.4, and OpenMetrics as long as it looks
//! the same): <https://prometheus.io/docs/instrumenting/exposition_formats/>. Comments, types and exemplars are passed over.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

/// The most labels of one series.
const MAX_LABELS: usize = 64;

/// The longest line that is looked at.
const MAX_LINE: usize = 64 * 1024;

/// One sample line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line<'a> {
    pub(super) name: &'a str,
    pub(super) labels: Vec<(&'a str, Cow<'a, str>)>,
    pub(super) value: f64,
    /// Milliseconds since the Unix epoch, if the target gives its samples times of their own.
    pub(super) time: Option<i64>,
}

impl Line<'_> {
    pub(super) fn label(&self, name: &str) -> Option<&str> {
        self.labels
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, value)| value.as_ref())
    }
}

/// What is wrong with a text, and in which line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of its metrics: {why}")]
pub(super) struct Malformed {
    pub(super) line: usize,
    pub(super) why: &'static str,
}

/// The sample lines whose name is `wanted`. The others are looked at only as far as their name, so that a large page costs
/// little; a malformed line among the wanted ones ends it, as the values after it cannot be trusted.
pub(super) fn samples<'a>(
    text: &'a str,
    wanted: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = Result<Line<'a>, Malformed>> + 'a {
    let mut ended = false;
    text.lines().enumerate().filter_map(move |(i, line)| {
        let line = line.trim_matches([' ', '\t', '\r']);
        if ended || line == "# EOF" {
            ended = true;
            return None;
        }
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let name_end = line.find(['{', ' ', '\t']).unwrap_or(line.len());
        let (name, rest) = line.split_at(name_end);
        if !wanted(name) {
            return None;
        }
        let parsed = match line.len() > MAX_LINE {
            true => Err("longer than 64 KiB"),
            false => sample(name, rest),
        };
        ended = parsed.is_err();
        Some(parsed.map_err(|why| Malformed { line: i + 1, why }))
    })
}

fn sample<'a>(name: &'a str, rest: &'a str) -> Result<Line<'a>, &'static str> {
    if !is_metric_name(name) {
        return Err("not a metric name");
    }
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inside) => labels(inside)?,
        None => (Vec::new(), rest),
    };
    // OpenMetrics puts an exemplar behind the sample.
    let rest = rest.split_once(" # ").map_or(rest, |(sample, _)| sample);
    let mut words = rest.split_ascii_whitespace();
    let value = number(words.next().ok_or("no value")?).ok_or("the value is not a number")?;
    let time = match words.next() {
        Some(word) => Some(timestamp(word).ok_or("the time is not a number")?),
        None => None,
    };
    match words.next() {
        Some(_) => Err("more than a value and a time"),
        None => Ok(Line {
            name,
            labels,
            value,
            time,
        }),
    }
}

type Labels<'a> = Vec<(&'a str, Cow<'a, str>)>;

fn labels(mut rest: &str) -> Result<(Labels<'_>, &str), &'static str> {
    let mut labels: Labels<'_> = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        if let Some(after) = rest.strip_prefix('}') {
            return Ok((labels, after));
        }
        let (name, after) = rest.split_once('=').ok_or("a label without a value")?;
        let name = name.trim_matches([' ', '\t']);
        if !is_label_name(name) {
            return Err("not a label name");
        }
        if labels.len() == MAX_LABELS {
            return Err("more than 64 labels");
        }
        if labels.iter().any(|(n, _)| *n == name) {
            return Err("the same label twice");
        }
        let after = after.trim_start_matches([' ', '\t']);
        let (value, after) = quoted(after.strip_prefix('"').ok_or("a label value without quotes")?)?;
        labels.push((name, value));
        rest = after.trim_start_matches([' ', '\t']);
        match rest.strip_prefix(',') {
            Some(after) => rest = after,
            None if rest.starts_with('}') => {}
            None => return Err("neither a comma nor the end after a label"),
        }
    }
}

/// The text up to the closing quote, with `\\`, `\"` and `\n` undone, and what follows the quote.
fn quoted(text: &str) -> Result<(Cow<'_, str>, &str), &'static str> {
    let stop = text.find(['"', '\\']).ok_or("a label value without an end")?;
    if text[stop..].starts_with('"') {
        return Ok((Cow::Borrowed(&text[..stop]), &text[stop + 1..]));
    }
    let mut value = String::from(&text[..stop]);
    let mut chars = text[stop..].char_indices();
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => return Ok((Cow::Owned(value), &text[stop + i + 1..])),
            '\\' => match chars.next().map(|(_, c)| c) {
                Some('n') => value.push('\n'),
                Some(c @ ('"' | '\\')) => value.push(c),
                // Prometheus leaves other escapes as they stand.
                Some(c) => value.extend(['\\', c]),
                None => break,
            },
            c => value.push(c),
        }
    }
    Err("a label value without an end")
}

/// A value as Go writes it: `1`, `1e-3`, `NaN`, `+Inf`.
pub(super) fn number(word: &str) -> Option<f64> {
    let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
    let known = matches!(digits, "Inf" | "NaN" | "inf" | "nan" | "Infinity" | "infinity");
    let plain = digits
        .bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    (known || plain).then(|| word.parse().ok()).flatten()
}

/// Whole milliseconds, or OpenMetrics' seconds with a fraction.
fn timestamp(word: &str) -> Option<i64> {
    if let Ok(ms) = word.parse::<i64>() {
        return Some(ms);
    }
    let seconds = number(word).filter(|s| s.is_finite() && s.abs() < 1e12)?;
    Some((seconds * 1000.0).round() as i64)
}

fn is_metric_name(name: &str) -> bool {
    is_name(name, |b| b == b':')
}

fn is_label_name(name: &str) -> bool {
    is_name(name, |_| false)
}

fn is_name(name: &str, also: impl Fn(u8) -> bool) -> bool {
    let letter = |b: u8| b.is_ascii_alphabetic() || b == b'_' || also(b);
    let bytes = name.as_bytes();
    bytes.first().is_some_and(|b| letter(*b)) && bytes.iter().all(|b| letter(*b) || b.is_ascii_digit())
}
