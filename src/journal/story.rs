//! A run for tests: a fault, an unexpected row, an abort by the guard, a breaker that could not be closed.

use jiff::Timestamp;

use crate::model::{
    amount::{Basis, Bounds, Level, Unit},
    dashboard::{Agg, Dashboard, Metric, MetricKind, Read, Selector},
    drill::{Action, Change, Drill, Effect, Envelope, Expectation, Fault, Guard, Start, Step, Targets},
    environment::{Environment, MetricsSource, Stage},
    event::{
        Body, Check, CheckOutcome, Event, GuardHeader, GuardState, Header, Health, Hits, MetricHeader,
        Outcome, Period, RowHeader, StepHeader,
    },
    ids::{
        DashboardName, DrillName, EnvironmentName, FaultId, InstanceName, MetricId, RunId, ScopeName,
        ServiceName, StepName,
    },
    phase::{Cause, Phase},
    plan::{Plan, Purpose},
    playbook::Playbook,
    recovery::{Certainty, Leftover, Milestone, Recovered, StepId, StepReport, StepState},
    sample::{Marks, Numbers, Query, Reading, Window},
    sheet::{Hypothesis, Moved, RowId, RowState, Verdict},
    snapshot::BaselineLevels,
    text::{Lang, Localized},
    time::{Moment, Span},
    undo::{ChangeIntent, FaultIntent, UndoFault},
};

pub(crate) fn run() -> RunId {
    RunId::new("7f3a01").unwrap()
}

fn metric(id: &str) -> MetricId {
    MetricId::new(id).unwrap()
}

fn scope(name: &str) -> Option<ScopeName> {
    Some(ScopeName::new(name).unwrap())
}

fn order_0() -> InstanceName {
    InstanceName::new("order-0").unwrap()
}

fn step_name() -> StepName {
    StepName::new("coupon-delay").unwrap()
}

fn both(en: &str, zh: &str) -> Localized {
    Localized {
        en: en.to_owned(),
        zh: Some(zh.to_owned()),
    }
}

fn bounds(at_least: Option<f64>, at_most: Option<f64>) -> Bounds {
    Bounds {
        at_least,
        at_most,
        basis: Basis::Absolute,
    }
}

pub(crate) fn fault() -> FaultId {
    FaultId::new(&run(), &step_name(), &order_0(), 0)
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
    Plan {
        run: run(),
        drill: Drill {
            name: DrillName::new("coupon-slow").unwrap(),
            title: both("Coupon service answers in 2 s", "优惠券服务 2 秒应答"),
            hypothesis: both("Orders keep succeeding.", "下单持续成功。"),
            dashboard: Dashboard {
                name: DashboardName::new("shop").unwrap(),
                scopes: vec![],
                metrics: vec![Metric {
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
                }],
                panels: vec![],
                topology: vec![],
            },
            risk: None,
            baseline: Span::seconds(600),
            window: Span::seconds(10),
            settle: None,
            guard: Guard {
                every: Span::seconds(10),
                samples: 3,
                steady_state: vec![],
                tripwires: vec![],
            },
            targets: Targets {
                service: ServiceName::new("order").unwrap(),
                instances: vec![order_0()],
            },
            steps: vec![step],
            recovery: Playbook {
                gateway: None,
                breakers: vec![],
                flags: vec![],
                retry_queues: vec![],
                pools: vec![],
                commands: vec![],
                hold: Span::seconds(30),
                verify_within: Span::seconds(600),
            },
            accept_no_expiry: false,
        },
        drill_source: "drill: coupon-slow\ntitle: Coupon service answers in 2 s\n".to_owned(),
        drill_folder: "/drills".to_owned(),
        environment: Environment {
            name: EnvironmentName::new("range").unwrap(),
            stage: Stage::Practice,
            metrics: MetricsSource::Scrape {
                every: Span::seconds(1),
                path: "/metrics".to_owned(),
            },
            services: Default::default(),
            redis: Default::default(),
            gateways: Default::default(),
            notify: vec![],
        },
        started_by: "commander".to_owned(),
        purpose: Purpose::Drill,
        attended: true,
        lang: Lang::En,
        allclear_version: "0.1.0".to_owned(),
    }
}

