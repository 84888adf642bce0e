//! How it ends.

use allclear::{
    judge::Reason,
    model::{
        event::*,
        exit::Exit,
        phase::{Cause, Phase},
        recovery::*,
        said::Said,
        sheet::{Hypothesis, Verdict},
        time::{Moment, Span},
    },
};

use super::{Story, names::fault};

impl Story {
    /// The breaker is still open at the end.
    pub fn closed_leftover() -> Self {
        let mut s = Self::verifying();
        s.wait(18_000)
            .recovery(
                StepId::Verify,
                StepState::Failed,
                30_000,
                [
                    "breaker coupon on order-5 still OPEN",
                    "order-5 的熔断器 coupon 仍 OPEN",
                ],
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
                    what: Said::new(
                        "order-0 order_threads_busy 46 > 40, 3 of 3",
                        "order-0 order_threads_busy 46 > 40，连续 3/3 次",
                    ),
                }),
                refused: false,
                exit: Exit::Remains,
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
                Reason::Inside.said(),
            )
            .row(
                (0, 1),
                Verdict::AsExpected,
                Some(0.0),
                Some(3.2),
                Some((2.9, 3.5)),
                n,
                true,
                Reason::MovedAsDeclared.said(),
            )
            .row(
                (0, 2),
                Verdict::AsExpected,
                Some(0.24),
                Some(0.251),
                Some((0.02, 0.08)),
                n,
                true,
                Reason::Inside.said(),
            )
            .row(
                (0, 3),
                Verdict::AsExpected,
                Some(0.996),
                Some(0.9958),
                Some((-0.001, 0.001)),
                n,
                true,
                Reason::Inside.said(),
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
            Reason::Inside.said(),
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
            ["1 of 1 gone already, read back", "1/1 项早已清除，已回读"],
        );
        for step in &StepId::ALL[1..9] {
            s.recovery(
                *step,
                StepState::Nothing,
                100,
                ["as in the snapshot", "与快照一致"],
            );
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
            ["4 guards, 5 rows, held for 30s", "4 项守护、5 行，已保持 30s"],
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
            exit: Exit::Held,
        }))
        .wait(1_000);
        s
    }
}
