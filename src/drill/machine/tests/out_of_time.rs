//! The end of a recovery that has run out of time.

use super::*;

fn out_of_time(cause: Input, missing: Vec<Missing>, repaired: bool) -> Outcome {
    let mut m = running();
    m.step(cause, at(65));
    m.step(Input::RowsFinal(vec![Verdict::NoData]), at(65));
    to_verifying(&mut m, 66);
    let bad = Input::Settling {
        missing: vec![Missing::outside("order_p99 high".into())],
        users_ok: false,
    };
    m.step(bad, at(70));
    let users_ok = missing.is_empty();
    let effects = m.step(Input::Settling { missing, users_ok }, at(126));
    assert!(effects.contains(&Effect::ReadEverything), "{effects:?}");
    let read = Input::FinalRead {
        found: vec![],
        repaired,
    };
    closed(&m.step(read, at(126))).cloned().expect("over")
}

#[test]
fn out_of_time_the_run_says_what_remains_and_exits_4() {
    let missing = vec![Missing::outside("order_p99 high".into())];
    let outcome = out_of_time(guard(Health::Broken), missing, false);
    assert_eq!(
        (outcome.recovered, outcome.exit),
        (Recovered::Leftover, Exit::Remains)
    );
    assert_eq!(outcome.hypothesis, Some(Hypothesis::Falsified));
}

#[test]
fn what_cannot_be_read_to_the_end_is_unknown_and_never_recovered() {
    let missing = vec![Missing::unread("order_p99: no server".into())];
    let outcome = out_of_time(guard(Health::BlindTooLong), missing, false);
    assert_eq!(
        (outcome.recovered, outcome.exit),
        (Recovered::Unknown, Exit::Remains)
    );
}

#[test]
fn what_came_back_at_the_last_moment_has_not_held_and_is_not_all_clear() {
    let outcome = out_of_time(asked(), vec![], false);
    assert_eq!(
        (outcome.recovered, outcome.exit),
        (Recovered::Leftover, Exit::Remains)
    );
}

#[test]
fn what_the_last_read_had_to_put_back_again_out_of_time_is_not_all_clear() {
    let mut m = running();
    m.step(asked(), at(65));
    m.step(Input::RowsFinal(vec![Verdict::AsExpected]), at(65));
    to_verifying(&mut m, 66);
    let well = Input::Settling {
        missing: vec![],
        users_ok: true,
    };
    m.step(well.clone(), at(70));
    assert!(m.step(well.clone(), at(126)).contains(&Effect::ReadEverything));
    let read = Input::FinalRead {
        found: vec![],
        repaired: true,
    };
    let outcome = closed(&m.step(read, at(126))).cloned().expect("over");
    assert_eq!(
        (outcome.recovered, outcome.exit),
        (Recovered::Leftover, Exit::Remains)
    );
}

#[test]
fn what_is_missing_at_the_end_is_told_with_its_command() {
    let mut m = running();
    m.step(guard(Health::Broken), at(65));
    m.step(Input::RowsFinal(vec![Verdict::NoData]), at(65));
    to_verifying(&mut m, 66);
    let missing = vec![Missing::outside("pool busy".into()).or_by_hand(Some("restart it".into()))];
    m.step(
        Input::Settling {
            missing,
            users_ok: false,
        },
        at(126),
    );
    let read = Input::FinalRead {
        found: vec![],
        repaired: false,
    };
    let effects = m.step(read, at(126));
    let told = effects.iter().find_map(|e| match e {
        Effect::Emit(Body::MayRemain(left)) => left.first(),
        _ => None,
    });
    assert_eq!(told.and_then(|l| l.by_hand.as_deref()), Some("restart it"));
}
