//! Expositions, as targets write them and as they should not.

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
