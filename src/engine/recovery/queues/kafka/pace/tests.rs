//! A release against the model of brokers and consumers.

use super::{HIGHEST, Pace, Weight, broker::Stand};

/// Consumers that fetch so many seconds' worth at a time, in so many batches, and a part of it in vain.
fn fetching(seconds: f64, batches: f64, waste: f64, stand: Stand) -> Stand {
    let payers = if stand.own_ids { stand.consumers } else { 1 };
    let flows = (payers * stand.brokers).min(stand.partitions) as f64;
    let batch = (stand.rate * seconds / flows / batches).max(1.0) as u32;
    let bytes = f64::from(batch) * stand.message * batches.floor() * waste.min(1.0 + 0.99 / batches);
    Stand {
        batch,
        fetch: [bytes, bytes],
        thought: stand.message,
        seconds: 150,
        ..stand
    }
}

fn grid(seconds: f64) -> Vec<Stand> {
    let groups = [
        (1, 1, false),
        (3, 1, false),
        (8, 1, true),
        (2, 2, false),
        (4, 3, true),
    ];
    let habits = [(5000, 1.02), (1000, 1.5), (0, 1.2)];
    let mut all = Vec::new();
    for (rate, message) in [
        (20.0, 100_000.0),
        (200.0, 220.0),
        (200.0, 5000.0),
        (2000.0, 100.0),
    ] {
        for (consumers, brokers, own_ids) in groups {
            for (commit, waste) in habits {
                for batches in [1.0, 4.0] {
                    let stand = Stand {
                        rate,
                        message,
                        partitions: consumers * 3,
                        brokers,
                        consumers,
                        own_ids,
                        commit,
                        ..Stand::default()
                    };
                    all.push(fetching(seconds, batches, waste, stand));
                }
            }
        }
    }
    all
}

/// How far the worst minute strays from the rate that was asked for, and where.
fn worst(stands: Vec<Stand>, from: usize) -> (f64, Stand) {
    let stray = |stand: Stand| {
        let (least, most) = stand.run().minutes(from);
        ((1.0 - least).max(most - 1.0), stand)
    };
    let all = stands.into_iter().map(stray);
    all.max_by(|a, b| a.0.total_cmp(&b.0)).expect("a grid")
}

/// At which second how many messages had come in all.
type Course<'a> = &'a [(usize, f64)];

