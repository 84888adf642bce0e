//! Selectors against labels, as PromQL matches them: a missing label is an empty one, patterns are anchored.

use regex::{Regex, RegexBuilder};

use super::error::MetricsError;
use crate::model::{
    dashboard::{MatchOp, Selector},
    text::harmless,
};

/// The largest compiled pattern, in bytes.
const MAX_PATTERN: usize = 1 << 20;

/// A selector, ready to be held against labels.
#[derive(Debug)]
pub(super) struct Matching {
    tests: Vec<(String, Test)>,
}

#[derive(Debug)]
enum Test {
    Equal(String),
    NotEqual(String),
    Matches(Regex),
    NotMatches(Regex),
}

impl Matching {
    /// # Errors
    /// A pattern that does not compile.
    pub(super) fn of(selector: &Selector) -> Result<Self, MetricsError> {
        let tests = selector.matchers.iter().map(|m| {
            let test = match m.op {
                MatchOp::Equal => Test::Equal(m.value.clone()),
                MatchOp::NotEqual => Test::NotEqual(m.value.clone()),
                MatchOp::Matches => Test::Matches(anchored(&m.value)?),
                MatchOp::NotMatches => Test::NotMatches(anchored(&m.value)?),
            };
            Ok((m.label.clone(), test))
        });
        let tests = tests.collect::<Result<_, _>>()?;
        Ok(Self { tests })
    }

    /// Whether the labels, looked up by name, match.
    pub(super) fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.tests.iter().all(|(name, test)| {
            let value = label(name).unwrap_or("");
            match test {
                Test::Equal(wanted) => value == wanted,
                Test::NotEqual(unwanted) => value != unwanted,
                Test::Matches(pattern) => pattern.is_match(value),
                Test::NotMatches(pattern) => !pattern.is_match(value),
            }
        })
    }
}

fn anchored(pattern: &str) -> Result<Regex, MetricsError> {
    RegexBuilder::new(&format!("^(?s:{pattern})$"))
        .size_limit(MAX_PATTERN)
        .build()
        .map_err(|why| MetricsError::BadPattern {
            pattern: harmless(pattern, 80),
            why: harmless(why.to_string().lines().last().unwrap_or_default(), 120),
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::testing::selector;

    fn matches(text: &[(&str, MatchOp, &str)]) -> bool {
        let labels = [("code", "204"), ("path", "/order")];
        let matching = Matching::of(&selector("m", text)).unwrap();
        matching.matches(|name| labels.iter().find(|(n, _)| *n == name).map(|(_, v)| *v))
    }

    #[test]
    fn patterns_are_anchored_at_both_ends() {
        assert!(matches(&[("code", MatchOp::Matches, "2..")]));
        assert!(matches(&[("code", MatchOp::Matches, "404|204")]));
        assert!(!matches(&[("code", MatchOp::Matches, "2")]));
        assert!(!matches(&[("code", MatchOp::Matches, "04|20")]));
        assert!(matches(&[("code", MatchOp::NotMatches, "2")]));
    }

    #[test]
    fn a_missing_label_is_an_empty_one() {
        assert!(matches(&[("traffic", MatchOp::NotEqual, "drill")]));
        assert!(matches(&[("traffic", MatchOp::Equal, "")]));
        assert!(matches(&[("traffic", MatchOp::Matches, ".*")]));
        assert!(!matches(&[("traffic", MatchOp::Matches, ".+")]));
    }

    #[test]
    fn all_matchers_must_hold() {
        assert!(matches(&[
            ("path", MatchOp::Equal, "/order"),
            ("code", MatchOp::NotEqual, "500")
        ]));
        assert!(!matches(&[
            ("path", MatchOp::Equal, "/order"),
            ("code", MatchOp::Equal, "500")
        ]));
    }

    #[test]
    fn a_bad_pattern_is_told_and_a_huge_one_refused() {
        for pattern in ["(", "(?:x{1000}){1000}"] {
            let selector = selector("m", &[("a", MatchOp::Matches, pattern)]);
            assert!(Matching::of(&selector).is_err(), "{pattern}");
        }
    }
}
