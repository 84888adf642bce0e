//! What happens in any of its chapters.

use allclear::{
    judge::Reason,
    model::{
        amount::Level,
        event::*,
        phase::Phase,
        recovery::*,
        said::Said,
        sample::{Gap, Numbers, Query, Reading, Window},
        sheet::{RowId, RowState, Verdict},
        time::{Moment, Span},
    },
};

use super::{Story, names::query};

fn both([en, zh]: [&str; 2]) -> Said {
    Said::new(en, zh)
}

impl Story {
    pub(super) fn phase(&mut self, phase: Phase, lasts: Option<u64>) -> &mut Self {
        let until = lasts.map(|s| Moment(self.now) + Span::seconds(s));
        self.say(Body::Phase { phase, until })
    }

    pub(super) fn check(
        &mut self,
        what: [&str; 2],
        outcome: CheckOutcome,
        found: [&str; 2],
        next: Option<[&str; 2]>,
    ) -> &mut Self {
        self.say(Body::Check(Check {
            what: both(what),
            outcome,
            found: both(found),
            next: next.map(both),
        }))
    }

    pub(super) fn guard(
        &mut self,
        index: usize,
        value: f64,
        room: f64,
        bad: u32,
        health: Health,
    ) -> &mut Self {
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

    pub(super) fn guards(&mut self, busy: f64) -> &mut Self {
        self.guard(0, 0.996, 0.006, 0, Health::Holds)
            .guard(1, 0.262, 0.538, 0, Health::Holds)
            .guard(2, 240.0, 62.0, 0, Health::Holds)
            .guard(3, busy, 40.0 - busy, 0, Health::Holds)
    }

    #[allow(clippy::too_many_arguments, reason = "a row has that many parts")]
    pub(super) fn row(
        &mut self,
        (step, row): (usize, usize),
        verdict: Verdict,
        before: Option<f64>,
        now: Option<f64>,
        ends: Option<(f64, f64)>,
        windows: usize,
        last: bool,
        reason: Said,
    ) -> &mut Self {
        self.say(Body::Row(RowState {
            row: RowId { step, row },
            verdict,
            reason,
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

    pub(super) fn rows(&mut self, last: bool) -> &mut Self {
        let n = if last { 31 } else { 22 };
        self.row(
            (0, 0),
            Verdict::AsExpected,
            Some(0.21),
            Some(2.31),
            Some((1.92, 2.24)),
            n,
            last,
            Reason::Inside.said(),
        )
        .row(
            (0, 1),
            Verdict::AsExpected,
            Some(0.0),
            Some(3.2),
            Some((2.9, 3.5)),
            n,
            last,
            Reason::MovedAsDeclared.said(),
        )
        .row(
            (0, 2),
            Verdict::Undecided,
            Some(0.24),
            Some(0.281),
            Some((0.1, 0.25)),
            n,
            last,
            Said::new("straddles 20.0% by 5.0%", "跨越界限 20.0%，超出 5.0%"),
        )
        .row(
            (0, 3),
            Verdict::Unexpected,
            Some(0.996),
            Some(0.984),
            Some((-0.014, -0.01)),
            n,
            last,
            Reason::Below.said(),
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

    pub(super) fn windows(&mut self, period: Period, index: usize, dip: f64) -> &mut Self {
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

    pub(super) fn recovery(
        &mut self,
        step: StepId,
        state: StepState,
        took: u64,
        detail: [&str; 2],
    ) -> &mut Self {
        self.say(Body::Recovery(StepReport {
            step,
            state,
            detail: both(detail),
            took: Span::millis(took),
        }))
    }

    pub(super) fn breaker_left() -> Leftover {
        Leftover {
            step: StepId::Breakers,
            what: Said::new("breaker coupon on order-5 (OPEN)", "order-5 的熔断器 coupon（OPEN）"),
            why: Said::new("the actuator answered 403", "actuator 应答 403"),
            by_hand: Some("curl -X POST http://order-5:8081/actuator/circuitbreakers/coupon -d '{\"updateState\":\"CLOSE\"}'".into()),
            certainty: Certainty::Seen,
        }
    }
}
