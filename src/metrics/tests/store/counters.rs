//! Counters that reset, vanish, appear and come back.

use super::{each_5s, numbers, store, told, window};
use crate::{
    metrics::testing::{rate, round, series},
    model::sample::{Marks, Numbers},
};

#[test]
fn a_reset_counts_the_new_value_and_marks_its_window_alone() {
    let wanted = rate("r");
    let samples = each_5s(0, &[500.0, 510.0, 520.0, 4.0, 9.0, 14.0, 19.0]);
    let store = told(&wanted, 30_000, vec![series("a", "", &samples)]);
    let marks = |start| window(&store, &wanted, start).unwrap().marks;
    assert_eq!(numbers(&store, &wanted, 10_000), Ok(Numbers::Rate([9.0, 10.0])));
    assert_eq!(
        marks(10_000),
        Marks {
            resets: 1,
            partial: false
        }
    );
    assert_eq!(marks(0), Marks::default());
    assert_eq!(marks(20_000), Marks::default());
}

#[test]
fn the_restart_of_a_target_is_one_reset_however_many_series_it_has() {
    let wanted = rate("r");
    let samples = each_5s(0, &[50.0, 60.0, 5.0]);
    let of = |labels| series("a", labels, &samples);
    let store = told(&wanted, 10_000, vec![of("code=200"), of("code=500")]);
    assert_eq!(window(&store, &wanted, 0).unwrap().marks.resets, 1);
}

#[test]
fn a_vanished_series_does_not_make_the_sum_fall() {
    let wanted = rate("r");
    let mut store = told(
        &wanted,
        10_000,
        vec![
            series("a", "", &each_5s(0, &[0.0, 5.0, 10.0])),
            series("b", "", &each_5s(0, &[900.0, 905.0, 910.0])),
        ],
    );
    for i in 3..=8 {
        let sample = (5_000 * i, 5.0 * i as f64);
        store.add(round(sample.0, &[(&wanted, 0, vec![series("a", "", &[sample])])]));
    }
    assert_eq!(numbers(&store, &wanted, 0), Ok(Numbers::Rate([20.0, 10.0])));
    assert_eq!(numbers(&store, &wanted, 10_000), Ok(Numbers::Rate([10.0, 10.0])));
    assert_eq!(numbers(&store, &wanted, 20_000), Ok(Numbers::Rate([10.0, 10.0])));
}

#[test]
fn a_target_that_appears_counts_from_its_first_sample() {
    let wanted = rate("r");
    let mut store = told(
        &wanted,
        10_000,
        vec![series("a", "", &each_5s(0, &[0.0, 5.0, 10.0]))],
    );
    let newcomer = series("b", "", &each_5s(15_000, &[70_000.0, 70_001.0]));
    let old = series("a", "", &each_5s(15_000, &[15.0, 20.0]));
    store.add(round(20_000, &[(&wanted, 0, vec![old, newcomer])]));
    assert_eq!(numbers(&store, &wanted, 10_000), Ok(Numbers::Rate([11.0, 10.0])));
}

#[test]
fn a_new_label_set_of_a_live_target_counts_from_zero() {
    let wanted = rate("r");
    let mut store = told(
        &wanted,
        10_000,
        vec![series("a", "code=200", &each_5s(0, &[0.0, 5.0, 10.0]))],
    );
    let old = series("a", "code=200", &each_5s(15_000, &[15.0, 20.0]));
    let errors = series("a", "code=500", &each_5s(15_000, &[3.0, 4.0]));
    store.add(round(20_000, &[(&wanted, 0, vec![old, errors])]));
    assert_eq!(numbers(&store, &wanted, 10_000), Ok(Numbers::Rate([14.0, 10.0])));
}

#[test]
fn a_series_that_was_not_looked_at_is_not_taken_for_new() {
    let wanted = rate("r");
    let mut store = told(
        &wanted,
        10_000,
        vec![series("a", "code=200", &each_5s(0, &[0.0, 5.0, 10.0]))],
    );
    let mut late = round(
        20_000,
        &[(
            &wanted,
            0,
            vec![
                series("a", "code=200", &each_5s(15_000, &[15.0, 20.0])),
                series("a", "code=500", &each_5s(15_000, &[3_000.0, 3_001.0])),
            ],
        )],
    );
    late.raw[0].since = 14_000; // nothing is known of the time from 10 s to 14 s
    store.add(late);
    assert_eq!(numbers(&store, &wanted, 10_000), Ok(Numbers::Rate([11.0, 10.0])));
}

#[test]
fn a_series_that_comes_back_is_not_new() {
    let wanted = rate("r");
    let mut store = store(&wanted);
    let a = |i: i64| series("a", "x", &[(i * 5_000, i as f64)]);
    for i in 0..=200 {
        let mut all = vec![a(i)];
        if !(3..=198).contains(&i) {
            all.push(series("a", "y", &[(i * 5_000, 1_000.0 + i as f64)]));
        }
        store.add(round(i * 5_000, &[(&wanted, 0, all)]));
    }
    assert_eq!(numbers(&store, &wanted, 990_000), Ok(Numbers::Rate([3.0, 10.0])));
}
