//! One scripted run, told in events: a slow coupon service without its fallback. The guard ends it; a breaker cannot be
//! brought back at first.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test and the bench use a part of the story; its names are fixed"
)]

use allclear::{
    model::{
        amount::{Level, Unit},
        dashboard::{Pool, TopologyNode},
        environment::Stage,
        event::*,
        ids::*,
        phase::{Cause, Phase},
        plan::Purpose,
        recovery::*,
        sample::{Gap, Numbers, Query, Reading, Window},
        sheet::{Hypothesis, Measured, Moved, RowId, RowState, Verdict},
        snapshot::*,
        text::Localized,
        time::{Moment, Span},
        undo::{FaultIntent, UndoFault},
    },
    view::RunView,
};
use jiff::Timestamp;

/// The wall time of moment 0.
const DAWN: i64 = 1_767_275_472;

/// The events so far, and the clock.
#[derive(Clone)]
pub struct Story {
    pub events: Vec<Event>,
    now: u64,
}

fn text(en: &str, zh: &str) -> Localized {
    Localized {
        en: en.into(),
        zh: Some(zh.into()),
    }
}

fn metric(name: &str) -> MetricId {
    MetricId::new(name).unwrap()
}

fn scope(name: &str) -> Option<ScopeName> {
    (!name.is_empty()).then(|| ScopeName::new(name).unwrap())
}

pub fn query(metric_name: &str, scope_name: &str) -> Query {
    Query {
        metric: metric(metric_name),
        scope: scope(scope_name),
        instance: None,
    }
}

fn instance(name: &str) -> InstanceName {
    InstanceName::new(name).unwrap()
}

fn service(name: &str) -> ServiceName {
    ServiceName::new(name).unwrap()
}

fn step() -> StepName {
    StepName::new("coupon-delay").unwrap()
}

fn run() -> RunId {
    RunId::new("7f3a21").unwrap()
}

pub fn fault() -> FaultId {
    FaultId::new(&run(), &step(), &instance("order-0"), 0)
}

fn row(metric_name: &str, declared: &str, otherwise: Option<Localized>) -> RowHeader {
    RowHeader {
        metric: metric(metric_name),
        scope: scope("marked"),
        declared: declared.into(),
        measured: Measured::Change,
        otherwise,
    }
}

