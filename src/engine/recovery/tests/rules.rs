//! Lists of rules against a command API that can lose what it takes.

use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::{stand::Stand, *};
use crate::model::playbook::Breakers;

/// The rules in memory, and what a set is answered; nothing is an error of the server.
#[derive(Clone)]
struct Api {
    rules: Arc<Mutex<Vec<Value>>>,
    says: Arc<Mutex<&'static str>>,
}

impl Api {
    fn router(&self) -> Router {
        Router::new()
            .route("/api", get(|| async { Json(json!([{"url": "/setRules"}])) }))
            .route(
                "/getRules",
                get(|State(api): State<Api>| async move { Json(api.rules.lock().await.clone()) }),
            )
            .route(
                "/setRules",
                post(|State(api): State<Api>, form: String| async move {
                    let form = reqwest::Url::parse(&format!("http://form/?{form}")).unwrap();
                    let data = form.query_pairs().find(|(key, _)| key == "data").unwrap().1;
                    *api.rules.lock().await = serde_json::from_str(&data).unwrap();
                    match *api.says.lock().await {
                        "" => Err(StatusCode::INTERNAL_SERVER_ERROR),
                        says => Ok(says),
                    }
                }),
            )
            .with_state(self.clone())
    }
}

fn rule(count: f64) -> Value {
    json!({"resource": "coupon", "count": count})
}

async fn ready() -> (Api, Stand, Stage) {
    let api = Api {
        rules: Arc::new(Mutex::new(vec![rule(1.0)])),
        says: Arc::new(Mutex::new("success")),
    };
    let stand = Stand::start(api.router()).await;
    let book = Playbook {
        breakers: vec![Breakers::Sentinel {
            api: "http://{instance}".into(),
            callers: ServiceName::new("order").unwrap(),
            rules: vec![SentinelRules::Degrade],
        }],
        ..nothing_to_do()
    };
    let stage = stage(environment(&[("order", "order-0", &stand.address)]), book);
    let stage = stage.with_snapshot_read().await;
    (api, stand, stage)
}

#[tokio::test]
async fn a_list_that_was_put_back_in_part_stays_a_leftover_until_a_set_succeeds() {
    let (api, _stand, mut stage) = ready().await;
    *api.rules.lock().await = vec![rule(9.0)];
    *api.says.lock().await = "partial success";
    let end = breakers_open(&stage.scene).await;
    assert_eq!(
        (end.state, end.leftovers.len()),
        (StepState::Failed, 1),
        "{}",
        end.detail.en()
    );
    assert_eq!(*api.rules.lock().await, [rule(1.0)], "in memory it stands");
    let left = left_behind(&stage.scene).await;
    assert_eq!(
        (left.len(), left[0].certainty),
        (1, Certainty::Unknown),
        "{left:?}"
    );
    assert!(
        left[0].why.en().contains("not answered `success`"),
        "{}",
        left[0].why.en()
    );
    assert_eq!(needs_repair(&stage.scene).await.unknown.len(), 1);
    // Another try that ends the same changes nothing of it.
    assert_eq!(breakers_open(&stage.scene).await.state, StepState::Failed);
    assert_eq!(left_behind(&stage.scene).await.len(), 1);
    *api.says.lock().await = "success";
    let end = breakers_open(&stage.scene).await;
    assert_eq!(
        (end.state, end.leftovers),
        (StepState::Done, vec![]),
        "{}",
        end.detail.en()
    );
    assert!(left_behind(&stage.scene).await.is_empty());
    stage.intents();
    assert_eq!(breakers_open(&stage.scene).await.state, StepState::Nothing);
    assert!(stage.intents().is_empty(), "what is proved is not set again");
}

#[tokio::test]
async fn the_next_keeper_does_not_take_a_list_in_memory_for_one_that_was_put_back() {
    let (api, _stand, stage) = ready().await;
    // The keeper before has set it, and has died before it heard how that went.
    let change = ChangeIntent::Rules {
        instance: instance("order-0"),
        rules: SentinelRules::Degrade,
        count: 1,
    };
    stage.scene.bus.intend(change).await;
    assert_eq!(left_behind(&stage.scene).await.len(), 1);
    *api.says.lock().await = "success";
    assert_eq!(breakers_open(&stage.scene).await.state, StepState::Done);
    assert!(left_behind(&stage.scene).await.is_empty());
}

#[tokio::test]
async fn a_list_that_stands_after_a_set_that_failed_is_not_called_put_back() {
    let (api, _stand, stage) = ready().await;
    *api.rules.lock().await = vec![rule(9.0)];
    *api.says.lock().await = "";
    let end = breakers_open(&stage.scene).await;
    assert_eq!(*api.rules.lock().await, [rule(1.0)], "in memory it stands");
    assert_eq!(
        (end.state, end.leftovers.len()),
        (StepState::Failed, 1),
        "{}",
        end.detail.en()
    );
    assert_eq!(end.leftovers[0].certainty, Certainty::Unknown);
}
