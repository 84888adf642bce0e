//! The fault, and the guard that ends it.

use allclear::model::{
    event::*,
    phase::Phase,
    sheet::Moved,
    snapshot::*,
    time::{Moment, Span},
    undo::{FaultIntent, UndoFault},
};

use super::{
    Story,
    names::{fault, instance, metric, query, step},
};

impl Story {
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
}
