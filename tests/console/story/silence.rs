//! Preflight and baseline.

use allclear::model::{event::*, exit::Exit, phase::Phase, recovery::*, said::Said, snapshot::*, time::Span};

use super::{
    Story,
    header::header,
    names::{instance, query},
};

impl Story {
    /// Opened, checked.
    pub fn preflight() -> Self {
        let mut s = Self::new();
        s.say(Body::Opened(Box::new(header())))
            .phase(Phase::Preflight, None)
            .say(Body::Watching { consoles: 1 });
        s.wait(300)
            .check(
                ["queries", "查询"],
                CheckOutcome::Passed,
                ["9 of 9 answered", "已应答 9/9 条"],
                None,
            )
            .check(
                ["targets", "目标"],
                CheckOutcome::Passed,
                ["order-0 of 8 order", "order-0，共 8 个 order"],
                None,
            )
            .check(
                ["expiry", "自行失效"],
                CheckOutcome::Passed,
                [
                    "every fault expires at its target by itself",
                    "每个故障都会在目标处自行失效",
                ],
                None,
            )
            .check(
                ["earlier runs", "以往演练"],
                CheckOutcome::Warned,
                [
                    "1 rule of run 11aa22 on order-3, expired",
                    "order-3：演练 11aa22 的规则 1 条，已失效",
                ],
                Some(["look at it: allclear show 11aa22", "请查看：allclear show 11aa22"]),
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
                Some(["moves less than the row cares for", "变动小于该行所关注"]),
            ),
            (
                "coupon_p99",
                "marked",
                Some(0.18),
                Some(0.26),
                46,
                Some(0.06),
                Steadiness::Unsteady,
                Some(["half 2 lies 80ms above half 1", "后半比前半高 80ms"]),
            ),
            (
                "degraded_rate",
                "marked",
                None,
                Some(0.1),
                9,
                None,
                Steadiness::TooThin,
                Some(["9 usable windows, 20 needed", "可用窗口 9 个，需 20 个"]),
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
                why: why.map(|[en, zh]| Said::new(en, zh)),
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
                kept: Vec::new(),
                removal: Removal::Unlink,
            }],
            retry_queues: vec![RetryQueueSeen {
                entry: 0,
                backlog: 12,
                held: false,
                rate: None,
                quotas: vec![],
                groups: vec![],
            }],
            foreign: vec!["rule team-b-1 on order-4".into()],
            ..Snapshot::default()
        })));
        s.wait(4_000);
        s
    }

    /// Refused by preflight.
    pub fn refused() -> Self {
        let mut s = Self::preflight();
        s.check(
            ["guard", "守护"],
            CheckOutcome::Refused,
            [
                "payment_backlog answers 2 series where one was meant",
                "payment_backlog 应答 2 个序列，应为 1 个",
            ],
            Some(["narrow it by a scope", "请以 scope 收窄"]),
        )
        .say(Body::Refused {
            reasons: vec![Said::new(
                "guard: payment_backlog answers 2 series where one was meant",
                "守护：payment_backlog 应答 2 个序列，应为 1 个",
            )],
        })
        .phase(Phase::Closed, None)
        .say(Body::Closed(Outcome {
            hypothesis: None,
            recovered: Recovered::Recovered,
            cause: None,
            refused: true,
            exit: Exit::Refused,
        }));
        s
    }

    /// The baseline is over, and not fit to arm on.
    pub fn cannot_arm() -> Self {
        let mut s = Self::baseline();
        s.wait(136_000).say(Body::CannotArm {
            reasons: vec![
                Said::new(
                    "coupon_p99 marked is unsteady: half 2 lies 80ms above half 1",
                    "coupon_p99 marked 不稳：后半比前半高 80ms",
                ),
                Said::new(
                    "degraded_rate marked is too thin: 9 usable windows, 20 needed",
                    "degraded_rate marked 数据不足：可用窗口 9 个，需 20 个",
                ),
            ],
        });
        s
    }
}