fn header() -> Header {
    let row = |id: &str, declared: &str, otherwise: Option<Localized>| RowHeader {
        metric: metric(id),
        scope: scope("marked"),
        declared: declared.to_owned(),
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

fn row(index: usize, verdict: Verdict, reason: &str, levels: [f64; 4], last: bool) -> Body {
    let [before, now, low, high] = levels.map(|x| Some(Level(x)));
    Body::Row(RowState {
        row: RowId { step: 0, row: index },
        verdict,
        reason: reason.to_owned(),
        before,
        now,
        low,
        high,
        windows: 12,
        last,
        age: Span::seconds(3),
        partial: false,
    })
}

fn guard(value: f64, bad: u32, health: Health) -> Body {
    Body::Guard(GuardState {
        index: 0,
        reading: Reading {
            value: Ok(Level(value)),
            age: Span::seconds(1),
            sampled: 1_770_000_000_000,
            partial: false,
        },
        room: Some(40.0 - value),
        bad,
        health,
    })
}

fn recovery(step: StepId, state: StepState, detail: &str, ms: u64) -> Body {
    Body::Recovery(StepReport {
        step,
        state,
        detail: detail.to_owned(),
        took: Span::millis(ms),
    })
}

pub(crate) fn intent() -> FaultIntent {
    FaultIntent {
        id: fault(),
        step: step_name(),
        instance: order_0(),
        what: "coupon.query delay 2s ±500ms".to_owned(),
        undo: UndoFault::Rule {
            base: "http://order-0:8080".to_owned(),
        },
        expires_in: Some(Span::seconds(630)),
    }
}

/// An event of the story's clock: number and seconds since its start.
pub(crate) fn at(seq: u64, second: i64, body: Body) -> Event {
    Event {
        seq,
        at: Moment(1_000_000 + second.unsigned_abs() * 1000),
        wall: Timestamp::from_second(1_770_000_000 + second).unwrap(),
        body,
    }
}

/// The whole run.
pub(crate) fn events() -> Vec<Event> {
    let milestone = |milestone, ms| Body::Reached {
        milestone,
        after: Span::millis(ms),
    };
    let phase = |phase| Body::Phase { phase, until: None };
    let bodies = [
        (0, Body::Opened(Box::new(header()))),
        (0, Body::DeadmanReady { pid: 4243 }),
        (0, phase(Phase::Preflight)),
        (
            1,
            Body::Check(Check {
                what: "targets".to_owned(),
                outcome: CheckOutcome::Passed,
                found: "order-0 (1 of 8)".to_owned(),
                next: None,
            }),
        ),
        (2, Body::SnapshotTaken(Box::default())),
        (3, phase(Phase::Baseline)),
        (603, Body::Frozen(BaselineLevels::default())),
        (603, phase(Phase::Armed)),
        (604, phase(Phase::Running)),
        (
            604,
            Body::StepStarted {
                step: 0,
                until: Moment(2_204_000),
                source_ms: 1_770_000_604_000,
            },
        ),
        (604, Body::FaultIntended(intent())),
        (
            604,
            Body::FaultLive {
                fault: fault(),
                expires: Some(Moment(2_234_000)),
            },
        ),
        (
            614,
            Body::Window {
                query: Query {
                    metric: metric("coupon_p99"),
                    scope: scope("marked"),
                },
                period: Period::Step(0),
                window: Window {
                    index: 0,
                    start: 1_770_000_604_000,
                    numbers: Ok(Numbers::Quantile(vec![1.0, 5.0, 40.0])),
                    marks: Marks::default(),
                },
            },
        ),
        (
            620,
            row(0, Verdict::Undecided, "too early", [0.21, 2.1, 1.2, 2.4], false),
        ),
        (630, guard(41.0, 1, Health::Bad)),
        (
            631,
            Body::Note {
                by: "commander".to_owned(),
                text: "threads climb <fast>".to_owned(),
            },
        ),
        (632, guard(46.0, 3, Health::Broken)),
        (
            632,
            Body::FaultHits {
                fault: fault(),
                hits: Hits {
                    hits: 1204,
                    misses: 31,
                    failed: 0,
                    capped: 7,
                    held: 11,
                },
            },
        ),
        (
            632,
            Body::Recovering {
                cause: Cause::Guard {
                    what: "order-0 threads 46 > 40, 3 of 3".to_owned(),
                },
            },
        ),
        (632, phase(Phase::Recovering)),
        (633, Body::FaultGone { fault: fault() }),
        (633, milestone(Milestone::FaultsGone, 800)),
        (
            633,
            recovery(StepId::Faults, StepState::Done, "1 of 1 gone, read back", 800),
        ),
        (
            634,
            Body::ChangeIntended(ChangeIntent::Breaker {
                instance: InstanceName::new("order-5").unwrap(),
                name: "coupon".to_owned(),
                to: "HALF_OPEN".to_owned(),
            }),
        ),
        (
            636,
            recovery(
                StepId::Breakers,
                StepState::Failed,
                "7 of 8; order-5 answered 403",
                2000,
            ),
        ),
        (
            640,
            Body::Moved(vec![Moved {
                metric: metric("cart_db_pool"),
                before: 12.0,
                now: 41.0,
                step: step_name(),
            }]),
        ),
        (641, row(0, Verdict::AsExpected, "", [0.21, 2.31, 1.8, 2.4], true)),
        (
            641,
            row(
                1,
                Verdict::Unexpected,
                "it fell",
                [0.996, 0.984, -0.015, -0.009],
                true,
            ),
        ),
        (650, milestone(Milestone::UsersOk, 18_000)),
        (
            660,
            Body::MayRemain(vec![Leftover {
                step: StepId::Breakers,
                what: "breaker coupon on order-5 (OPEN)".to_owned(),
                why: "order-5 answered 403".to_owned(),
                by_hand: Some("curl -X POST http://order-5:8081/actuator/circuitbreakers/coupon".to_owned()),
                certainty: Certainty::Seen,
            }]),
        ),
        (
            661,
            Body::Closed(Outcome {
                hypothesis: Some(Hypothesis::Falsified),
                recovered: Recovered::Leftover,
                cause: Some(Cause::Guard {
                    what: "order-0 threads 46 > 40, 3 of 3".to_owned(),
                }),
                refused: false,
                exit: 4,
            }),
        ),
    ];
    bodies
        .into_iter()
        .zip(1..)
        .map(|((second, body), seq)| at(seq, second, body))
        .collect()
}
