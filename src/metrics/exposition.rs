//! The Prometheus text format, as far as samples need it (exposition format 0.0.4, and OpenMetrics as long as it looks
//! the same): <https://prometheus.io/docs/instrumenting/exposition_formats/>. Comments, types and exemplars are passed over.

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &str) -> Result<Vec<Line<'_>>, Malformed> {
        samples(text, |_| true).collect()
    }

    fn one(text: &str) -> Result<Line<'_>, &'static str> {
        let mut lines = all(text).map_err(|m| m.why)?;
        assert_eq!(lines.len(), 1, "{text}");
        Ok(lines.remove(0))
    }

    #[test]
    fn a_page_of_an_exporter_is_read() {
        let page = "# HELP http_requests_total The total.\n# TYPE http_requests_total counter\n\
            http_requests_total{method=\"post\",code=\"200\"} 1027 1395066363000\n\
            \n  something_weird{problem=\"division by zero\"} +Inf -3982045\n\
            up 1\r\nrpc{ quantile = \"0.5\" , } 4.773e3\n# EOF\nafter_the_end 1\n";
        let got = all(page).unwrap();
        let short: Vec<String> = got
            .iter()
            .map(|l| format!("{} {:?} {} {:?}", l.name, l.labels, l.value, l.time))
            .collect();
        insta::assert_snapshot!(short.join("\n"), @r#"
        http_requests_total [("method", "post"), ("code", "200")] 1027 Some(1395066363000)
        something_weird [("problem", "division by zero")] inf Some(-3982045)
        up [] 1 None
        rpc [("quantile", "0.5")] 4773 None
        "#);
    }

    #[test]
    fn escapes_in_label_values_are_undone() {
        let line = one(r#"m{p="C:\\D\"x\"",q="a\nb",r="},{="} 1"#).unwrap();
        assert_eq!(line.label("p"), Some("C:\\D\"x\""));
        assert_eq!(line.label("q"), Some("a\nb"));
        assert_eq!(line.label("r"), Some("},{="));
    }

    #[test]
    fn nan_and_infinities_are_kept() {
        assert!(one("m NaN").unwrap().value.is_nan());
        assert_eq!(one("m -Inf").unwrap().value, f64::NEG_INFINITY);
    }

    #[test]
    fn an_openmetrics_exemplar_is_passed_over_and_its_time_is_in_seconds() {
        let line = one("m_bucket{le=\"1\"} 8 1520879607.789 # {trace=\"K\"} 0.67 1520879607.1").unwrap();
        assert_eq!((line.value, line.time), (8.0, Some(1_520_879_607_789)));
    }

    #[test]
    fn what_is_malformed_is_told_with_its_line() {
        for (text, why) in [
            ("m", "no value"),
            ("m x", "the value is not a number"),
            ("m 0x10", "the value is not a number"),
            ("m 1 2 3", "more than a value and a time"),
            ("m 1 later", "the time is not a number"),
            ("9m 1", "not a metric name"),
            ("m{a=1} 1", "a label value without quotes"),
            (
                "m{a=\"1\" b=\"2\"} 1",
                "neither a comma nor the end after a label",
            ),
            ("m{a=\"1\",a=\"2\"} 1", "the same label twice"),
            ("m{a=\"1} 1", "a label value without an end"),
            ("m{a=\"\\", "a label value without an end"),
            ("m{a} 1", "a label without a value"),
            ("m{0a=\"1\"} 1", "not a label name"),
        ] {
            assert_eq!(one(text).unwrap_err(), why, "{text}");
        }
        assert_eq!(all("up 1\nm x").unwrap_err().line, 2);
    }

    #[test]
    fn lines_of_other_metrics_are_not_even_read() {
        let got: Vec<_> = samples("broken{ 1\nup 1", |name| name == "up").collect();
        assert_eq!(got.len(), 1);
        assert!(got[0].is_ok());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_without_a_panic(text in "\\PC*|[a-z{}=\",\\\\ 0-9#\n.+-]*") {
            for line in samples(&text, |_| true) {
                let _ = line;
            }
        }

        #[test]
        fn what_is_written_is_read_back(
            name in "[a-zA-Z_:][a-zA-Z0-9_:]{0,20}",
            labels in prop::collection::btree_map("[a-zA-Z_][a-zA-Z0-9_]{0,10}", "\\PC{0,20}|[\\\\\"\n{},= ]{0,8}", 0..6),
            value in prop::num::f64::NORMAL | prop::num::f64::ZERO | prop::num::f64::INFINITE,
            time in prop::option::of(any::<i64>()),
        ) {
            let inside: Vec<String> = labels
                .iter()
                .map(|(n, v)| {
                    let v = v.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                    format!("{n}=\"{v}\"")
                })
                .collect();
            let time_text = time.map(|t| format!(" {t}")).unwrap_or_default();
            let text = format!("{name}{{{}}} {value}{time_text}\n", inside.join(","));
            let line = one(&text).unwrap();
            prop_assert_eq!(line.name, name);
            prop_assert_eq!(line.value, value);
            prop_assert_eq!(line.time, time);
            let read: Vec<(&str, &str)> = line.labels.iter().map(|(n, v)| (*n, v.as_ref())).collect();
            let meant: Vec<(&str, &str)> = labels.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
            prop_assert_eq!(read, meant);
        }
    }
}
