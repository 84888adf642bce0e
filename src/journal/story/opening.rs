//! How the story begins: its plan, and the header that opens the run.

use super::{both, metric, order_0, run, scope, step_name};
use crate::model::{
    amount::{Basis, Bounds, Unit},
    dashboard::{Agg, Metric, MetricKind, Read, Selector},
    drill::{Action, Change, Drill, Effect, Envelope, Expectation, Fault, Start, Step},
    environment::Stage,
    event::{GuardHeader, Header, MetricHeader, RowHeader, StepHeader},
    ids::{DrillName, EnvironmentName},
    plan::{Plan, Purpose},
    sheet::Measured,
    testing,
    text::Localized,
    time::Span,
};

fn bounds(at_least: Option<f64>, at_most: Option<f64>) -> Bounds {
    Bounds {
        at_least,
        at_most,
        basis: Basis::Absolute,
    }
}

pub(crate) fn plan() -> Plan {
    let expect = |id: &str, change| Expectation {
        metric: metric(id),
        scope: scope("marked"),
        change,
        otherwise: None,
    };
    let step = Step {
        name: step_name(),
        action: Action::Fault {
            faults: vec![Fault::Rule {
                point: "coupon.query".to_owned(),
                service: None,
                effect: Effect::Delay {
                    mean: Span::seconds(2),
                    jitter: Span::millis(500),
                },
            }],
            envelope: Envelope::default(),
        },
        duration: Span::seconds(600),
        start: Start::InOrder,
        settle: None,
        expect: vec![
            expect("coupon_p99", Change::Rises(bounds(Some(1.5), None))),
            expect("order_success", Change::Stays(bounds(None, Some(0.005)))),
        ],
    };
    let drill = Drill {
        title: both("Coupon service answers in 2 s", "优惠券服务 2 秒应答"),
        hypothesis: both("Orders keep succeeding.", "下单持续成功。"),
        baseline: Span::seconds(600),
        window: Span::seconds(10),
        ..testing::drill(vec![step])
    };
    let mut plan = testing::plan(drill, testing::environment(&[]));
    plan.run = run();
    plan.started_by = "commander".to_owned();
    plan.drill.dashboard.metrics.push(busy_threads());
    plan.drill_source = "drill: coupon-slow\ntitle: Coupon service answers in 2 s\n".to_owned();
    plan.environment.name = EnvironmentName::new("range").unwrap();
    plan.allclear_version = "0.1.0".to_owned();
    plan
}

fn busy_threads() -> Metric {
    Metric {
        id: metric("order_threads_busy"),
        title: Localized::plain("Busy threads"),
        kind: MetricKind::System,
        unit: Unit::Count,
        better: None,
        read: Read::Gauge {
            selector: Selector {
                name: "order_threads_busy".to_owned(),
                matchers: vec![],
            },
            agg: Agg::Sum,
        },
        of: Vec::new(),
    }
}

pub(super) fn header() -> Header {
    let row = |id: &str, declared: &str, otherwise: Option<Localized>| RowHeader {
        metric: metric(id),
        scope: scope("marked"),
        declared: declared.to_owned(),
        measured: Measured::Change,
        otherwise,
    };
    let shown = |id: &str, title: Localized, unit| MetricHeader {
        id: metric(id),
        title,
        unit,
    };
    Header {
        run: run(),
        drill: DrillName::new("coupon-slow").unwrap(),
        title: both("Coupon service answers in 2 s", "优惠券服务 2 秒应答"),
        hypothesis: both("Orders keep succeeding.", "下单持续成功。"),
        purpose: Purpose::Drill,
        environment: EnvironmentName::new("range").unwrap(),
        stage: Stage::Practice,
        keeper: 4242,
        version: "0.1.0".to_owned(),
        baseline: Span::seconds(600),
        window: Span::seconds(10),
        steps: vec![StepHeader {
            name: step_name(),
            what: "coupon.query delay 2s ±500ms".to_owned(),
            breaks: true,
            duration: Span::seconds(600),
            max_concurrent: Some(20),
            rows: vec![
                row("coupon_p99", "+≥1.5s", None),
                row(
                    "order_success",
                    "±0.5pp",
                    Some(both("The fallback does not work.", "降级没有生效。")),
                ),
            ],
        }],
        guard: vec![GuardHeader {
            metric: metric("order_threads_busy"),
            scope: None,
            instance: Some(order_0()),
            limit: "≤ 40".to_owned(),
            samples: 3,
        }],
        metrics: vec![
            shown("coupon_p99", both("Coupon p99", "优惠券 p99"), Unit::Seconds),
            shown(
                "order_success",
                both("Orders that succeed", "下单成功率"),
                Unit::Percent,
            ),
            shown(
                "order_threads_busy",
                Localized::plain("Busy <threads>"),
                Unit::Count,
            ),
            shown("cart_db_pool", Localized::plain("Cart DB pool"), Unit::Count),
        ],
        panels: vec![],
        topology: vec![],
        targets: vec![order_0()],
    }
}