fn guard(metric_name: &str, scope_name: &str, limit: &str) -> GuardHeader {
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

fn header() -> Header {
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

impl Story {
    pub fn new() -> Self {
        Self {
            events: Vec::new(),
            now: 0,
        }
    }

    pub fn wait(&mut self, ms: u64) -> &mut Self {
        self.now += ms;
        self
    }

    pub fn say(&mut self, body: Body) -> &mut Self {
        let at = Moment(self.now);
        self.events.push(Event {
            seq: self.events.len() as u64 + 1,
            at,
            wall: Timestamp::from_millisecond(DAWN * 1000 + self.now as i64).unwrap(),
            body,
        });
        self
    }

    pub fn view(&self) -> RunView {
        RunView::of(&self.events)
    }

    pub fn now(&self) -> Moment {
        Moment(self.now)
    }

    fn phase(&mut self, phase: Phase, lasts: Option<u64>) -> &mut Self {
        let until = lasts.map(|s| Moment(self.now) + Span::seconds(s));
        self.say(Body::Phase { phase, until })
    }

    fn check(&mut self, what: &str, outcome: CheckOutcome, found: &str, next: Option<&str>) -> &mut Self {
        self.say(Body::Check(Check {
            what: what.into(),
            outcome,
            found: found.into(),
            next: next.map(Into::into),
        }))
    }

    fn guard(&mut self, index: usize, value: f64, room: f64, bad: u32, health: Health) -> &mut Self {
        self.say(Body::Guard(GuardState {
            index,
            reading: Reading {
                value: Ok(Level(value)),
                age: Span::seconds(1 + index as u64),
                sampled: self.now as i64,
                partial: false,
            },
            room: Some(room),
            bad,
            health,
        }))
    }

    fn guards(&mut self, busy: f64) -> &mut Self {
        self.guard(0, 0.996, 0.006, 0, Health::Holds)
            .guard(1, 0.262, 0.538, 0, Health::Holds)
            .guard(2, 240.0, 62.0, 0, Health::Holds)
            .guard(3, busy, 40.0 - busy, 0, Health::Holds)
    }

    #[allow(clippy::too_many_arguments, reason = "a row has that many parts")]
    fn row(
        &mut self,
        (step, row): (usize, usize),
        verdict: Verdict,
        before: Option<f64>,
        now: Option<f64>,
        ends: Option<(f64, f64)>,
        windows: usize,
        last: bool,
        reason: &str,
    ) -> &mut Self {
        self.say(Body::Row(RowState {
            row: RowId { step, row },
            verdict,
            reason: reason.into(),
            before: before.map(Level),
            now: now.map(Level),
            low: ends.map(|e| Level(e.0)),
            high: ends.map(|e| Level(e.1)),
            windows,
            last,
            age: Span::seconds(4),
            partial: false,
        }))
    }

    fn rows(&mut self, last: bool) -> &mut Self {
        let n = if last { 31 } else { 22 };
        self.row(
            (0, 0),
            Verdict::AsExpected,
            Some(0.21),
            Some(2.31),
            Some((1.92, 2.24)),
            n,
            last,
            "rose by 1.92s to 2.24s",
        )
        .row(
            (0, 1),
            Verdict::AsExpected,
            Some(0.0),
            Some(3.2),
            Some((2.9, 3.5)),
            n,
            last,
            "rose by 2.90/s to 3.50/s",
        )
        .row(
            (0, 2),
            Verdict::Undecided,
            Some(0.24),
            Some(0.281),
            Some((0.1, 0.25)),
            n,
            last,
            "+10% to +25% straddles +20%",
        )
        .row(
            (0, 3),
            Verdict::Unexpected,
            Some(0.996),
            Some(0.984),
            Some((-0.014, -0.01)),
            n,
            last,
            "fell by 1.00pp to 1.40pp",
        )
    }

    fn window(
        &mut self,
        query: &Query,
        period: Period,
        index: usize,
        numbers: Result<Numbers, Gap>,
    ) -> &mut Self {
        self.say(Body::Window {
            query: query.clone(),
            period,
            window: Window {
                index,
                start: self.now as i64,
                numbers,
                marks: Default::default(),
            },
        })
    }

    fn windows(&mut self, period: Period, index: usize, dip: f64) -> &mut Self {
        let wave = ((index * 7) % 5) as f64;
        let good = 3000.0 * (0.996 - dip) - wave;
        self.window(
            &query("order_success", "users"),
            period,
            index,
            Ok(Numbers::Ratio([3000.0 * 0.9965 - wave, 3000.0])),
        )
        .window(
            &query("order_rate", "users"),
            period,
            index,
            Ok(Numbers::Rate([2400.0 + 20.0 * wave, 10.0])),
        )
        .window(
            &query("order_success", "marked"),
            period,
            index,
            Ok(Numbers::Ratio([good, 3000.0])),
        );
        let gauge = if index == 9 {
            Err(Gap::NoSample)
        } else {
            Ok(Numbers::Gauge(12.0 + wave + dip * 2400.0))
        };
        self.window(&query("cart_db_pool", ""), period, index, gauge)
            .window(
                &query("degraded_rate", "marked"),
                period,
                index,
                Ok(Numbers::Rate([dip * 2500.0, 10.0])),
            )
            .window(
                &query("order_threads_busy", ""),
                period,
                index,
                Ok(Numbers::Gauge(6.0 + wave + dip * 2500.0)),
            )
    }

    /// Opened, checked.
    pub fn preflight() -> Self {
        let mut s = Self::new();
        s.say(Body::Opened(Box::new(header())))
            .phase(Phase::Preflight, None)
            .say(Body::Watching { consoles: 1 });
        s.wait(300)
            .check("queries", CheckOutcome::Passed, "9 queries answered", None)
            .check("targets", CheckOutcome::Passed, "order-0, 1 of 8", None)
            .check("undo", CheckOutcome::Passed, "each fault has one", None)
            .check(
                "leftovers",
                CheckOutcome::Warned,
                "1 rule of run 11aa22 on order-3, expired",
                Some("look at it: allclear show 11aa22"),
            );
        s.say(Body::Reach(vec![ReachLine {
            instance: instance("order-0"),
            of: 8,
            what: "coupon.query delay 2s ±500ms".into(),
            rate: Some(30.0),
            share: 0.2,
            holds: 2.5,
            threads: Some(15.0),
            pool: Some(50),
        }]))
        .say(Body::Stops {
            tripwire: Some(Span::seconds(3)),
            guard: (Span::seconds(41), Span::seconds(75)),
        });
        s
    }

    /// The silent baseline, in which a hypothesis cannot be read for the moment.
    pub fn blind_in_baseline() -> Self {
        let mut s = Self::baseline();
        s.guard(1, 0.262, 0.538, 2, Health::Blind);
        s
    }

    /// The silent baseline, two rows of which are not fit.
    pub fn baseline() -> Self {
        let mut s = Self::preflight();
        s.wait(700).phase(Phase::Baseline, Some(600));
        for index in 0..46 {
            s.wait(10_000).windows(Period::Baseline, index, 0.0);
        }
        s.guards(7.0);
        let rows = [
            (
                "order_success",
                "users",
                Some(0.996),
                Some(0.9961),
                46,
                Some(0.002),
                Steadiness::Steady,
                None,
            ),
            (
                "order_p99",
                "users",
                Some(0.24),
                Some(0.244),
                46,
                Some(0.02),
                Steadiness::Moving,
                Some("moves less than the row cares for"),
            ),
            (
                "coupon_p99",
                "marked",
                Some(0.18),
                Some(0.26),
                46,
                Some(0.06),
                Steadiness::Unsteady,
                Some("half 2 lies 80ms above half 1"),
            ),
            (
                "degraded_rate",
                "marked",
                None,
                Some(0.1),
                9,
                None,
                Steadiness::TooThin,
                Some("9 usable windows, 20 needed"),
            ),
        ];
        for (name, of, half1, half2, n, can_show, state, why) in rows {
            s.say(Body::Baseline(BaselineRow {
                query: query(name, of),
                half1,
                half2,
                n,
                can_show,
                state,
                why: why.map(Into::into),
            }));
        }
        s.say(Body::SnapshotTaken(Box::new(Snapshot {
            gateway: vec![GatewayServer {
                at: "lb".into(),
                instance: instance("order-0"),
                weight: 100,
                initial_weight: 100,
                state: GatewayState::Ready,
                running: true,
            }],
            breakers: (0..8)
                .map(|n| BreakerSeen {
                    entry: 0,
                    instance: instance(&format!("order-{n}")),
                    name: "coupon".into(),
                    state: BreakerState::Closed,
                })
                .collect(),
            rules: Vec::new(),
            flags: vec![FlagsSeen {
                entry: 0,
                keys: vec![
                    "degrade:order:a".into(),
                    "degrade:order:b".into(),
                    "degrade:order:c".into(),
                ],
                removal: Removal::Unlink,
            }],
            retry_queues: vec![RetryQueueSeen {
                entry: 0,
                backlog: 12,
                held: false,
                rate: None,
                quotas: vec![],
            }],
            foreign: vec!["rule team-b-1 on order-4".into()],
        })));
        s.wait(4_000);
        s
    }

    /// The fault is live for four minutes, one row is unexpected, a tripwire is bad.
    pub fn running() -> Self {
        let mut s = Self::baseline();
        let levels = [
            ("order_success", "users", 0.996),
            ("order_success", "marked", 0.996),
            ("order_rate", "users", 244.0),
        ];
        s.wait(136_000).say(Body::Frozen(BaselineLevels {
            levels: levels
                .iter()
                .map(|(m, of, level)| {
                    let seen = BaselineLevel {
                        level: *level,
                        lowest: level * 0.998,
                        highest: level * 1.001,
                        smallest_detectable: Some(0.002),
                        edges: Vec::new(),
                    };
                    (query(m, of), seen)
                })
                .collect(),
        }));
        s.say(Body::DeadmanReady { pid: 4243 })
            .phase(Phase::Armed, None)
            .wait(1_000)
            .phase(Phase::Running, None);
        let until = Moment(s.now) + Span::seconds(600);
        s.say(Body::StepStarted {
            step: 0,
            until,
            source_ms: s.now as i64,
        })
        .say(Body::FaultIntended(FaultIntent {
            id: fault(),
            step: step(),
            instance: instance("order-0"),
            what: "coupon.query delay 2s ±500ms".into(),
            undo: UndoFault::Rule {
                base: "http://order-0:8081".into(),
            },
            expires_in: Some(Span::seconds(660)),
        }))
        .wait(40);
        let expires = Some(Moment(s.now) + Span::seconds(660));
        s.say(Body::FaultLive {
            fault: fault(),
            expires,
        })
        .say(Body::Watching { consoles: 2 });
        for index in 0..24 {
            s.wait(10_000).windows(Period::Step(0), index, 0.012);
        }
        s.say(Body::FaultHits {
            fault: fault(),
            hits: Hits {
                hits: 1204,
                misses: 4810,
                failed: 0,
                capped: 0,
                held: 11,
            },
        })
        .rows(false)
        .say(Body::Moved(vec![Moved {
            metric: metric("cart_db_pool"),
            before: 12.0,
            now: 41.0,
            step: step(),
        }]))
        .guards(38.0)
        .wait(9_000)
        .guard(3, 41.0, -1.0, 1, Health::Bad)
        .wait(3_000);
        s
    }

    fn recovery(&mut self, step: StepId, state: StepState, took: u64, detail: &str) -> &mut Self {
        self.say(Body::Recovery(StepReport {
            step,
            state,
            detail: detail.into(),
            took: Span::millis(took),
        }))
    }

    fn breaker_left() -> Leftover {
        Leftover {
            step: StepId::Breakers,
            what: "breaker coupon on order-5 (OPEN)".into(),
            why: "the actuator answered 403".into(),
            by_hand: Some("curl -X POST http://order-5:8081/actuator/circuitbreakers/coupon -d '{\"updateState\":\"CLOSE\"}'".into()),
            certainty: Certainty::Seen,
        }
    }

    /// The guard has ended the run; a breaker cannot be brought back; a pool drains.
    pub fn recovering() -> Self {
        let mut s = Self::running();
        s.guard(3, 46.0, -6.0, 3, Health::Broken)
            .say(Body::Recovering {
                cause: Cause::Guard {
                    what: "order-0 order_threads_busy 46 > 40, 3 of 3".into(),
                },
            })
            .phase(Phase::Recovering, None)
            .wait(800)
            .say(Body::FaultGone { fault: fault() })
            .recovery(StepId::Faults, StepState::Done, 800, "1 of 1 gone, read back")
            .say(Body::Reached {
                milestone: Milestone::FaultsGone,
                after: Span::millis(800),
            })
            .rows(true)
            .say(Body::StepEnded { step: 0 })
            .wait(300)
            .recovery(
                StepId::Injector,
                StepState::Done,
                300,
                "1 ours removed; 2 foreign untouched",
            )
            .wait(1_100)
            .recovery(
                StepId::Drain,
                StepState::Done,
                1_100,
                "order-0 weight 100 → 0; 7 serve",
            )
            .wait(2_000)
            .recovery(
                StepId::Breakers,
                StepState::Failed,
                2_000,
                "7 of 8; order-5 answered 403",
            )
            .recovery(
                StepId::Flags,
                StepState::Done,
                600,
                "46 removed; 3 kept, older than the drill",
            )
            .recovery(StepId::Retry, StepState::Held, 600, "backlog 110,412")
            .say(Body::MayRemain(vec![Self::breaker_left()]))
            .recovery(
                StepId::Pools,
                StepState::Waiting,
                0,
                "order-0 busy 38 → 22 FALLING",
            )
            .guards(22.0)
            .wait(21_000);
        s
    }

    /// Everything is put back but the breaker; it has to hold now.
    pub fn verifying() -> Self {
        let mut s = Self::recovering();
        s.recovery(StepId::Pools, StepState::Done, 34_000, "order-0 busy 2, idle")
            .say(Body::Reached {
                milestone: Milestone::UsersOk,
                after: Span::seconds(41),
            })
            .wait(90_000)
            .recovery(
                StepId::Traffic,
                StepState::Done,
                90_000,
                "10% 30% 100%, order-0 weight 100 again",
            )
            .wait(552_000)
            .recovery(
                StepId::Release,
                StepState::Done,
                552_000,
                "110,412 released at 199.8/s, lag 12",
            )
            .phase(Phase::Verifying, Some(120))
            .recovery(
                StepId::Verify,
                StepState::Waiting,
                0,
                "4 guards hold, 4 of 5 rows back, 12s of 30s",
            )
            .guards(6.0)
            .wait(12_000);
        s
    }

    /// The breaker is still open at the end.
    pub fn closed_leftover() -> Self {
        let mut s = Self::verifying();
        s.wait(18_000)
            .recovery(
                StepId::Verify,
                StepState::Failed,
                30_000,
                "breaker coupon on order-5 still OPEN",
            )
            .say(Body::MayRemain(vec![Self::breaker_left()]))
            .say(Body::Notified {
                whom: "hooks.example.com".into(),
                error: None,
            })
            .phase(Phase::Closed, None)
            .say(Body::Closed(Outcome {
                hypothesis: Some(Hypothesis::Falsified),
                recovered: Recovered::Leftover,
                cause: Some(Cause::Guard {
                    what: "order-0 order_threads_busy 46 > 40, 3 of 3".into(),
                }),
                refused: false,
                exit: 4,
            }))
            .wait(1_000);
        s
    }

    /// The same drill on a system whose fallback works: it holds, and everything is back.
    pub fn closed_held() -> Self {
        let mut s = Self::running();
        s.guard(3, 8.0, 32.0, 0, Health::Holds);
        let n = 58;
        s.wait(345_000)
            .row(
                (0, 0),
                Verdict::AsExpected,
                Some(0.21),
                Some(2.31),
                Some((1.92, 2.24)),
                n,
                true,
                "rose by 1.92s to 2.24s",
            )
            .row(
                (0, 1),
                Verdict::AsExpected,
                Some(0.0),
                Some(3.2),
                Some((2.9, 3.5)),
                n,
                true,
                "rose by 2.90/s to 3.50/s",
            )
            .row(
                (0, 2),
                Verdict::AsExpected,
                Some(0.24),
                Some(0.251),
                Some((0.02, 0.08)),
                n,
                true,
                "+2% to +8%",
            )
            .row(
                (0, 3),
                Verdict::AsExpected,
                Some(0.996),
                Some(0.9958),
                Some((-0.001, 0.001)),
                n,
                true,
                "within 0.10pp",
            )
            .say(Body::Moved(vec![]))
            .say(Body::FaultGone { fault: fault() })
            .say(Body::StepEnded { step: 0 });
        let until = Moment(s.now) + Span::seconds(120);
        s.say(Body::StepStarted {
            step: 1,
            until,
            source_ms: s.now as i64,
        })
        .wait(120_000)
        .row(
            (1, 0),
            Verdict::AsExpected,
            Some(0.996),
            Some(0.996),
            Some((-0.001, 0.001)),
            12,
            true,
            "within 0.10pp",
        )
        .say(Body::StepEnded { step: 1 })
        .say(Body::Note {
            by: "chen".into(),
            text: "the fallback answered at once".into(),
        })
        .say(Body::Recovering {
            cause: Cause::Finished,
        })
        .phase(Phase::Recovering, None)
        .recovery(
            StepId::Faults,
            StepState::Nothing,
            200,
            "1 of 1 gone already, read back",
        );
        for step in &StepId::ALL[1..9] {
            s.recovery(*step, StepState::Nothing, 100, "as in the snapshot");
        }
        s.say(Body::Reached {
            milestone: Milestone::FaultsGone,
            after: Span::millis(200),
        })
        .say(Body::Reached {
            milestone: Milestone::UsersOk,
            after: Span::millis(1_200),
        })
        .phase(Phase::Verifying, Some(120))
        .wait(31_000)
        .recovery(
            StepId::Verify,
            StepState::Done,
            31_000,
            "4 guards, 5 rows, held for 30s",
        )
        .say(Body::Reached {
            milestone: Milestone::AllClear,
            after: Span::millis(32_200),
        })
        .phase(Phase::Closed, None)
        .say(Body::Closed(Outcome {
            hypothesis: Some(Hypothesis::Held),
            recovered: Recovered::Recovered,
            cause: Some(Cause::Finished),
            refused: false,
            exit: 0,
        }))
        .wait(1_000);
        s
    }

    /// Refused by preflight.
    pub fn refused() -> Self {
        let mut s = Self::preflight();
        s.check(
            "guard",
            CheckOutcome::Refused,
            "payment_backlog answers 2 series where one was meant",
            Some("narrow it by a scope"),
        )
        .say(Body::Refused {
            reasons: vec!["guard: payment_backlog answers 2 series where one was meant".into()],
        })
        .phase(Phase::Closed, None)
        .say(Body::Closed(Outcome {
            hypothesis: None,
            recovered: Recovered::Recovered,
            cause: None,
            refused: true,
            exit: 5,
        }));
        s
    }

    /// The baseline is over, and not fit to arm on.
    pub fn cannot_arm() -> Self {
        let mut s = Self::baseline();
        s.wait(136_000).say(Body::CannotArm {
            reasons: vec![
                "coupon_p99 marked is unsteady: half 2 lies 80ms above half 1".into(),
                "degraded_rate marked is too thin: 9 usable windows, 20 needed".into(),
            ],
        });
        s
    }

    /// The names of the stages, with their stories.
    pub fn stages() -> Vec<(&'static str, Story)> {
        vec![
            ("preflight", Self::preflight()),
            ("baseline", Self::baseline()),
            ("cannot_arm", Self::cannot_arm()),
            ("running", Self::running()),
            ("recovering", Self::recovering()),
            ("verifying", Self::verifying()),
            ("closed_leftover", Self::closed_leftover()),
            ("closed_held", Self::closed_held()),
            ("refused", Self::refused()),
        ]
    }
}
