//! What bad input and bad luck get, through the binary.

mod ended;
#[path = "../luck_support/mod.rs"]
mod luck_support;
mod pipeline;
mod refused;
mod told;

use self::luck_support::{Place, Program, Shop};

const RUN: [&str; 3] = ["run", "drill.yaml", "--plain"];

/// A place with the environment of a range, and a drill.
fn place_at(shop: &Shop, drill: &str) -> Place {
    let place = Place::with(&shop.environment("scrape: {every: 1s}", ""));
    place.file("drill.yaml", drill);
    place
}

async fn run_id(run: &Program) -> String {
    let line = run.says(" @ PREPROD shop").await;
    let mut words = line.split_whitespace().skip_while(|w| *w != "run");
    words.nth(1).expect("an id").to_owned()
}
