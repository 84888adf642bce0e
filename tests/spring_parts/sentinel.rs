//! Sentinel's rules: whole lists, saved, put back, compared.

use allclear::{
    drivers::Patience,
    engine::recovery::{breakers_open, left_behind},
    model::{playbook::SentinelRules, recovery::StepState, time::Span},
};
use serde_json::{Value, json};

use crate::{
    app::{Lent, sentinel, type_by_hand},
    parts_support::Staged,
    stage::{PATIENCE, checks, plan, refused},
};

const SHORT: Patience = Patience {
    step: Span::seconds(2),
    ..PATIENCE
};

fn entry() -> Value {
    json!({"sentinel": {"api": "http://{instance}", "callers": "order", "rules": ["degrade", "flow"]}})
}

async fn ready(app: &Lent, patience: Patience) -> Staged {
    // The app's own rules, whatever another test has left there.
    for number in [0, 1] {
        set(app, number, "degrade", &[errors("coupon", 3), errors("stock", 5)]).await;
        set(
            app,
            number,
            "flow",
            &[json!({"resource": "order", "grade": 1, "count": 200 + number})],
        )
        .await;
    }
    Staged::new(plan(&[app.address(0), app.address(1)], entry()), patience)
        .ready()
        .await
}

fn errors(resource: &str, count: u32) -> Value {
    json!({"resource": resource, "grade": 2, "count": count, "timeWindow": 5, "minRequestAmount": 3})
}

async fn set(app: &Lent, number: usize, which: &str, rules: &[Value]) {
    let url = format!("http://{}/setRules", app.address(number));
    // It is decoded twice.
    let data = Value::from(rules)
        .to_string()
        .replace('%', "%25")
        .replace('+', "%2B");
    let answer = reqwest::Client::new()
        .post(url)
        .form(&[("type", which), ("data", &data)])
        .send()
        .await;
    let text = answer.expect("an answer").text().await.expect("a text");
    assert_eq!(text, "success");
}

async fn rules(app: &Lent, number: usize, which: &str) -> Value {
    let (_, text) = app.get(number, &format!("/getRules?type={which}")).await;
    serde_json::from_str(&text).expect("JSON")
}

async fn all_rules(app: &Lent) -> Vec<Value> {
    let mut all = Vec::new();
    for number in [0, 1] {
        for which in ["degrade", "flow"] {
            all.push(rules(app, number, which).await);
        }
    }
    all
}

#[tokio::test]
async fn lists_are_kept_once_for_all_instances_that_have_the_same() {
    let app = sentinel().await;
    let stage = ready(&app, SHORT).await;
    let kept: Vec<(SentinelRules, usize, usize)> = stage
        .scene
        .snapshot
        .rules
        .iter()
        .map(|seen| (seen.rules, seen.instances.len(), seen.list.len()))
        .collect();
    use SentinelRules::{Degrade, Flow};
    assert_eq!(kept, [(Degrade, 2, 2), (Flow, 1, 1), (Flow, 1, 1)]);
}

#[tokio::test]
async fn a_changed_emptied_or_grown_list_is_put_back_whole_and_one_that_is_as_before_is_not_touched() {
    let app = sentinel().await;
    let stage = ready(&app, SHORT).await;
    let before = all_rules(&app).await;
    let untouched = stage.recover().await;
    assert_eq!(
        (untouched.opened.state, untouched.left.len()),
        (StepState::Nothing, 0)
    );
    assert!(stage.intents().is_empty());

    set(&app, 0, "degrade", &[errors("coupon", 1)]).await;
    set(&app, 0, "flow", &[]).await;
    set(
        &app,
        1,
        "degrade",
        &[errors("stock", 5), errors("coupon", 3), errors("order", 9)],
    )
    .await;
    assert_eq!(left_behind(&stage.scene).await.len(), 3);
    let ended = stage.recover().await;
    assert_eq!(ended.opened.detail.en(), "3 of 4 lists of rules put back");
    assert!(ended.left.is_empty(), "{:?}", ended.left);
    assert_eq!(stage.intents().len(), 3);
    assert_eq!(all_rules(&app).await, before);
}

#[tokio::test]
async fn rules_with_odd_names_come_back_as_they_were_by_the_step_and_by_hand() {
    let app = sentinel().await;
    let odd = json!({"resource": "GET:/it's \"odd\"?a=1+1&b=100%25 \u{4f60}", "grade": 1, "count": 0.1});
    set(&app, 0, "flow", std::slice::from_ref(&odd)).await;
    let stage = Staged::new(plan(&[app.address(0)], entry()), SHORT).ready().await;
    let before = rules(&app, 0, "flow").await;
    assert_eq!(before[0]["resource"], odd["resource"]);
    set(&app, 0, "flow", &[]).await;
    assert!(stage.recover().await.left.is_empty());
    assert_eq!(rules(&app, 0, "flow").await, before);

    set(&app, 0, "flow", &[]).await;
    let left = left_behind(&stage.scene).await;
    assert_eq!(left.len(), 1);
    type_by_hand(left[0].by_hand.as_deref().expect("a command")).await;
    assert_eq!(rules(&app, 0, "flow").await, before);
    assert!(left_behind(&stage.scene).await.is_empty());
}

#[tokio::test]
async fn an_app_that_is_down_stopped_or_no_sentinel_is_never_called_well() {
    let app = sentinel().await;
    let stage = ready(&app, SHORT).await;
    set(&app, 1, "degrade", &[]).await;
    let stopped = app.stopped(0);
    let ended = stage.recover().await;
    let what: Vec<&str> = ended.left.iter().map(|l| l.what.en()).collect();
    assert_eq!(what, ["degrade rules on order-0", "flow rules on order-0"]);
    assert_eq!(rules(&app, 1, "degrade").await.as_array().map(Vec::len), Some(2));
    drop(stopped);
    assert!(left_behind(&stage.scene).await.is_empty());

    app.down(0).await;
    let ended = stage.recover().await;
    assert_eq!((ended.opened.state, ended.left.len()), (StepState::Failed, 2));
    let refusals = checks(plan(&[app.address(0)], entry())).await;
    assert_eq!(refused(&refusals).len(), 2, "{refusals:?}");

    let mut elsewhere = entry();
    elsewhere["sentinel"]["api"] = "http://{instance}/nothing".into();
    let refusals = checks(plan(&[app.address(1)], elsewhere)).await;
    assert_eq!(refused(&refusals).len(), 2, "{refusals:?}");
}

#[tokio::test]
async fn an_app_that_restarts_in_mid_step_gets_its_rules_of_before_the_drill() {
    let app = sentinel().await;
    let patient = Patience {
        step: Span::seconds(60),
        ..PATIENCE
    };
    set(&app, 0, "degrade", &[errors("only-here", 7)]).await;
    let stage = Staged::new(plan(&[app.address(0)], entry()), patient)
        .ready()
        .await;
    let before = rules(&app, 0, "degrade").await;
    app.down(0).await;
    let (end, ()) = tokio::join!(breakers_open(&stage.scene), app.up(0));
    assert_eq!(end.state, StepState::Done, "{}", end.detail.en());
    assert_eq!(rules(&app, 0, "degrade").await, before);
    assert!(left_behind(&stage.scene).await.is_empty());
}
