//! Playbooks that the pages of docs/drivers show, read as somebody copies them into a drill.

use crate::{
    model::{
        playbook::{Command, Playbook},
        recovery::StepId,
    },
    spec::{Source, read_dashboard, read_drill},
};

const DRILL: &str = include_str!("../../../spec/examples/drill.yaml");
const DASHBOARD: &str = include_str!("../../../spec/examples/dashboard.yaml");

/// The playbook that stands first under this heading.
pub(super) fn shown(page: &str, heading: &str) -> Playbook {
    let section = page
        .split("\n#")
        .find(|section| title(section) == heading)
        .unwrap_or_else(|| panic!("the page has no `{heading}`"));
    let (_, block) = section.split_once("```yaml\nrecovery:\n").expect("a playbook");
    let (block, _) = block.split_once("```").expect("its end");
    let (drill, _) = DRILL.split_once("recovery:\n").expect("the example's own");
    let source = |path: &str, text: String| Source {
        path: path.to_owned(),
        text,
    };
    let dashboard = read_dashboard(&source("shop.yaml", DASHBOARD.to_owned())).expect("a dashboard");
    let text = format!("{drill}recovery:\n{block}");
    let read = read_drill(&source("drill.yaml", text), &|_| Some(dashboard.value.clone()));
    read.unwrap_or_else(|wrong| panic!("under `{heading}`: {wrong:?}"))
        .value
        .recovery
}

fn title(section: &str) -> &str {
    let first = section.lines().next().unwrap_or_default();
    first.trim_start_matches('#').trim()
}

/// The two steps of a recipe: out of traffic with the drain, and back with the traffic.
pub(super) fn out_and_back(page: &str, heading: &str) -> [Command; 2] {
    let commands = shown(page, heading).commands;
    let when: Vec<StepId> = commands.iter().map(|step| step.after).collect();
    assert_eq!(when, [StepId::Drain, StepId::Traffic], "`{heading}`");
    assert!(commands[1].has_check(), "`{heading}`: that it is back is proved");
    commands.try_into().expect("two of them")
}
