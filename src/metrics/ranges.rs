//! How far a PromQL text looks back by itself. What it gives is an average over that time, and fresh at every moment.

use crate::model::time::Span;

/// The longest range of a query: `[5m]`, and a subquery's on top of what is inside it. Zero if it has none.
pub fn longest_range(query: &str) -> Span {
    let (mut longest, mut subqueries) = (Span::ZERO, Span::ZERO);
    let mut rest = query.chars();
    while let Some(c) = rest.next() {
        match c {
            '"' | '\'' | '`' => skip_text(&mut rest, c),
            '#' => {
                let _ = rest.by_ref().find(|c| *c == '\n');
            }
            '[' => {
                let inside: String = rest.by_ref().take_while(|c| *c != ']').collect();
                match inside.split_once(':') {
                    Some((range, _)) => subqueries = subqueries + duration(range).unwrap_or(Span::ZERO),
                    None => longest = longest.max(duration(&inside).unwrap_or(Span::ZERO)),
                }
            }
            _ => {}
        }
    }
    longest + subqueries
}

/// Skips a text up to the quotation mark that ends it: a label's pattern may have brackets of its own.
fn skip_text(rest: &mut std::str::Chars<'_>, quote: char) {
    while let Some(c) = rest.next() {
        match c {
            '\\' if quote != '`' => {
                rest.next();
            }
            c if c == quote => return,
            _ => {}
        }
    }
}

/// `1h30m`, `500ms`, or seconds: <https://prometheus.io/docs/prometheus/latest/querying/basics/>.
fn duration(text: &str) -> Option<Span> {
    let mut rest = text.trim();
    if let Ok(seconds) = rest.parse::<f64>() {
        return seconds.is_finite().then_some(Span((seconds * 1000.0) as u64));
    }
    let mut total = Span::ZERO;
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, with_unit) = rest.split_at(unit_at);
        let next_at = with_unit.find(|c: char| c.is_ascii_digit());
        let (unit, after) = with_unit.split_at(next_at.unwrap_or(with_unit.len()));
        let ms = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            "w" => 604_800_000,
            "y" => 31_536_000_000,
            _ => return None,
        };
        total = total + Span(ms) * number.parse().ok()?;
        rest = after;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_longest_range_is_found_wherever_it_stands() {
        for (query, seconds) in [
            ("sum(busy)", 0),
            ("sum(rate(jobs_total[1m]))", 60),
            ("rate(a[30s]) / rate(b[1h30m])", 5_400),
            ("rate(a[300])", 300),
            ("max_over_time(rate(a[1m])[10m:30s])", 660),
            ("max_over_time(busy[10m:])", 600),
            (r#"sum(rate(a{code=~"[45].."}[2m]))"#, 120),
            (r#"sum(a{path="\"[9h]", b='[8h]', c=`\`})"#, 0),
            ("sum(rate(a[1m])) # was [5m]", 60),
            ("# [5m]\nsum(rate(a[1m]))", 60),
        ] {
            assert_eq!(longest_range(query), Span::seconds(seconds), "{query}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(query in r#"[\[\]:"'`\\#a-z0-9 \n。]{0,40}"#) {
            longest_range(&query);
        }
    }
}
