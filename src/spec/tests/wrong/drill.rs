//! Wrong drills.

use super::{said, table};
use crate::spec::tests::*;

const STEP: &str = "    duration: 10m\n";
const ENVELOPE: &str = "    envelope: {header: {x-drill: coupon-slow}, percent: 20%, max_concurrent: 20}\n";
const RULE: &str = "{point: coupon.query, delay: {mean: 2s, jitter: 500ms}}";
const ROW: &str = "- {metric: coupon_p99, scope: marked, rises: {at_least: 1500ms}}";
pub(super) const STAYS: &str = "stays: {within: 0.5pp}";
const AFTER: &str = "    duration: 2m\n";
const RESTART: &str = "{http: {restart: \"http://{instance}/restart\"}}";

#[test]
fn a_wrong_key_or_type_is_shown_with_its_line_and_the_nearest_name() {
    let cases = [
        ("unknown key", "    duration: 10m", "    duraton: 10m"),
        ("unknown key, nothing near", "risk:", "zebra: 1\nrisk:"),
        ("duplicate key", STEP, "    duration: 10m\n    duration: 5m\n"),
        (
            "missing key",
            "hypothesis: Orders keep succeeding, because a slow coupon step is skipped.\n",
            "",
        ),
        (
            "a list where a map is meant",
            "targets: {service: order, instances: [order-0]}",
            "targets: [order-0]",
        ),
        (
            "a single value where a list is meant",
            "instances: [order-0]}",
            "instances: order-0}",
        ),
        (
            "a map where a single value is meant",
            STEP,
            "    duration: {minutes: 10}\n",
        ),
        ("a key without a value", STEP, "    duration:\n"),
        ("rises without a value", "rises: {}}", "rises: }"),
        (
            "two effects",
            RULE,
            "{point: coupon.query, delay: 2s, status: 503}",
        ),
        ("no effect", RULE, "{point: coupon.query}"),
        ("no unit", STEP, "    duration: 10\n"),
        ("a word that is none", "via: app", "via: ap"),
        ("a wrong name", "- name: after", "- name: after all"),
        ("a kind of queue that does not exist", "- http: ", "- rabbit: "),
        (
            "a restart that does not exist",
            RESTART,
            "{kubernetes: {restart: targets}}",
        ),
        ("a merge key", "risk: {", "risk: {<<: 1, "),
        ("a tag", "baseline: 10m", "baseline: !span 10m"),
        ("an unknown alias", "baseline: 10m", "baseline: *ten"),
        (
            "not YAML",
            "targets: {service: order",
            "targets: {service: order: x",
        ),
        ("tabs", "  every: 10s", "\tevery: 10s"),
        ("a second document", "recovery:", "---\nrecovery:"),
    ];
    insta::assert_snapshot!("wrong_keys", table(DRILL, &cases, |text| said(drill(text))));
}

