//! A run judged again says no more than the run itself.

use super::*;
use crate::{
    engine::sheet::testing::{doubles, rises},
    journal::story,
    model::{
        dashboard::{Agg, Read, Selector},
        event::Hits,
        ids::{InstanceName, MetricId},
        plan::Purpose,
        said::Said,
        sample::Query,
        testing::{environment, plan},
        undo::FaultIntent,
    },
};

fn metric() -> MetricId {
    MetricId::new("order_mean").unwrap()
}

fn id() -> RowId {
    RowId { step: 0, row: 0 }
}

/// A step under which a mean rises by at least a tenth.
fn planned() -> Plan {
    let read = Read::Gauge {
        selector: Selector {
            name: "order_mean".into(),
            matchers: Vec::new(),
        },
        agg: Agg::Avg,
    };
    plan(rises(&metric(), read), environment(&[]))
}

/// The record of a run in which the mean doubled and the fault was last read that many seconds after the start of its step of
/// thirty; with what it said of the row at last.
fn history(plan: &Plan, last_hits: u64, said: Option<(Verdict, &str)>) -> History {
    let mut bodies: Vec<(u64, Body)> = Vec::new();
    for (period, _, windows) in doubles() {
        let query = Query::new(&metric(), None);
        let body = |window| Body::Window {
            query: query.clone(),
            period,
            window,
        };
        bodies.extend(windows.into_iter().map(|window| (60, body(window))));
    }
    let name = plan.drill.steps[0].name.clone();
    let instance = InstanceName::new("order-0").unwrap();
    let fault = FaultId::new(&plan.run, &name, &instance, 0);
    let intent = FaultIntent {
        id: fault.clone(),
        step: name,
        instance,
        ..story::intent()
    };
    let hits = Hits {
        hits: 9,
        ..Hits::default()
    };
    bodies.push((60, Body::FaultIntended(intent)));
    bodies.push((60 + last_hits, Body::FaultHits { fault, hits }));
    bodies.push((90, Body::StepEnded { step: 0 }));
    let row = |(verdict, reason): (Verdict, &str)| RowState {
        row: id(),
        verdict,
        reason: reason.into(),
        before: None,
        now: None,
        low: None,
        high: None,
        windows: 30,
        last: true,
        age: Span::ZERO,
        partial: false,
    };
    bodies.extend(said.map(|said| (91, Body::Row(row(said)))));
    let event = |(seq, (second, body)): (u64, (u64, Body))| story::at(seq, second as i64, body);
    History {
        plan: plan.clone(),
        events: (1..).zip(bodies).map(event).collect(),
        damage: Vec::new(),
        left_out: 0,
    }
}

fn again(last_hits: u64, said: Option<(Verdict, &str)>) -> (Verdict, Said) {
    let plan = planned();
    let judged = rejudge(&plan, &history(&plan, last_hits, said)).unwrap();
    let row = judged.rows.into_iter().next().unwrap();
    (row.verdict, row.reason)
}

#[test]
fn what_the_windows_show_is_found_again() {
    let said = Some((Verdict::AsExpected, ""));
    assert_eq!(again(29, said).0, Verdict::AsExpected);
    let undecided = Some((Verdict::Undecided, "straddles 0.1 by 0.01"));
    assert_eq!(
        again(29, undecided).0,
        Verdict::AsExpected,
        "statistics are this version's"
    );
}

#[test]
fn a_row_that_a_late_fault_disturbed_stays_confounded_for_its_reason() {
    let why = "the fault of step b was gone too late";
    let (verdict, reason) = again(29, Some((Verdict::Confounded, why)));
    assert_eq!((verdict, reason.en()), (Verdict::Confounded, why));
}

#[test]
fn a_fault_that_the_run_did_not_see_to_the_end_is_not_seen_now_either() {
    for why in [
        "its hits are not known or all of them failed, or it was gone before its time",
        "its hits are not known, or it was gone before its time",
    ] {
        assert_eq!(again(29, Some((Verdict::Undecided, why))).0, Verdict::Undecided);
    }
}

#[test]
fn where_the_run_judged_nothing_a_fault_that_fell_silent_was_gone_before_its_time() {
    let lost = Some((
        Verdict::NoData,
        "the keeper was lost: judge it again from the samples",
    ));
    for said in [None, lost] {
        assert_eq!(again(24, said).0, Verdict::Undecided, "{said:?}");
        assert_eq!(again(25, said).0, Verdict::AsExpected, "{said:?}");
    }
    let judged = Some((Verdict::AsExpected, ""));
    assert_eq!(
        again(24, judged).0,
        Verdict::AsExpected,
        "the run saw its injector answer"
    );
}

#[test]
fn a_rehearsal_exercised_nothing() {
    let mut plan = planned();
    plan.purpose = Purpose::Rehearsal;
    let judged = rejudge(&plan, &history(&plan, 29, None)).unwrap();
    assert_eq!(judged.rows[0].verdict, Verdict::NotExercised);
}
