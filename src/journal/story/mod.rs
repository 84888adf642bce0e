//! A run for tests: a fault, an unexpected row, an abort by the guard, a breaker that could not be closed.

mod opening;

use jiff::Timestamp;

use self::opening::header;
pub(crate) use self::opening::plan;
use crate::model::{
    amount::Level,
    event::{Body, Check, CheckOutcome, Event, GuardState, Health, Hits, Outcome, Period},
    exit::Exit,
    ids::{FaultId, InstanceName, MetricId, RunId, ScopeName, StepName},
    phase::{Cause, Phase},
    recovery::{Certainty, Leftover, Milestone, Recovered, StepId, StepReport, StepState},
    said::{Said, said},
    sample::{Marks, Numbers, Query, Reading, Window},
    sheet::{Hypothesis, Moved, RowId, RowState, Verdict},
    snapshot::BaselineLevels,
    text::Localized,
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

pub(crate) fn fault() -> FaultId {
    FaultId::new(&run(), &step_name(), &order_0(), 0)
}

fn row(index: usize, verdict: Verdict, reason: &str, levels: [f64; 4], last: bool) -> Body {
    let [before, now, low, high] = levels.map(|x| Some(Level(x)));
    Body::Row(RowState {
        row: RowId { step: 0, row: index },
        verdict,
        reason: reason.into(),
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

fn recovery(step: StepId, state: StepState, [en, zh]: [&str; 2], ms: u64) -> Body {
    Body::Recovery(StepReport {
        step,
        state,
        detail: Said::new(en, zh),
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
                what: said!("targets", "目标"),
                outcome: CheckOutcome::Passed,
                found: said!("order-0 of 8 order", "order-0，共 8 个 order"),
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
                    instance: None,
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
                    what: said!(
                        "order-0 threads 46 > 40, 3 of 3",
                        "order-0 threads 46 > 40，连续 3/3 次"
                    ),
                },
            },
        ),
        (632, phase(Phase::Recovering)),
        (633, Body::FaultGone { fault: fault() }),
        (633, milestone(Milestone::FaultsGone, 800)),
        (
            633,
            recovery(
                StepId::Faults,
                StepState::Done,
                ["1 of 1 gone, read back", "已清 1/1 项，已回读"],
                800,
            ),
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
                ["7 of 8; order-5 answered 403", "7/8 个正常；order-5 应答 403"],
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
                what: said!(
                    "breaker coupon on order-5 (OPEN)",
                    "order-5 的熔断器 coupon（OPEN）"
                ),
                why: said!("order-5 answered 403", "order-5 应答 403"),
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
                    what: said!(
                        "order-0 threads 46 > 40, 3 of 3",
                        "order-0 threads 46 > 40，连续 3/3 次"
                    ),
                }),
                refused: false,
                exit: Exit::Remains,
            }),
        ),
    ];
    bodies
        .into_iter()
        .zip(1..)
        .map(|((second, body), seq)| at(seq, second, body))
        .collect()
}