/// What a real broker of Kafka 4.4 did under a fixed quota of 44,000 bytes a second, with messages of 200 bytes (211 as they are
/// fetched, 78 a batch), 3 partitions and one console consumer: when how many messages had come, in all.
#[test]
fn the_model_does_what_a_real_broker_did() {
    let wide = [1_048_576.0, 52_428_800.0];
    let seen: [([f64; 2], Course<'_>); 3] = [
        (
            wide,
            &[
                (1, 2027.0),
                (19, 2027.0),
                (21, 4054.0),
                (39, 4054.0),
                (41, 6082.0),
            ],
        ),
        (
            [220e3, 220e3],
            &[
                (1, 2028.0),
                (14, 2028.0),
                (16, 4054.0),
                (29, 4054.0),
                (31, 6082.0),
                (46, 8110.0),
            ],
        ),
        (
            [20e3, 40e3],
            &[
                (1, 1812.0),
                (11, 1812.0),
                (14, 3840.0),
                (23, 3840.0),
                (26, 5712.0),
                (35, 5712.0),
                (39, 7740.0),
            ],
        ),
    ];
    for (fetch, seen) in seen {
        let stand = Stand {
            message: 211.0,
            batch: 78,
            muted: 0,
            seconds: 50,
            fixed: Some(44_000.0),
            fetch,
            ..Stand::default()
        };
        let ran = stand.run();
        for (second, messages) in seen {
            let modelled = ran.moved[*second];
            assert!(
                (modelled / messages - 1.0).abs() < 0.06,
                "{fetch:?} at {second} s: {modelled}, not {messages}"
            );
        }
    }
}

#[test]
fn any_minute_and_the_first_is_within_ten_percent_where_fetches_are_small() {
    for seconds in [0.5, 1.5] {
        let (stray, stand) = worst(grid(seconds), 0);
        assert!(stray <= 0.1001, "{stray}: {stand:?}");
    }
}

#[test]
fn fetches_of_three_seconds_may_stray_by_one_fetch_more() {
    let (stray, stand) = worst(grid(3.0), 0);
    assert!(stray <= 0.16, "{stray}: {stand:?}");
}

#[test]
fn consumers_that_fetch_all_they_get_move_in_bursts_and_the_sum_is_right() {
    for commit in [5000, 1000, 0] {
        let ran = Stand {
            commit,
            ..Stand::default()
        }
        .run();
        assert!(
            (0.9..=1.1).contains(&ran.whole()),
            "{} with {commit}",
            ran.whole()
        );
        let (least, most) = ran.minutes(0);
        assert!(least >= 0.6 && most <= 1.45, "{least} to {most} with {commit}");
    }
}

#[test]
fn messages_of_another_weight_than_those_that_were_seen_are_found_out() {
    for times in [0.7, 1.4] {
        let stand = fetching(0.5, 1.0, 1.1, Stand::default());
        let thought = stand.message * times;
        let ran = Stand { thought, ..stand }.run();
        let (least, most) = ran.minutes(30);
        assert!(least >= 0.9 && most <= 1.1, "{least} to {most} at {times}");
    }
    for really in [100.0, 8000.0] {
        let stand = Stand {
            message: really,
            batch: 8,
            ..Stand::default()
        };
        let stand = Stand {
            thought: 1000.0,
            seconds: 600,
            ..fetching(0.5, 1.0, 1.1, stand)
        };
        let ran = stand.run();
        let (least, most) = ran.minutes(400);
        assert!(
            least >= 0.85 && most <= 1.15,
            "{least} to {most} of {really} bytes"
        );
    }
}

#[test]
fn consumers_that_were_down_are_not_let_loose_when_they_come_back() {
    for commit in [5000, 1000, 0] {
        let stand = fetching(0.5, 1.0, 1.1, Stand::default());
        let down = Stand {
            down: [60, 150],
            seconds: 240,
            commit,
            ..stand
        };
        let down = down.run();
        let came = (down.moved[160] - down.moved[150]) / down.rate;
        assert!(came <= 11.0, "{came} s in the first 10 s with {commit}");
        let (_, most) = down.minutes(0);
        assert!(most <= 1.12, "{most} with {commit}");
    }
}

#[test]
fn leaders_that_move_to_one_broker_and_back_keep_the_rate() {
    let two = Stand {
        brokers: 2,
        consumers: 2,
        partitions: 6,
        ..Stand::default()
    };
    for commit in [5000, 1000, 0] {
        let moves = Stand {
            alone: [40, 100],
            seconds: 180,
            commit,
            ..fetching(0.5, 1.0, 1.1, two)
        };
        let (least, most) = moves.run().minutes(0);
        assert!(least >= 0.8 && most <= 1.12, "{least} to {most} with {commit}");
    }
}

#[test]
fn a_batch_larger_than_the_rate_comes_whole_and_in_its_time() {
    let stand = Stand {
        rate: 2.0,
        batch: 74,
        seconds: 600,
        ..Stand::default()
    };
    let ran = stand.run();
    assert!((0.8..=1.25).contains(&ran.whole()), "{}", ran.whole());
}

#[test]
fn a_steady_release_changes_the_quota_seldom() {
    let ran = fetching(0.5, 1.0, 1.1, Stand::default()).run();
    assert!(ran.changes < 150, "{} in four minutes", ran.changes);
}

#[test]
fn an_hour_without_progress_raises_no_quota() {
    let (rate, message) = (200.0, 220.0);
    let weight = Weight {
        message,
        batch: 20_000.0,
    };
    let mut pace = Pace::new(rate, weight, 1);
    let hour: Vec<f64> = (0..3600)
        .map(|second| pace.quota(f64::from(second), &[0]))
        .collect();
    let most = hour.iter().copied().fold(0.0, f64::max);
    assert!(most <= HIGHEST * rate * message, "{most}");
    assert!(hour[3599] < rate * message, "{}", hour[3599]);
}
