//! A way to the API server on which some lists of pods are lost.

use std::{collections::BTreeMap, fs, sync::Arc};

use allclear::model::environment::Kubernetes;
use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{Query, State},
    http::{self, HeaderMap, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use serde_json::json;
use tokio::net::TcpListener;

use crate::part::Cluster;

/// Reads what is asked of it in plain HTTP, and asks the API server the same, as the same user.
struct Gate<L> {
    server: String,
    client: reqwest::Client,
    loses: L,
}

impl Cluster {
    /// The cluster as bob sees it, but for those lists of pods whose selector is one of these: they are lost.
    pub async fn losing<L>(&self, loses: L) -> Kubernetes
    where
        L: Fn(&str) -> bool + Send + Sync + 'static,
    {
        // Another part of the process may have installed it already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let ca = fs::read(self.file("tls/ca.pem")).unwrap();
        let ca = reqwest::Certificate::from_pem(&ca).unwrap();
        let gate = Gate {
            server: format!("https://127.0.0.1:{}", self.port),
            client: reqwest::Client::builder()
                .tls_certs_only([ca])
                .no_proxy()
                .build()
                .unwrap(),
            loses,
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(pass::<L>).with_state(Arc::new(gate));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        self.behind("bob", &url)
    }
}

async fn pass<L: Fn(&str) -> bool>(
    State(gate): State<Arc<Gate<L>>>,
    Query(query): Query<BTreeMap<String, String>>,
    method: Method,
    uri: Uri,
    mut headers: HeaderMap,
    body: Bytes,
) -> Response {
    let lists_pods = method == Method::GET && uri.path().ends_with("/pods");
    let selector = query.get("labelSelector").map_or("", String::as_str);
    if lists_pods && (gate.loses)(selector) {
        return unavailable();
    }
    headers.remove(header::HOST);
    let url = format!("{}{uri}", gate.server);
    let asked = gate.client.request(method, url).headers(headers).body(body);
    match asked.send().await {
        Ok(answer) => http::Response::from(answer).map(Body::new),
        Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}

/// What an API server says whose etcd is choosing a leader.
fn unavailable() -> Response {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "etcdserver: leader changed", "reason": "ServiceUnavailable", "code": 503,
    });
    (StatusCode::SERVICE_UNAVAILABLE, Json(status)).into_response()
}
