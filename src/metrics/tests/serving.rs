//! Local servers for the tests, and environments that point at them.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use tokio::{net::TcpListener, task::JoinHandle};

use crate::metrics::Source;
use crate::model::{
    environment::{Auth, Environment, MetricsSource, Prometheus, Stage},
    ids::{EnvironmentName, InstanceName, ServiceName},
    secret::Secrets,
    time::Span,
};

/// A server on an ephemeral port; it ends with this value.
pub(super) struct Served {
    pub(super) address: SocketAddr,
    hits: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Served {
    pub(super) fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(super) async fn serve(router: Router) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let hits = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&hits);
    let count = axum::middleware::from_fn(move |request, next: axum::middleware::Next| {
        counter.fetch_add(1, Ordering::SeqCst);
        next.run(request)
    });
    let router = router.layer(count);
    let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    Served { address, hits, task }
}

/// A server with Prometheus' query API that answers each query, `time()` included, as the function says.
pub(super) async fn query_api(
    answer: impl Fn(&str, &HeaderMap) -> Response + Clone + Send + Sync + 'static,
) -> Served {
    let handler = move |headers: HeaderMap, body: String| async move {
        let url = reqwest::Url::parse(&format!("http://x/?{body}")).unwrap();
        let (_, query) = url.query_pairs().find(|(name, _)| name == "query").unwrap();
        answer(&query, &headers)
    };
    serve(Router::new().route("/api/v1/query", post(handler))).await
}

/// The same, for a server that tells the time well: `2,000 s` after the epoch.
pub(super) async fn healthy_api(answer: impl Fn(&str) -> Response + Clone + Send + Sync + 'static) -> Served {
    query_api(move |query, _| match query {
        "time()" => time(2_000.0),
        other => answer(other),
    })
    .await
}

pub(super) fn time(seconds: f64) -> Response {
    success("scalar", &format!(r#"[{seconds},"{seconds}"]"#))
}

pub(super) fn success(kind: &str, result: &str) -> Response {
    json(
        StatusCode::OK,
        format!(r#"{{"status":"success","data":{{"resultType":"{kind}","result":{result}}}}}"#),
    )
}

pub(super) fn error(status: u16, kind: &str, text: &str) -> Response {
    let body = serde_json::json!({"status": "error", "errorType": kind, "error": text});
    json(StatusCode::from_u16(status).unwrap(), body.to_string())
}

pub(super) fn json(status: StatusCode, body: String) -> Response {
    (
        status,
        [(header::CONTENT_TYPE, "application/json")],
        Body::from(body),
    )
        .into_response()
}

pub(in crate::metrics) fn prometheus(url: &str) -> Prometheus {
    Prometheus {
        url: url.to_owned(),
        every: Span::seconds(5),
        scrape_interval: None,
        auth: Auth::None,
        ca_file: None,
        client_cert: None,
        timeout: Span::seconds(5),
        headers: BTreeMap::new(),
        targets_path: "/metrics".to_owned(),
    }
}

pub(in crate::metrics) fn environment(metrics: MetricsSource) -> Environment {
    Environment {
        name: EnvironmentName::new("test").unwrap(),
        stage: Stage::Preprod,
        metrics,
        services: BTreeMap::new(),
        redis: BTreeMap::new(),
        kafka: BTreeMap::new(),
        rocketmq: BTreeMap::new(),
        kubernetes: None,
        gateways: BTreeMap::new(),
        lease: None,
        notify: vec![],
    }
}

pub(super) fn open(config: Prometheus) -> Source {
    Source::open(&environment(MetricsSource::Prometheus(config)), &Secrets::none()).unwrap()
}

/// An environment that scrapes these instances of service `order`.
pub(super) fn scraped(instances: &[(&str, SocketAddr)], every: Span) -> Environment {
    let mut environment = environment(MetricsSource::Scrape {
        every,
        path: "/metrics".to_owned(),
    });
    let named = instances
        .iter()
        .map(|(name, address)| (InstanceName::new(name).unwrap(), address.to_string()));
    let order = ServiceName::new("order").unwrap();
    environment.services.insert(order, named.collect());
    environment
}
