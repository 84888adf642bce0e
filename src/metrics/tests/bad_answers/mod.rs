//! What a server may answer instead of numbers, and what becomes of it.

mod access;
mod answers;
mod questions;
mod silence;

use axum::response::Response;

use super::serving::{open, prometheus, success};
use crate::metrics::{Fetch, Wanted, testing::query};

async fn fetched(url: &str, wanted: &[Wanted]) -> Fetch {
    open(prometheus(url)).fetch(wanted).await
}

/// What one query says went wrong.
fn why(fetch: &Fetch, name: &str) -> String {
    let problem = fetch.problems.iter().find(|(q, _)| *q == query(name));
    problem.map(|(_, gap)| gap.to_string()).unwrap_or_default()
}

/// A gauge's matrix with these samples.
fn matrix(samples: &str) -> Response {
    success(
        "matrix",
        &format!(r#"[{{"metric":{{"instance":"a"}},"values":{samples}}}]"#),
    )
}