#[test]
fn a_wrong_name_or_bound_is_shown_with_what_to_write() {
    let cases = [
        ("unknown dashboard", "dashboard: shop", "dashboard: shopp"),
        ("unknown metric", "metric: coupon_p99", "metric: cupon_p99"),
        (
            "unknown scope",
            ROW,
            "- {metric: coupon_p99, scope: markd, rises: {at_least: 1500ms}}",
        ),
        ("bare percent on a ratio", STAYS, "stays: {within: 0.5%}"),
        ("no unit on a ratio", STAYS, "stays: {within: 0.5}"),
        ("points on a duration", "at_least: 1500ms", "at_least: 5pp"),
        ("no unit on a duration", "at_least: 1500ms", "at_least: 1500"),
        (
            "mixed bases",
            "at_least: 1500ms",
            "at_least: 1500ms, at_most: 50%",
        ),
        (
            "the wrong way round",
            "at_least: 1500ms",
            "at_least: 2s, at_most: 1s",
        ),
        ("a sign", "at_least: 1500ms", "at_least: -1500ms"),
        (
            "a fall of more than everything",
            "rises: {at_least: 1500ms}",
            "falls: {at_least: 150%}",
        ),
        ("a level without a bound", "level: {at_most: 800ms}", "level: {}"),
        (
            "a row twice",
            STAYS,
            "stays: {within: 0.5pp}\n      - {metric: order_success, scope: marked, stays: {within: 1pp}}",
        ),
        ("a level in points", "at_least: 99%", "at_least: 99pp"),
        (
            "within on a ratio",
            "window: 1m, at_least: 99%",
            "window: 1m, within: 5%",
        ),
        ("a share without a unit", "percent: 20%", "percent: 0.2"),
        ("a rate without a unit", "rate: 200/s", "rate: 200"),
        ("a ramp that does not end", "[10%, 30%, 100%]", "[10%, 30%]"),
        ("flags of everything", "degrade:order:*", "*"),
        (
            "a URL without its place",
            "http://{instance}/actuator",
            "http://order-0/actuator",
        ),
        ("a jitter above the mean", "jitter: 500ms", "jitter: 3s"),
        (
            "a pointer that is none",
            RULE,
            "{point: coupon.query, tamper: {stock: -1}}",
        ),
        (
            "a fault that does nothing",
            RULE,
            "{point: coupon.query, empty: false}",
        ),
        ("an impossible status", RULE, "{point: coupon.query, status: 99}"),
        ("odd memory", RULE, "{point: coupon.query, memory: 64}"),
        (
            "a header that breaks its line",
            "x-drill: coupon-slow",
            "x-drill: \"a\\nb\"",
        ),
        (
            "a load that carries a secret",
            AFTER,
            "    duration: 2m\n    load: {url: \"http://{coupon}/x\", rate: 5/s, headers: {Cookie: abc}}\n",
        ),
        (
            "a load without a rate",
            AFTER,
            "    duration: 2m\n    load: {url: \"order/x\", rate: 0/s}\n",
        ),
        ("a command without a program", "run: [./warm.sh]", "run: []"),
        (
            "too little time to verify",
            "hold: 30s, within: 5m",
            "hold: 5m, within: 30s",
        ),
    ];
    insta::assert_snapshot!("wrong_values", table(DRILL, &cases, |text| said(drill(text))));
}

#[test]
fn a_drill_that_could_do_harm_or_could_not_tell_is_refused() {
    let recovery = &DRILL[DRILL.find("recovery:").unwrap()..];
    let steady = &DRILL[DRILL.find("  steady_state:").unwrap()..DRILL.find("  tripwires:").unwrap()];
    let cases = [
        ("no duration", STEP, ""),
        ("no recovery", recovery, ""),
        ("an empty recovery", recovery, "recovery: {}\n"),
        ("no envelope", ENVELOPE, ""),
        (
            "an envelope without a bound",
            ENVELOPE,
            "    envelope: {percent: 100%}\n",
        ),
        (
            "an envelope that only names instances",
            ENVELOPE,
            "    envelope: {instances: [order-0]}\n",
        ),
        (
            "an instance that is no target",
            "percent: 20%, max",
            "instances: [order-1], max",
        ),
        ("no targets", "instances: [order-0]", "instances: []"),
        (
            "no business metric",
            steady,
            "  steady_state: [{metric: payment_backlog, at_most: 200}]\n",
        ),
        ("an empty guard", steady, "  steady_state: []\n"),
        (
            "no guard",
            &DRILL[DRILL.find("guard:").unwrap()..DRILL.find("targets:").unwrap()],
            "",
        ),
        ("zero samples", "  samples: 3 ", "  samples: 0 "),
        (
            "a tripwire on a quantile",
            "- {metric: order_threads_busy, scope: targets, at_most: 40",
            "- {metric: order_p99, at_most: 1s",
        ),
        (
            "a tripwire on a query",
            "- {metric: order_threads_busy, scope: targets, at_most: 40",
            "- {metric: heap, at_most: 1GiB",
        ),
        ("a name twice", "- name: after", "- name: coupon-delay"),
        (
            "an unknown step",
            AFTER,
            "    duration: 2m\n    after: coupon-dely\n",
        ),
        ("a circle", AFTER, "    duration: 2m\n    after: after\n"),
        (
            "two starts",
            AFTER,
            "    duration: 2m\n    after: coupon-delay\n    at: 1m\n",
        ),
        ("longer than a day", STEP, "    duration: 25h\n"),
        ("a short baseline", "baseline: 10m", "baseline: 3m"),
        ("too few windows", AFTER, "    duration: 1m\n"),
        ("a confounded row", AFTER, "    duration: 2m\n    at: 9m\n"),
        (
            "an envelope without a fault",
            AFTER,
            "    duration: 2m\n    envelope: {percent: 5%}\n",
        ),
        (
            "no steps",
            &DRILL[DRILL.find("steps:").unwrap()..DRILL.find("recovery:").unwrap()],
            "steps: []\n",
        ),
    ];
    insta::assert_snapshot!("refused_drills", table(DRILL, &cases, |text| said(drill(text))));
}
