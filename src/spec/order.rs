//! The order of steps: names that exist, no circles, and rows that another step disturbs.

use super::{
    dashboard::each_once,
    diagnostic::Problem,
    fields::Fields,
    names::meant,
    report::Report,
    tree::{Node, Value},
    values::{Bad, quoted},
};
use crate::model::{
    drill::Step,
    schedule::{slots, waits_for, waits_for_itself},
};

/// Notes names that stand twice, and `after` and `with` that name no step.
pub(super) fn check_names(report: &Report, steps: &[Fields]) {
    each_once(report, steps.iter().filter_map(|step| step.node("name")));
    let names: Vec<&str> = steps
        .iter()
        .filter_map(|step| step.node("name"))
        .filter_map(text)
        .collect();
    for step in steps {
        for node in ["after", "with"].into_iter().filter_map(|key| step.node(key)) {
            let Some(name) = text(node) else { continue };
            if !names.contains(&name) {
                let bad = Bad::new(format!("no step is called {}", quoted(name))).help(meant(
                    name,
                    "steps",
                    names.iter().copied(),
                ));
                report.error(&node.span, Problem::UnknownName, bad);
            }
        }
    }
}

fn text(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Text { text, .. } => Some(text),
        _ => None,
    }
}

/// Notes steps that wait for each other, and rows measured while a step of another group disturbs the system.
pub(super) fn check_times(report: &Report, fields: &[Fields], steps: &[Step]) {
    let slots = slots(steps);
    for (i, (step, fields)) in steps.iter().zip(fields).enumerate() {
        if let Some((key, _)) = waits_for(step).filter(|_| waits_for_itself(steps, i)) {
            let bad = Bad::new(format!(
                "step `{}` waits for itself, through `after` or `with`",
                step.name
            ))
            .help("a step can wait only for one that does not wait for it");
            fields.wrong(key, Problem::Conflict, bad);
        }
        let Some(slot) = slots[i].filter(|_| !step.expect.is_empty()) else {
            continue;
        };
        let mut others = steps.iter().zip(&slots);
        let disturbing = others.find(|(_, other)| other.is_some_and(|other| slot.is_confounded_by(&other)));
        if let Some((other, _)) = disturbing {
            let bad = Bad::new(format!(
                "step `{}` runs while `{}` disturbs the system: its rows will be CONFOUNDED",
                step.name, other.name
            ))
            .help(format!(
                "judge both together (`with: {}`), or let one run after the other",
                other.name
            ));
            report.warn(&fields.place("expect"), Problem::Weak, bad);
        }
    }
}
