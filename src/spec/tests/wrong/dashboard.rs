//! Wrong dashboards.

use super::{said, table};
use crate::spec::tests::*;

#[test]
fn a_wrong_dashboard_is_shown_with_the_place_in_the_selector() {
    let cases = [
        (
            "a range",
            "gauge: payment_callback_backlog",
            "gauge: 'payment_callback_backlog[5m]'",
        ),
        (
            "a query",
            "rate: order_degraded_total",
            "rate: 'rate(order_degraded_total[1m])'",
        ),
        ("an unquoted value", "traffic!=\"drill\"", "traffic!=drill"),
        ("an unknown escape", "code=~\"2..\"", "code=~\"\\d\""),
        ("no metric name", "good: 'http_requests_total{", "good: '{"),
        (
            "two ways to read",
            "    gauge: payment_callback_backlog\n",
            "    gauge: payment_callback_backlog\n    rate: a_total\n",
        ),
        ("no way to read", "    gauge: payment_callback_backlog\n", ""),
        (
            "no unit",
            "    unit: count\n    better: lower\n    gauge: payment",
            "    gauge: payment",
        ),
        ("a ratio in seconds", "    unit: percent\n", "    unit: seconds\n"),
        (
            "not a histogram",
            "histogram: 'coupon_query_seconds_bucket'",
            "histogram: coupon_query_seconds",
        ),
        ("a percentile of 99", "q: 0.99", "q: 99"),
        ("an id twice", "id: order_p99", "id: order_success"),
        (
            "an unknown metric in a panel",
            "metrics: [degraded_rate]",
            "metrics: [degraded_rte]",
        ),
        (
            "an unknown metric of a pool",
            "metric: order_threads_busy, timeout",
            "metric: order_threads, timeout",
        ),
        ("a misspelt service", "calls: [coupon,", "calls: [cupon,"),
        ("an unknown kind", "kind: chain", "kind: chian"),
    ];
    let read = |text: &str| said(read_dashboard(&source("dashboards/shop.yaml", text)));
    insta::assert_snapshot!("wrong_dashboards", table(DASHBOARD, &cases, read));
}
