//! The judge against numbers that an independent implementation of docs/judge.md has computed: every number of every case.

use allclear::judge::{
    Case, Judgement, Verdict, change, moved, movers, parse_case, smallest_detectable, steadiness, too_thin,
    verdict,
};
use serde_json::Value;

fn document() -> Value {
    serde_json::from_str(include_str!("judge/vectors.json")).expect("the vectors are JSON")
}

fn vectors() -> Vec<(Case, Value)> {
    let document = document();
    let cases = document["cases"].as_array().expect("a list of cases");
    assert_eq!(cases.len(), 74);
    let read = |case: &Value| {
        let parsed =
            parse_case(&case.to_string()).unwrap_or_else(|error| panic!("{}: {error}", case["name"]));
        (parsed, case["want"].clone())
    };
    cases.iter().map(read).collect()
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) if text == "inf" => Some(f64::INFINITY),
        Value::String(text) if text == "-inf" => Some(f64::NEG_INFINITY),
        Value::Null => None,
        other => panic!("{other} is no number"),
    }
}

fn agree(case: &Case, what: &str, got: Option<f64>, want: &Value) {
    let want = number(want);
    let close = match (got, want) {
        (None, None) => true,
        (Some(got), Some(want)) => got == want || (got - want).abs() <= 1e-9_f64.max(1e-6 * want.abs()),
        _ => false,
    };
    assert!(close, "{:?}: {what} is {got:?}, wanted {want:?}", case.name);
}

#[test]
fn every_verdict_and_every_number_of_it_is_reproduced() {
    for (case, want) in vectors() {
        let got: Judgement = verdict(&case);
        assert_eq!(got.verdict.to_string(), want["verdict"], "{:?}", case.name);
        assert_eq!(got.reason.to_string(), want["reason"], "{:?}", case.name);
        let numbers = [
            ("estimate", got.estimate),
            ("base", got.base),
            ("level", got.level),
            ("lo", got.lo),
            ("hi", got.hi),
        ];
        for (key, number) in numbers {
            agree(&case, key, number, &want[key]);
        }
    }
}

#[test]
fn every_interval_is_reproduced() {
    for (case, want) in vectors() {
        match change(&case.periods) {
            Err(reason) => {
                assert_eq!(want["verdict"], "NO DATA", "{:?}: {reason}", case.name);
                assert_eq!(want["reason"], reason.to_string());
            }
            Ok(change) => {
                let rel = change.rel;
                assert_eq!(rel.is_none(), want["rel"].is_null(), "{:?}", case.name);
                agree(&case, "abs lo", Some(change.abs.lo), &want["abs"][0]);
                agree(&case, "abs hi", Some(change.abs.hi), &want["abs"][1]);
                agree(&case, "rel lo", rel.map(|rel| rel.lo), &want["rel"][0]);
                agree(&case, "rel hi", rel.map(|rel| rel.hi), &want["rel"][1]);
                agree(&case, "level lo", Some(change.level_ci.lo), &want["level_ci"][0]);
                agree(&case, "level hi", Some(change.level_ci.hi), &want["level_ci"][1]);
            }
        }
    }
}

#[test]
fn what_is_said_before_the_start_is_reproduced() {
    for (case, want) in vectors() {
        let baseline = case.periods.baseline();
        let steady = steadiness(baseline);
        agree(
            &case,
            "odds",
            steady.map(|steady| steady.bayes_factor),
            &want["steady"][0],
        );
        agree(
            &case,
            "size",
            steady.map(|steady| steady.size),
            &want["steady"][1],
        );
        let sdc = smallest_detectable(baseline, case.periods.injection().len(), case.periods.settle);
        agree(&case, "sdc", sdc, &want["sdc"]);
        if let Some(reason) = too_thin(baseline) {
            assert_eq!(want["reason"], reason.to_string(), "{:?}", case.name);
        }
    }
}

#[test]
fn every_mover_is_reproduced() {
    let vectors = vectors();
    let document = document();
    let ids = |key: &str| -> Vec<u64> {
        let list = document["movers"][key].as_array().expect("a list of ids");
        list.iter().map(|id| id.as_u64().expect("an id")).collect()
    };
    for (case, want) in &vectors {
        let got = moved(&case.periods);
        agree(case, "p", got.map(|moved| moved.p), &want["mover"]["p"]);
        assert_eq!(
            got.map(|moved| moved.is_large),
            want["mover"]["big"].as_bool(),
            "{:?}",
            case.name
        );
    }
    let pool = ids("ids");
    let cases: Vec<Case> = pool.iter().map(|id| vectors[*id as usize].0.clone()).collect();
    let listed: Vec<u64> = movers(&cases).into_iter().map(|k| pool[k]).collect();
    assert_eq!(listed, ids("listed"));
}

#[test]
fn the_output_line_has_the_form_that_scripts_read() {
    let find = |verdict_wanted: Verdict| {
        let found = vectors()
            .into_iter()
            .find(|(case, _)| verdict(case).verdict == verdict_wanted);
        let (case, _) = found.expect("there is such a vector");
        verdict(&case).to_json(case.id.as_ref())
    };
    let keys = |line: &Value| {
        line.as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    let line = find(Verdict::AsExpected);
    assert_eq!(
        keys(&line),
        ["id", "estimate", "base", "level", "lo", "hi", "verdict", "reason"]
    );
    assert_eq!(keys(&find(Verdict::NoData)), ["id", "verdict", "reason"]);
    let into_infinity = vectors()
        .into_iter()
        .find(|(_, want)| want["level"] == "inf")
        .expect("a quantile in +Inf");
    let line = verdict(&into_infinity.0).to_json(into_infinity.0.id.as_ref());
    assert_eq!(
        (&line["level"], &line["hi"], &line["estimate"]),
        (&"inf".into(), &"inf".into(), &Value::Null)
    );
}
