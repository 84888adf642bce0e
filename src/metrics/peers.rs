//! Who is there beside the targets: the instances of the series that the targets' scopes would show if they named none.

use std::collections::BTreeSet;

use super::{error::MetricsError, source::Source};
use crate::model::{
    dashboard::{Dashboard, Matcher, Read, Selector},
    ids::{MetricId, ScopeName},
    sample::Peer,
};

/// What stands for the targets' names in a matcher.
const TARGETS: &str = "{targets}";

/// The selectors of what is asked in a scope of the targets, without the matchers that name them; each once.
pub fn peer_selectors(dashboard: &Dashboard, asked: &[(MetricId, Option<ScopeName>)]) -> BTreeSet<Selector> {
    let names_targets = |m: &Matcher| m.value.contains(TARGETS);
    let scoped = asked.iter().filter_map(|(metric, scope)| {
        let scope = dashboard.scope(scope.as_ref()?)?;
        let metric = dashboard.metric(metric)?;
        scope
            .matchers
            .iter()
            .any(names_targets)
            .then_some((metric, scope))
    });
    let selectors = scoped.filter_map(|(metric, scope)| {
        let mut selector = match &metric.read {
            Read::Ratio { total: s, .. }
            | Read::Rate { selector: s }
            | Read::Quantile { histogram: s, .. }
            | Read::Mean { count: s, .. }
            | Read::Gauge { selector: s, .. } => s.clone(),
            Read::Promql { .. } => return None,
        };
        selector.matchers.extend(scope.matchers.iter().cloned());
        selector.matchers.retain(|m| !names_targets(m));
        Some(selector)
    });
    selectors.collect()
}

impl Source {
    /// The instances that have series of these selectors. `None` if instances are scraped: nobody but the environment's
    /// own is asked then, and nobody else can be seen.
    ///
    /// # Errors
    /// The server did not answer, or not with series.
    pub async fn peers(
        &self,
        selectors: &BTreeSet<Selector>,
    ) -> Result<Option<BTreeSet<Peer>>, MetricsError> {
        let Source::Prometheus(client) = self else {
            return Ok(None);
        };
        let mut all = BTreeSet::new();
        for selector in selectors {
            let query = format!("group by (job, instance) ({})", selector.promql());
            all.extend(client.peers(&query).await?);
        }
        Ok(Some(all))
    }
}

#[cfg(test)]
mod tests {
    use axum::{Json, Router, extract::State, routing::post};
    use serde_json::{Value, json};
    use tokio::{net::TcpListener, sync::mpsc};

    use super::*;
    use crate::{
        metrics::{
            testing::{dashboard, metric, scope},
            tests::serving::{environment, prometheus},
        },
        model::{environment::MetricsSource, secret::Secrets},
    };

    #[test]
    fn only_what_is_asked_of_the_targets_shows_who_is_beside_them() {
        let asked = [
            (metric("busy"), Some(scope("users"))),
            (metric("busy"), Some(scope("targets"))),
            (metric("busy"), None),
            (metric("lag"), Some(scope("targets"))),
        ];
        let selectors = peer_selectors(&dashboard(), &asked);
        let shown: Vec<String> = selectors.iter().map(Selector::promql).collect();
        assert_eq!(shown, ["busy"]);
    }

    async fn answer(State(asked): State<mpsc::UnboundedSender<String>>, form: String) -> Json<Value> {
        asked.send(form).unwrap();
        let series = |labels: Value| json!({"metric": labels, "value": [1.0, "1"]});
        Json(
            json!({"status": "success", "data": {"resultType": "vector", "result": [
                series(json!({"job": "order", "instance": "order-0"})),
                series(json!({"job": "order", "instance": "order-9\u{1b}[31m"})),
                series(json!({"job": "order"})),
            ]}}),
        )
    }

    #[tokio::test]
    async fn a_server_tells_the_instances_of_a_job_and_nothing_that_moves_the_cursor() {
        let (asked, mut queries) = mpsc::unbounded_channel();
        let router = Router::new()
            .route("/api/v1/query", post(answer))
            .with_state(asked);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let config = prometheus(&format!("http://{address}"));
        let environment = environment(MetricsSource::Prometheus(config));
        let source = Source::open(&environment, &Secrets::none()).unwrap();
        let selectors = peer_selectors(&dashboard(), &[(metric("busy"), Some(scope("targets")))]);
        let peers = source.peers(&selectors).await.unwrap().unwrap();
        let named: Vec<&str> = peers.iter().map(|p| p.instance.as_str()).collect();
        assert!(named[0] == "order-0" && named.len() == 2, "{named:?}");
        assert!(!named[1].contains('\u{1b}'), "{named:?}");
        assert_eq!(
            queries.recv().await.unwrap(),
            "query=group+by+%28job%2C+instance%29+%28busy%29"
        );
    }
}
