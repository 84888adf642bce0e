//! How the story opens.

use allclear::model::{
    amount::Unit,
    dashboard::{Pool, TopologyNode},
    environment::Stage,
    event::*,
    ids::*,
    plan::Purpose,
    sheet::Measured,
    text::Localized,
    time::Span,
};

use super::names::{instance, metric, query, run, scope, service, step, text};

pub(super) fn row(metric_name: &str, declared: &str, otherwise: Option<Localized>) -> RowHeader {
    RowHeader {
        metric: metric(metric_name),
        scope: scope("marked"),
        declared: declared.into(),
        measured: Measured::Change,
        otherwise,
    }
}

pub(super) fn guard(metric_name: &str, scope_name: &str, limit: &str) -> GuardHeader {
    GuardHeader {
        metric: metric(metric_name),
        scope: scope(scope_name),
        instance: None,
        limit: limit.into(),
        samples: 3,
    }
}

fn node(
    name: &str,
    instances: u32,
    calls: &[&str],
    pool: Option<(u32, &str)>,
    shares: &[&str],
) -> TopologyNode {
    TopologyNode {
        service: service(name),
        instances,
        calls: calls.iter().map(|c| service(c)).collect(),
        pool: pool.map(|(threads, m)| Pool {
            threads,
            metric: Some(metric(m)),
            timeout: None,
            rate_metric: None,
        }),
        shares: shares.iter().map(|s| (*s).to_owned()).collect(),
    }
}

pub(super) fn header() -> Header {
    let metrics = [
        (
            "order_success",
            Unit::Percent,
            "Orders that succeed",
            "下单成功率",
        ),
        (
            "order_p99",
            Unit::Seconds,
            "Time of an order, p99",
            "下单耗时 p99",
        ),
        ("order_rate", Unit::PerSecond, "Orders", "下单速率"),
        ("payment_backlog", Unit::Count, "Payments waiting", "支付积压"),
        ("order_threads_busy", Unit::Count, "Busy threads", "忙线程"),
        (
            "coupon_p99",
            Unit::Seconds,
            "Time of a coupon query, p99",
            "优惠券耗时 p99",
        ),
        ("degraded_rate", Unit::PerSecond, "Degraded orders", "降级速率"),
        ("cart_db_pool", Unit::Count, "Cart connections", "购物车连接"),
    ];
    Header {
        run: run(),
        drill: DrillName::new("coupon-slow").unwrap(),
        title: text("Coupon service answers in 2 s", "优惠券服务 2 秒才应答"),
        hypothesis: text(
            "Orders keep succeeding, because a slow coupon step is skipped.",
            "下单不受影响, 因为慢的优惠券步骤会被跳过.",
        ),
        purpose: Purpose::Drill,
        environment: EnvironmentName::new("shop").unwrap(),
        stage: Stage::Production,
        keeper: 4242,
        version: "0.1.0".into(),
        baseline: Span::seconds(600),
        window: Span::seconds(10),
        steps: vec![
            StepHeader {
                name: step(),
                what: "coupon.query delay 2s ±500ms".into(),
                breaks: true,
                duration: Span::seconds(600),
                max_concurrent: Some(20),
                rows: vec![
                    row("coupon_p99", "+≥1.5s", None),
                    row("degraded_rate", "rises", None),
                    RowHeader {
                        measured: Measured::RelativeChange,
                        ..row("order_p99", "0..+20%", None)
                    },
                    row(
                        "order_success",
                        "±0.5pp",
                        Some(text("The fallback does not work.", "降级没有生效.")),
                    ),
                ],
            },
            StepHeader {
                name: StepName::new("after").unwrap(),
                what: String::new(),
                breaks: false,
                duration: Span::seconds(120),
                max_concurrent: None,
                rows: vec![row("order_success", "±0.5pp", None)],
            },
        ],
        guard: vec![
            guard("order_success", "users", "≥ 99%"),
            guard("order_p99", "users", "≤ 800ms"),
            guard("order_rate", "users", "within 30%"),
            GuardHeader {
                metric: metric("order_threads_busy"),
                scope: None,
                instance: Some(instance("order-0")),
                limit: "≤ 40".into(),
                samples: 3,
            },
        ],
        metrics: metrics
            .iter()
            .map(|(id, unit, en, zh)| MetricHeader {
                id: metric(id),
                title: text(en, zh),
                unit: *unit,
            })
            .collect(),
        panels: vec![
            (
                text("Main flow", "主流程"),
                vec![
                    query("order_success", "users"),
                    query("order_p99", "users"),
                    query("order_rate", "users"),
                ],
            ),
            (
                text("Degrade events", "降级事件"),
                vec![query("degraded_rate", "marked"), query("order_success", "marked")],
            ),
            (
                text("Resources", "资源"),
                vec![query("order_threads_busy", ""), query("cart_db_pool", "")],
            ),
        ],
        topology: vec![
            node("gateway", 1, &["order"], None, &[]),
            node(
                "order",
                8,
                &["coupon", "inventory", "payment"],
                Some((50, "order_threads_busy")),
                &["orders-db"],
            ),
            node("coupon", 2, &[], None, &[]),
            node("inventory", 2, &[], None, &["orders-db"]),
            node(
                "cart",
                2,
                &["coupon"],
                Some((50, "cart_db_pool")),
                &["cart-redis"],
            ),
        ],
        targets: vec![instance("order-0")],
    }
}
