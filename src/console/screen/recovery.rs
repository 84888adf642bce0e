//! The steps of recovery in their fixed order, the three times, and what may remain.

use super::{
    super::{
        cells::{Strip, rule, wrap},
        scene::Scene,
        theme::Role,
    },
    facts,
    frame::cause_is_cut,
    heading,
    outcome::{remains, times},
};
use crate::{
    model::{
        recovery::{StepId, StepState},
        text::Word,
        time::Span,
    },
    view::RecoveryView,
};

/// The whole body.
pub(super) fn lines(scene: &Scene<'_>, width: usize) -> Vec<Strip> {
    let mut lines = Vec::new();
    match &scene.view.recovering {
        Some(recovering) => {
            let cause = recovering.cause.describe(scene.lang());
            // The status line says it as well, as far as it has room.
            if cause_is_cut(scene, width) {
                let parts = wrap(&cause, width.saturating_sub(2)).into_iter();
                lines.extend(parts.take(2).map(heading));
            }
        }
        None => lines.push(heading(scene.t(
            "r does this, in this order; each step reads first and changes only what differs",
            "按 r 将依次执行; 每步先读, 只改与快照不同之处",
        ))),
    }
    lines.push(times(scene).cut_to(width));
    lines.push(rule(width));
    let mut number = 0;
    for step in StepId::ALL {
        let view = scene.view.recovery.iter().find(|r| r.report.step == step);
        lines.extend(line(scene, step, view, number != step.number(), width));
        number = step.number();
    }
    lines.push(rule(width));
    lines.extend(remains(scene, width));
    if scene.view.recovering.is_none() {
        lines.extend(facts::facts(scene, width));
    }
    lines
}

const STEP: usize = 14;
const STATE: usize = 9;
const TOOK: usize = 8;

fn line(
    scene: &Scene<'_>,
    step: StepId,
    view: Option<&RecoveryView>,
    first: bool,
    width: usize,
) -> Vec<Strip> {
    let number = if first {
        step.number().to_string()
    } else {
        String::new()
    };
    let strip =
        Strip::default()
            .gap(1)
            .col(Role::Dim, number, 2)
            .col(Role::Plain, step.word(scene.lang()), STEP);
    let Some(view) = view else {
        return vec![strip.text(Role::Dim, StepState::Later.word(scene.lang()))];
    };
    let report = &view.report;
    let role = state_role(report.state);
    let strip =
        strip
            .col(role, report.state.word(scene.lang()), STATE)
            .col(Role::Dim, took(scene, view), TOOK);
    let indent = 3 + STEP + STATE + TOOK;
    let mut lines = Vec::new();
    for (index, part) in wrap(report.detail.get(scene.lang()), width.saturating_sub(indent))
        .into_iter()
        .enumerate()
        .take(3)
    {
        let start = if index == 0 {
            strip.clone()
        } else {
            Strip::default().gap(indent)
        };
        lines.push(start.text(Role::Plain, part));
    }
    lines
}

/// How long the step has taken: one that goes on goes on counting.
fn took(scene: &Scene<'_>, view: &RecoveryView) -> String {
    let report = &view.report;
    let span = match report.state {
        StepState::Later | StepState::Absent => return String::new(),
        StepState::Working | StepState::Waiting => report.took + scene.since(view.at),
        _ => report.took,
    };
    seconds(span)
}

/// `0.8s`, `31.0s`, `2m05s`.
fn seconds(span: Span) -> String {
    if span < Span::seconds(100) {
        format!("{:.1}s", span.as_seconds())
    } else {
        format!("{}m{:02}s", span.0 / 60_000, span.0 / 1000 % 60)
    }
}

fn state_role(state: StepState) -> Role {
    match state {
        StepState::Later | StepState::Absent => Role::Dim,
        StepState::Working | StepState::Waiting => Role::Strong,
        StepState::Held => Role::Plain,
        StepState::Done | StepState::Nothing => Role::Good,
        StepState::Failed => Role::Look,
    }
}
