//! What is unexpected, what may remain, what moved, what people were warned of: a plain list.

use super::{
    super::{
        cells::{Strip, wrap},
        scene::{Scene, clock},
        theme::Role,
    },
    heading,
    outcome::remains,
    preflight,
    row::interval,
};
use crate::{
    model::{event::CheckOutcome, sheet::Verdict, text::Word},
    view::{Remark, RowView, row_label},
};

/// The whole body.
pub(super) fn lines(scene: &Scene<'_>, width: usize) -> Vec<Strip> {
    let mut lines = Vec::new();
    let found: Vec<_> = scene.view.findings().collect();
    lines.push(heading(format!(
        "{}: {}",
        scene.t("FINDINGS", "缺陷"),
        found.len()
    )));
    for row in found {
        lines.extend(finding(scene, row, width));
    }
    lines.extend(remains(scene, width));
    lines.extend(not_established(scene, width));
    for view in &scene.view.moved {
        let unit = scene.unit(&view.moved.metric);
        let text = format!(
            "{} {} → {} ({})",
            view.moved.metric,
            unit.show(view.moved.before),
            unit.show(view.moved.now),
            view.moved.step
        );
        let words = scene.t("moved, not on the sheet:", "有变化, 不在对账单:");
        lines.push(
            Strip::of(Role::Look, format!(" ! {words} "))
                .text(Role::Plain, text)
                .cut_to(width),
        );
    }
    for check in scene
        .view
        .checks
        .iter()
        .filter(|c| c.outcome != CheckOutcome::Passed)
    {
        lines.extend(preflight::check(scene, check, width));
    }
    lines.extend(remarks(
        scene,
        scene.t("WARNINGS", "警告"),
        scene.view.warnings.iter(),
        width,
    ));
    lines.extend(remarks(
        scene,
        scene.t("NOTES", "备注"),
        scene.view.notes.iter(),
        width,
    ));
    lines
}

fn finding(scene: &Scene<'_>, row: &RowView, width: usize) -> Vec<Strip> {
    let header = scene.header();
    let both = header.and_then(|h| Some((h.row(row.id)?, h.steps.get(row.id.step)?)));
    let (Some((expected, step)), Some(state)) = (both, &row.state) else {
        return Vec::new();
    };
    let title = format!(
        "{} · {}  {} → {}  {} {}",
        step.name,
        row_label(expected),
        scene.value(&expected.metric, state.before),
        scene.value(&expected.metric, state.now),
        scene.t("declared", "声明"),
        expected.declared
    );
    let mut lines = vec![
        Strip::of(Role::Look, format!(" ! {} ", state.verdict.word(scene.lang())))
            .text(Role::Plain, title)
            .cut_to(width),
    ];
    let mut say = |name: &str, text: &str| {
        for (index, part) in wrap(text, width.saturating_sub(14)).into_iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            lines.push(
                Strip::default()
                    .gap(3)
                    .col(Role::Dim, name, 10)
                    .text(Role::Plain, part),
            );
        }
    };
    let reason = state.reason.get(scene.lang());
    let measured = format!("{}; {reason}", interval(scene, expected, state));
    say(scene.t("measured", "实测"), &measured);
    if let Some(otherwise) = &expected.otherwise {
        say(scene.t("means", "意味着"), otherwise.get(scene.lang()));
    }
    lines
}

/// Final rows that say nothing: not a finding, not a pass.
fn not_established(scene: &Scene<'_>, width: usize) -> Vec<Strip> {
    let open = |v: Verdict| !matches!(v, Verdict::AsExpected | Verdict::Unexpected);
    let mut lines = Vec::new();
    for row in &scene.view.rows {
        let Some(state) = row.state.as_ref().filter(|s| s.last && open(s.verdict)) else {
            continue;
        };
        let name = scene
            .header()
            .and_then(|h| h.row(row.id))
            .map_or_else(String::new, row_label);
        lines.push(
            Strip::of(Role::Look, format!(" ! {} ", state.verdict.word(scene.lang())))
                .text(Role::Plain, format!("{name}: {}", state.reason.get(scene.lang())))
                .cut_to(width),
        );
    }
    lines
}

fn remarks<'a>(
    scene: &Scene<'_>,
    title: &str,
    remarks: impl ExactSizeIterator<Item = &'a Remark>,
    width: usize,
) -> Vec<Strip> {
    if remarks.len() == 0 {
        return Vec::new();
    }
    let mut lines = vec![heading(title)];
    for remark in remarks {
        let by = remark.by.as_ref().map_or(String::new(), |by| format!("{by}: "));
        let text = format!("{by}{}", remark.text.get(scene.lang()));
        for (index, part) in wrap(&text, width.saturating_sub(13)).into_iter().enumerate() {
            let time = if index == 0 {
                clock(remark.wall, &scene.options.zone)
            } else {
                String::new()
            };
            lines.push(
                Strip::default()
                    .gap(3)
                    .col(Role::Dim, time, 9)
                    .text(Role::Plain, part),
            );
        }
    }
    lines
}
