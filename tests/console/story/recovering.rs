//! Recovery, and the time until it is proved.

use allclear::model::{
    event::*,
    phase::{Cause, Phase},
    recovery::*,
    said::Said,
    time::Span,
};

use super::{Story, names::fault};

impl Story {
    /// The guard has ended the run; a breaker cannot be brought back; a pool drains.
    pub fn recovering() -> Self {
        let mut s = Self::running();
        s.guard(3, 46.0, -6.0, 3, Health::Broken)
            .say(Body::Recovering {
                cause: Cause::Guard {
                    what: Said::new(
                        "order-0 order_threads_busy 46 > 40, 3 of 3",
                        "order-0 order_threads_busy 46 > 40，连续 3/3 次",
                    ),
                },
            })
            .phase(Phase::Recovering, None)
            .wait(800)
            .say(Body::FaultGone { fault: fault() })
            .recovery(
                StepId::Faults,
                StepState::Done,
                800,
                ["1 of 1 gone, read back", "已清 1/1 项，已回读"],
            )
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
                [
                    "1 ours removed; 2 foreign untouched",
                    "已清本演练 1 条；外来 2 条未动",
                ],
            )
            .wait(1_100)
            .recovery(
                StepId::Drain,
                StepState::Done,
                1_100,
                [
                    "order-0 weight 100 → 0; 7 serve",
                    "order-0 权重 100 → 0；其余 7 个在服务",
                ],
            )
            .wait(2_000)
            .recovery(
                StepId::Breakers,
                StepState::Failed,
                2_000,
                ["7 of 8; order-5 answered 403", "7/8 个正常；order-5 应答 403"],
            )
            .recovery(
                StepId::Flags,
                StepState::Done,
                600,
                [
                    "46 removed; 3 kept, older than the drill",
                    "已删 46 个；保留演练前已有的 3 个",
                ],
            )
            .recovery(
                StepId::Retry,
                StepState::Held,
                600,
                ["backlog 110,412", "积压 110,412"],
            )
            .say(Body::MayRemain(vec![Self::breaker_left()]))
            .recovery(
                StepId::Pools,
                StepState::Waiting,
                0,
                ["order-0 busy 38 → 22 FALLING", "order-0 占用 38 → 22 下降"],
            )
            .guards(22.0)
            .wait(21_000);
        s
    }

    /// Much goes wrong at once, and each step has much to say of it.
    pub fn in_trouble() -> Self {
        let mut s = Self::recovering();
        s.recovery(
            StepId::Drain,
            StepState::Nothing,
            1_100,
            [
                "not drained: order-1 would get 31 of 41 sessions (weight 30 of 40) and may have 30: the rest cannot carry the load",
                "未摘流：order-1 将分到 31/41 个会话（权重 30/40），上限 30：承载不了",
            ],
        )
        .recovery(
            StepId::Breakers,
            StepState::Failed,
            2_000,
            [
                "7 of 8 well; breaker coupon on order-5 (OPEN): POST http://order-5:8081/actuator/circuitbreakers/coupon: not permitted (HTTP 403); check the user, its rights and the secret",
                "7/8 个正常；order-5 的熔断器 coupon（OPEN）：无权限（HTTP 403）：POST http://order-5:8081/actuator/circuitbreakers/coupon；请检查用户、权限和密钥",
            ],
        )
        .recovery(
            StepId::Flags,
            StepState::Done,
            600,
            [
                "46 removed; 1 of them written again meanwhile; 3 kept, older than the drill",
                "已删 46 个；其中 1 个期间又被写入；保留演练前已有的 3 个",
            ],
        )
        .recovery(
            StepId::Pools,
            StepState::Waiting,
            0,
            [
                "order_threads_busy on order-0 38 → 22 FALLING -1.2/s (-1.5 to -0.9)",
                "order-0 的 order_threads_busy 占用 38 → 22 下降 -1.2/s（-1.5 至 -0.9）",
            ],
        )
        .say(Body::MayRemain(vec![
            Self::breaker_left(),
            Leftover {
                step: StepId::Flags,
                what: Said::new(
                    "flag degrade:order:b in Redis main, older than the drill",
                    "Redis main 中演练前已有的开关 degrade:order:b",
                ),
                why: Said::new(
                    "changed during the drill: its type is list now, and was string; no value is stored, set it as it was meant",
                    "演练期间被改：类型现为 list，原为 string；未保存原值，请按本意设回",
                ),
                by_hand: None,
                certainty: Certainty::Seen,
            },
        ]));
        s
    }

    /// Everything is put back but the breaker; it has to hold now.
    pub fn verifying() -> Self {
        let mut s = Self::recovering();
        s.recovery(
            StepId::Pools,
            StepState::Done,
            34_000,
            ["order-0 busy 2, idle", "order-0 占用 2，已空闲"],
        )
        .say(Body::Reached {
            milestone: Milestone::UsersOk,
            after: Span::seconds(41),
        })
        .wait(90_000)
        .recovery(
            StepId::Traffic,
            StepState::Done,
            90_000,
            [
                "10% 30% 100%, order-0 weight 100 again",
                "10% 30% 100%，order-0 权重回到 100",
            ],
        )
        .wait(552_000)
        .recovery(
            StepId::Release,
            StepState::Done,
            552_000,
            [
                "110,412 released at 199.8/s, lag 12",
                "已放行 110,412 条，199.8/s，剩余 12",
            ],
        )
        .phase(Phase::Verifying, Some(120))
        .recovery(
            StepId::Verify,
            StepState::Waiting,
            0,
            [
                "4 guards hold, 4 of 5 rows back, 12s of 30s",
                "4 项守护成立，4/5 行已恢复，12s/30s",
            ],
        )
        .guards(6.0)
        .wait(12_000);
        s
    }
}
