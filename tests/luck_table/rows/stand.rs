//! Small services as users write them: a retry queue's switch, a pool that a restart empties, a switch to put.

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::State,
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Mutex, task::JoinHandle, time::Instant};

use crate::{
    part::ports,
    proxy::{Place, Proxy},
};

/// What a service holds, and how often it was restarted.
#[derive(Debug, Default, Clone)]
pub struct Held {
    pub value: Value,
    pub restarts: u32,
    /// When a queue was last let flow.
    since: Option<Instant>,
}

/// A service on loopback that holds something, behind a proxy.
pub struct Stand {
    held: Arc<Mutex<Held>>,
    port: u16,
    pub proxy: Proxy,
    task: Mutex<JoinHandle<()>>,
}

impl Drop for Stand {
    fn drop(&mut self) {
        self.task.get_mut().abort();
    }
}

impl Stand {
    pub async fn start() -> Self {
        let base = ports(2);
        let held = Arc::new(Mutex::new(Held::default()));
        Self {
            task: Mutex::new(serve(base, held.clone()).await),
            held,
            port: base,
            proxy: Proxy::to(base + 1, Place::Tcp(base)),
        }
    }

    pub async fn hold(&self, value: Value) {
        *self.held.lock().await = Held {
            value,
            ..Held::default()
        };
    }

    pub async fn forget_restarts(&self) {
        self.held.lock().await.restarts = 0;
    }

    pub async fn now(&self) -> Held {
        let mut held = self.held.lock().await;
        flow(&mut held);
        held.clone()
    }

    /// Its process ends and begins again; what it holds is kept.
    pub async fn restart(&self) {
        let mut task = self.task.lock().await;
        task.abort();
        let _ = (&mut *task).await;
        tokio::time::sleep(Duration::from_millis(400)).await;
        *task = serve(self.port, self.held.clone()).await;
    }
}

async fn serve(port: u16, held: Arc<Mutex<Held>>) -> JoinHandle<()> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("its port");
    let router = Router::new()
        .route("/switch", get(read).put(write))
        .route("/metrics", get(metrics))
        .route("/restart", post(restart))
        .with_state(held);
    tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") })
}

async fn read(State(held): State<Arc<Mutex<Held>>>) -> Json<Value> {
    let mut held = held.lock().await;
    flow(&mut held);
    Json(held.value.clone())
}

async fn write(State(held): State<Arc<Mutex<Held>>>, Json(put): Json<Value>) {
    let mut held = held.lock().await;
    flow(&mut held);
    let (Some(into), Value::Object(fields)) = (held.value.as_object_mut(), put) else {
        return;
    };
    into.extend(fields);
    held.since = Some(Instant::now());
}

/// A queue that is not held lets messages go, at its rate if it has one.
fn flow(held: &mut Held) {
    let Some(backlog) = held.value["backlog"].as_u64() else {
        return;
    };
    let since = held.since.unwrap_or_else(Instant::now);
    let gone = match (held.value["held"].as_bool(), held.value["rate"].as_f64()) {
        (Some(false), Some(rate)) => (since.elapsed().as_secs_f64() * rate) as u64,
        (Some(false), None) => backlog,
        _ => 0,
    };
    if gone > 0 {
        let gone = gone.min(backlog);
        held.value["backlog"] = json!(backlog - gone);
        held.value["released"] = json!(held.value["released"].as_u64().unwrap_or(0) + gone);
        held.since = Some(Instant::now());
    } else {
        held.since = Some(since);
    }
}

async fn metrics(State(held): State<Arc<Mutex<Held>>>) -> String {
    let busy = held.lock().await.value["busy"].as_u64().unwrap_or(0);
    format!("# TYPE order_threads_busy gauge\norder_threads_busy {busy}\n")
}

async fn restart(State(held): State<Arc<Mutex<Held>>>) {
    let mut held = held.lock().await;
    held.restarts += 1;
    held.value["busy"] = json!(2);
}
