//! Files as a whole: all errors at once, limits, what YAML may do.

use super::drill::STAYS;
use crate::spec::tests::*;

#[test]
fn all_of_a_files_errors_come_at_once_and_in_the_files_order() {
    let text = with(DRILL, "baseline: 10m", "baseline: 3");
    let text = with(&text, "metric: coupon_p99", "metric: cupon_p99");
    let text = with(&text, STAYS, "stays: {within: 0.5%}");
    let text = with(&text, "hold: 30s, within: 5m", "hold: 30, wthin: 5m");
    let diagnostics = drill(&text).unwrap_err();
    assert_eq!(diagnostics.errors(), 5);
    assert_eq!(diagnostics.to_string(), "expectations/coupon-slow.yaml: 5 errors");
    let json: Vec<_> = diagnostics.all.iter().map(Diagnostic::to_json).collect();
    insta::assert_json_snapshot!("all_at_once", json);
    insta::assert_snapshot!("all_at_once_rendered", rendered(&diagnostics));
}

#[test]
fn a_file_over_the_limits_is_refused() {
    let deep = format!("a: {}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
    let wide = format!("a: [{}]", "1, ".repeat(MAX_NODES));
    let bomb = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n\
                c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n\
                e: [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\n";
    let large = format!("# {}\n", "x".repeat(MAX_BYTES));
    for text in [&deep, &wide, bomb, &large] {
        let diagnostics = read_config(&source("allclear.yaml", text)).unwrap_err();
        assert_eq!(
            diagnostics.all[0].problem,
            Problem::TooMuch,
            "{}",
            diagnostics.all[0]
        );
    }
}

#[test]
fn an_alias_stands_for_its_value() {
    let text = with(DRILL, "baseline: 10m", "baseline: &ten 10m");
    let text = with(&text, "    duration: 10m", "    duration: *ten");
    assert_eq!(drill(&text).unwrap().value, drill(DRILL).unwrap().value);
}

#[test]
fn an_escape_sequence_in_a_file_does_not_reach_the_terminal() {
    let text = with(DRILL, "drill: coupon-slow", "drill: \"\u{1b}[31mx\u{202e}\"");
    for diagnostic in drill(&text).unwrap_err().all {
        let shown = rendered(&diagnostic);
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
    }
}
