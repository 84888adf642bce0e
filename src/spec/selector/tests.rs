//! Selectors, as people write them and as they are read.

use super::*;
use proptest::prelude::*;

#[test]
fn selectors_read_and_show_the_same() {
    for text in [
        "up",
        "job:rate5m",
        r#"http_requests_total{path="/order",code=~"2..",zone!="a",pod!~"x|y"}"#,
        r#"a{b="q\"uote\\d"}"#,
    ] {
        assert_eq!(selector(text).unwrap().promql(), text);
    }
    assert_eq!(selector(" a { b = 'c' , } ").unwrap().promql(), r#"a{b="c"}"#);
}

#[test]
fn a_query_is_told_from_a_selector() {
    let shown: Vec<String> = [
        "rate(x[1m])",
        "x[5m]",
        "x offset 5m",
        "{a=\"b\"}",
        "x{a=b}",
        "x{a=\"b\"",
        "x{a\"b\"}",
        "x{a=\"\\d\"}",
        "x{a=\"b\" c=\"d\"}",
        "",
        "x{a=\"b",
    ]
    .iter()
    .map(|text| {
        let bad = selector(text).unwrap_err();
        format!("{text} at {}: {}", bad.at.unwrap(), bad.message)
    })
    .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn matchers_of_a_scope_read_with_or_without_braces() {
    let plain = matchers(r#"traffic="drill",instance=~"{targets}""#).unwrap();
    assert_eq!(plain.len(), 2);
    assert_eq!(plain[1].value, "{targets}");
    assert_eq!(
        matchers(r#"{traffic="drill",instance=~"{targets}"}"#).unwrap(),
        plain
    );
    assert!(matchers("").is_err());
}

proptest! {
    #[test]
    fn any_text_reads_or_is_refused_inside_itself(text in r#"[a-c{}=~!"',\\u0-9\[\] `é]{0,40}"#) {
        for result in [selector(&text).map(|_| ()), matchers(&text).map(|_| ())] {
            if let Err(Bad { at: Some(at), .. }) = result {
                prop_assert!(text.is_char_boundary(at) && at <= text.len());
            }
        }
    }

    #[test]
    fn a_selector_shown_reads_back(
        name in "[a-z_:][a-z0-9_:]{0,8}",
        values in proptest::collection::vec("[^\\p{C}]{0,12}", 0..4),
    ) {
        let matchers = values
            .iter()
            .map(|value| Matcher { label: "l".into(), op: MatchOp::NotMatches, value: value.clone() })
            .collect();
        let written = Selector { name, matchers };
        prop_assert_eq!(selector(&written.promql()).unwrap(), written);
    }
}
