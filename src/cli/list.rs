//! `list`: the drills that are here, and those that come with allclear.

use std::path::Path;

use super::{
    context::Context,
    error::Failure,
    options::{Common, List},
    print, shipped,
};
use crate::model::exit::Exit;

pub fn list(common: &Common, args: &List) -> Result<Exit, Failure> {
    let context = Context::open(common)?;
    let mut asked: Vec<String> = std::fs::read_dir("expectations")
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "yaml" || e == "yml"))
        .map(|p| p.display().to_string())
        .collect();
    asked.sort();
    let here: Vec<String> = asked
        .iter()
        .filter_map(|p| Path::new(p).file_stem()?.to_str().map(str::to_owned))
        .collect();
    asked.extend(
        shipped::names()
            .into_iter()
            .filter(|n| !here.iter().any(|h| h == n))
            .map(str::to_owned),
    );
    for one in &asked {
        // A broken file is a line of the list, not its end: `check` says what is wrong with it.
        match context.drill(one) {
            Ok(loaded) if args.json => print::json(&serde_json::json!({
                "drill": loaded.drill.name, "title": loaded.drill.title, "from": one,
                "steps": loaded.drill.steps.len(), "dashboard": loaded.drill.dashboard.name,
            })),
            Ok(loaded) => print::line(format_args!(
                "{:<22} {}",
                loaded.drill.name.to_string(),
                loaded.drill.title.get(context.lang)
            )),
            Err(_) if args.json => print::json(&serde_json::json!({ "from": one, "broken": true })),
            Err(_) => print::line(format_args!("{one:<22} has errors: allclear check {one}")),
        }?;
    }
    Ok(Exit::Held)
}
