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
    drill::{Action, Start, Step},
    ids::StepName,
    time::Span,
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

/// When a step runs, counted from the start of the first.
#[derive(Debug, Clone, Copy)]
struct Slot {
    start: Span,
    end: Span,
    group: usize,
}

/// Notes steps that wait for each other, and rows measured while a step of another group disturbs the system.
pub(super) fn check_times(report: &Report, fields: &[Fields], steps: &[Step]) {
    let slots = slots(steps);
    for (i, (step, fields)) in steps.iter().zip(fields).enumerate() {
        let Some(slot) = slots[i] else {
            if let Some(key) = waits(step).filter(|_| names_exist(step, steps)) {
                let bad = Bad::new(format!(
                    "step `{}` waits for itself, through `after` or `with`",
                    step.name
                ))
                .help("a step can wait only for one that does not wait for it");
                fields.wrong(key, Problem::Conflict, bad);
            }
            continue;
        };
        let disturbing = steps.iter().zip(&slots).find(|(other, times)| {
            let apart = |t: &Slot| t.group != slot.group && t.start < slot.end && slot.start < t.end;
            other.action != Action::Observe && times.as_ref().is_some_and(apart)
        });
        if let Some((other, _)) = disturbing.filter(|_| !step.expect.is_empty()) {
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

fn waits(step: &Step) -> Option<&'static str> {
    match step.start {
        Start::After(_) => Some("after"),
        Start::With(_) => Some("with"),
        Start::InOrder | Start::At(_) => None,
    }
}

fn names_exist(step: &Step, steps: &[Step]) -> bool {
    match &step.start {
        Start::After(name) | Start::With(name) => steps.iter().any(|s| s.name == *name),
        Start::InOrder | Start::At(_) => true,
    }
}

/// A slot for every step that has one. Each pass places the steps whose reference is placed.
fn slots(steps: &[Step]) -> Vec<Option<Slot>> {
    let mut slots: Vec<Option<Slot>> = vec![None; steps.len()];
    for _ in 0..steps.len() {
        let placed = slots.iter().flatten().count();
        for (i, step) in steps.iter().enumerate() {
            let named = |name: &StepName| {
                steps
                    .iter()
                    .position(|s| s.name == *name)
                    .and_then(|at| slots[at])
            };
            let begins = match &step.start {
                Start::InOrder if i == 0 => Some((Span::ZERO, i)),
                Start::InOrder => slots[i - 1].map(|before| (before.end, i)),
                Start::At(at) => Some((*at, i)),
                Start::After(name) => named(name).map(|before| (before.end, i)),
                Start::With(name) => named(name).map(|peer| (peer.start, peer.group)),
            };
            slots[i] = begins.map(|(start, group)| Slot {
                start,
                end: start + step.duration,
                group,
            });
        }
        if slots.iter().flatten().count() == placed {
            break;
        }
    }
    slots
}
