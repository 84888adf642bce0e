//! The user's own steps: programs, and requests to a service that really keeps what it is sent.

use std::{collections::BTreeMap, sync::atomic::AtomicU64};

use axum::{Router, body::Bytes, extract::State, http::StatusCode, routing::get};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::{
    stand::{Mood, Stand, nobody},
    *,
};
use crate::model::{
    environment::SecretRef,
    ids::CommandName,
    playbook::{Command, How, HttpCheck, Method},
    secret::SecretText,
};

fn command(run: &str, check: Option<&str>) -> Command {
    let sh = |script: &str| ["sh", "-c", script].map(str::to_owned).to_vec();
    Command {
        name: CommandName::new("warm-cache").unwrap(),
        after: StepId::Pools,
        how: How::Run {
            run: sh(run),
            check: check.map(sh),
        },
        timeout: Span::seconds(5),
    }
}

#[tokio::test]
async fn a_command_is_done_when_its_check_passes_and_not_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = plan(environment(&[]), nothing_to_do());
    plan.drill_folder = folder.path().to_string_lossy().into_owned();
    let mut stage = staged(plan, |_| {}, Secrets::none(), SHORT);
    let warm = command("touch warm", Some("test -e warm"));
    assert_eq!(
        super::super::command(&stage.scene, &warm).await.state,
        StepState::Done
    );
    assert_eq!(
        super::super::command(&stage.scene, &warm).await.state,
        StepState::Nothing
    );
    assert_eq!(stage.intents().len(), 1);
}

#[tokio::test]
async fn a_command_that_fails_or_proves_nothing_is_a_leftover() {
    let stage = stage(environment(&[]), nothing_to_do());
    let end = super::super::command(&stage.scene, &command("echo no cache; exit 7", None)).await;
    assert_eq!(
        (end.state, end.detail.en()),
        (StepState::Failed, "warm-cache: exit code 7: no cache")
    );
    assert_eq!(
        end.leftovers[0].by_hand.as_deref(),
        Some("cd / && sh -c 'echo no cache; exit 7'")
    );
    let end = super::super::command(&stage.scene, &command("true", Some("false"))).await;
    assert_eq!(end.state, StepState::Failed);
    assert!(end.detail.en().contains("its check fails"), "{}", end.detail.en());
}

/// A switch that holds what was put, and counts what it was asked.
#[derive(Clone, Default)]
struct Switch {
    held: Arc<Mutex<Vec<u8>>>,
    changes: Arc<AtomicU64>,
}

impl Switch {
    async fn start(&self) -> Stand {
        let read = async |State(s): State<Switch>| match s.held.lock().await.as_slice() {
            [] => Err(StatusCode::NOT_FOUND),
            held => Ok(held.to_vec()),
        };
        let write = async |State(s): State<Switch>, body: Bytes| {
            s.changes.fetch_add(1, Relaxed);
            *s.held.lock().await = body.to_vec();
        };
        let remove = async |State(s): State<Switch>| {
            s.changes.fetch_add(1, Relaxed);
            s.held.lock().await.clear();
        };
        let methods = get(read).put(write).post(write).delete(remove);
        Stand::start(Router::new().route("/switch", methods).with_state(self.clone())).await
    }
}

fn request(method: Method, body: Option<Value>, check: Option<(u16, Value)>) -> Command {
    let json = |v: Value| serde_json::from_value::<BTreeMap<String, Value>>(v).unwrap();
    Command {
        name: CommandName::new("switch").unwrap(),
        after: StepId::Drain,
        how: How::Http {
            method,
            url: "http://{instance}/switch".into(),
            body,
            check: check.map(|(status, wanted)| HttpCheck {
                url: "http://{instance}/switch".into(),
                status,
                json: json(wanted),
            }),
        },
        timeout: Span::millis(700),
    }
}

fn enabled() -> Command {
    let body = json!({"enabled": true, "by": "{run}", "at": "{target}"});
    let check = json!({"/enabled": true, "/at": "{target}"});
    request(Method::Put, Some(body), Some((200, check)))
}

fn at(address: &str) -> Environment {
    environment(&[("order", "order-0", address)])
}

#[tokio::test]
async fn a_request_is_sent_proved_and_not_sent_again() {
    let switch = Switch::default();
    let stand = switch.start().await;
    let stage = stage(at(&stand.address), nothing_to_do());
    let end = super::super::command(&stage.scene, &enabled()).await;
    assert_eq!(end.state, StepState::Done, "{}", end.detail.en());
    assert!(
        end.detail.en().starts_with("switch on order-0: checked"),
        "{}",
        end.detail.en()
    );
    let held: Value = serde_json::from_slice(&switch.held.lock().await).unwrap();
    assert_eq!(held, json!({"enabled": true, "by": "7f3a", "at": "order-0"}));
    let end = super::super::command(&stage.scene, &enabled()).await;
    assert_eq!((end.state, switch.changes.load(Relaxed)), (StepState::Nothing, 1));
    // A check may ask for another status: what was there is gone.
    let gone = request(Method::Delete, None, Some((404, json!({}))));
    assert_eq!(
        super::super::command(&stage.scene, &gone).await.state,
        StepState::Done
    );
    assert_eq!(
        super::super::command(&stage.scene, &gone).await.state,
        StepState::Nothing
    );
    // A text is sent as it is.
    let text = request(Method::Post, Some(json!("weight={target}")), None);
    let end = super::super::command(&stage.scene, &text).await;
    assert!(
        end.detail.en().contains("HTTP 200, no check given"),
        "{}",
        end.detail.en()
    );
    assert_eq!(switch.held.lock().await.as_slice(), b"weight=order-0");
}

#[tokio::test]
async fn a_request_whose_check_fails_is_a_leftover_whose_command_works_by_hand() {
    let switch = Switch::default();
    let stand = switch.start().await;
    for mood in [Mood::Slow, Mood::Refuses, Mood::Broken, Mood::Garbage] {
        stand.turn(mood);
        let stage = stage(at(&stand.address), nothing_to_do());
        let end = super::super::command(&stage.scene, &enabled()).await;
        assert_eq!(end.state, StepState::Failed, "{mood:?}: {}", end.detail.en());
        assert_eq!(end.leftovers[0].certainty, Certainty::Unknown);
        assert!(
            !end.detail.en().chars().any(char::is_control),
            "{:?}",
            end.detail.en()
        );
        stand.turn(Mood::Well);
        type_by_hand(end.leftovers[0].by_hand.as_deref().unwrap()).await;
        let end = super::super::command(&stage.scene, &enabled()).await;
        assert_eq!(end.state, StepState::Nothing, "{mood:?}: {}", end.detail.en());
        switch.held.lock().await.clear();
    }
    let stage = stage(at(&nobody().await), nothing_to_do());
    let end = super::super::command(&stage.scene, &enabled()).await;
    assert_eq!(
        (end.state, end.leftovers.len()),
        (StepState::Failed, 1),
        "{}",
        end.detail.en()
    );
}

#[tokio::test]
async fn a_post_that_may_have_been_done_is_not_done_twice_and_a_put_is() {
    for (method, least, most) in [(Method::Post, 1, 1), (Method::Put, 2, u64::MAX)] {
        let count = Arc::new(AtomicU64::new(0));
        let counted = count.clone();
        let fails = axum::routing::any(move || {
            counted.fetch_add(1, Relaxed);
            async { StatusCode::BAD_GATEWAY }
        });
        let stand = Stand::start(Router::new().route("/switch", fails)).await;
        let stage = stage(at(&stand.address), nothing_to_do());
        let end = super::super::command(&stage.scene, &request(method, None, None)).await;
        assert_eq!(end.state, StepState::Failed);
        let count = count.load(Relaxed);
        assert!(
            (least..=most).contains(&count),
            "{method:?} was sent {count} times"
        );
    }
}

#[tokio::test]
async fn a_secret_is_neither_told_nor_in_the_command_by_hand() {
    let mut secrets = Secrets::none();
    secrets.insert(SecretRef::Env("T".into()), SecretText::new("hunter22"));
    let stage = stage_with(environment(&[]), nothing_to_do(), |_| {}, secrets, SHORT);
    let end = super::super::command(&stage.scene, &command("echo hunter22; exit 1", None)).await;
    assert_eq!(end.state, StepState::Failed);
    assert!(!format!("{end:?}").contains("hunter22"), "{end:?}");
    assert_eq!(end.detail.en(), "warm-cache: exit code 1: •••");
}

#[tokio::test]
async fn an_answer_that_echoes_a_secret_is_shown_without_it() {
    let mut secrets = Secrets::none();
    secrets.insert(SecretRef::Env("T".into()), SecretText::new("hunter22"));
    let echoes = axum::routing::any(async || (StatusCode::BAD_REQUEST, "bad key hunter22"));
    let stand = Stand::start(Router::new().route("/switch", echoes)).await;
    let stage = stage_with(at(&stand.address), nothing_to_do(), |_| {}, secrets, SHORT);
    let sent = request(Method::Post, Some(json!({"key": "hunter22"})), None);
    let end = super::super::command(&stage.scene, &sent).await;
    assert_eq!(end.state, StepState::Failed);
    assert!(end.detail.en().contains("bad key •••"), "{}", end.detail.en());
    assert!(!format!("{end:?}").contains("hunter22"), "{end:?}");
}

#[tokio::test]
async fn a_program_with_a_place_for_an_instance_runs_for_each_target() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [("order", "order-0", "h0:1"), ("order", "order-1", "h1:2")];
    let mut plan = plan(environment(&rows), nothing_to_do());
    plan.drill_folder = folder.path().to_string_lossy().into_owned();
    let stage = staged(plan, |_| {}, Secrets::none(), SHORT);
    let touch = command(
        "echo {instance} > {target}-{host}",
        Some("test -e {target}-{host}"),
    );
    let end = super::super::command(&stage.scene, &touch).await;
    assert_eq!(end.state, StepState::Done, "{}", end.detail.en());
    let written = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(
        (written("order-0-h0"), written("order-1-h1")),
        ("h0:1\n".into(), "h1:2\n".into())
    );
}
