//! The home screen: the guard above, the reconciliation sheet below. Before a fault the baseline stands there, at the
//! end the outcome.

use super::{
    super::{
        cells::{Strip, rule},
        scene::Scene,
        theme::Role,
    },
    baseline, guard, more, outcome, preflight,
    row::{Columns, details, otherwise},
    step::step_heading,
};
use crate::{
    model::{event::Header, ids::MetricId, phase::Phase, sheet::RowId},
    view::ladder_words,
};

/// The whole body.
pub(super) fn lines(scene: &Scene<'_>, width: usize, height: usize) -> Vec<Strip> {
    match scene.view.phase.phase {
        _ if scene.header().is_none() => Vec::new(),
        _ if scene.over() => {
            let mut lines = outcome::lines(scene, width);
            let most = height.saturating_sub(6).max(4);
            if lines.len() > most {
                lines.truncate(most - 1);
                lines.push(more_in_findings(scene));
            }
            finish(scene, width, height, lines)
        }
        Phase::Preflight => preflight::preflight(scene, width, height),
        Phase::Baseline | Phase::Armed => baseline::lines(scene, width, height),
        Phase::Running | Phase::Recovering | Phase::Verifying | Phase::Closed => {
            let top = guard::block(scene, width, guards_shown(height));
            finish(scene, width, height, top)
        }
    }
}

fn more_in_findings(scene: &Scene<'_>) -> Strip {
    Strip::of(
        Role::Look,
        scene.t(" ! the rest stands on screen 6", " ! 其余见画面 6"),
    )
}

/// How many guard lines a body of that height has room for.
fn guards_shown(height: usize) -> usize {
    (height / 4).clamp(2, 12)
}

/// The top, or details of the picked row in its place and of its height, so that no row moves; then the sheet.
fn finish(scene: &Scene<'_>, width: usize, height: usize, mut top: Vec<Strip>) -> Vec<Strip> {
    top.resize_with(top.len().max(DETAILS), Strip::default);
    let mut lines = if scene.ui.details {
        let mut details = details(scene, width);
        details.resize_with(top.len(), Strip::default);
        details
    } else {
        top
    };
    lines.push(rule(width));
    lines.extend(sheet(scene, width, height.saturating_sub(lines.len())));
    lines
}

/// Lines that the details of a row take.
const DETAILS: usize = 5;

/// A line of the sheet, and the row it belongs to.
struct Entry {
    row: Option<usize>,
    /// Whether the step it belongs to runs.
    runs: bool,
    strip: Strip,
}

fn sheet(scene: &Scene<'_>, width: usize, height: usize) -> Vec<Strip> {
    let Some(header) = scene.header() else {
        return Vec::new();
    };
    let columns = Columns::of(width);
    let after = after(scene, header);
    let short = entries(scene, header, &columns, false);
    let long = entries(scene, header, &columns, true);
    let room = height.saturating_sub(1);
    let mut entries = if long.len() + after.len() <= room {
        long
    } else {
        short
    };
    entries.extend(after.into_iter().map(|strip| Entry {
        row: None,
        runs: false,
        strip,
    }));
    let from = first_shown(scene, &entries, room);
    let below = entries.len().saturating_sub(from + room);
    let mut lines = vec![columns.titles(scene)];
    lines.extend(entries.into_iter().skip(from).take(room).map(|e| e.strip));
    if below > 0
        && let Some(last) = lines.last_mut().filter(|_| room > 0)
    {
        *last = more(scene, below + 1);
    }
    lines.truncate(height);
    lines
}

/// The first line that is shown. With a picked row, so far down that the row is in sight; otherwise so far that the
/// running step begins at the top, if not everything fits.
fn first_shown(scene: &Scene<'_>, entries: &[Entry], room: usize) -> usize {
    let most = entries.len().saturating_sub(room);
    let wanted = match scene.ui.picked {
        Some(picked) => {
            let line = entries.iter().position(|e| e.row == Some(picked)).unwrap_or(0);
            (line + 3).saturating_sub(room)
        }
        None => entries.iter().position(|e| e.runs).unwrap_or(0),
    };
    wanted.min(most)
}

fn entries(scene: &Scene<'_>, header: &Header, columns: &Columns, with_otherwise: bool) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut count = 0;
    for (index, step) in header.steps.iter().enumerate() {
        let view = scene.view.steps.get(index).copied().unwrap_or_default();
        entries.push(Entry {
            row: None,
            runs: view.runs(),
            strip: step_heading(scene, step, view, columns.width),
        });
        for (row, expected) in step.rows.iter().enumerate() {
            let id = RowId { step: index, row };
            let state = scene.view.row(id);
            let picked = scene.ui.picked == Some(count);
            let strip = columns.line(scene, expected, state, picked);
            entries.push(Entry {
                row: Some(count),
                runs: view.runs(),
                strip,
            });
            if let Some(strip) = with_otherwise
                .then(|| otherwise(scene, expected, state))
                .flatten()
            {
                entries.push(Entry {
                    row: None,
                    runs: view.runs(),
                    strip: strip.cut_to(columns.width),
                });
            }
            count += 1;
        }
    }
    entries
}

/// What follows the rows: metrics that moved and are not on the sheet, and why a fault had no effect.
fn after(scene: &Scene<'_>, header: &Header) -> Vec<Strip> {
    let mut lines = Vec::new();
    for (index, view) in scene.view.moved.iter().enumerate() {
        let title = if index == 0 {
            scene.t("MOVED, NOT ON THE SHEET", "有变化, 不在对账单")
        } else {
            ""
        };
        let unit = header.unit(&view.moved.metric);
        let text = format!(
            "{} {} → {}{}, {} {}",
            view.moved.metric,
            unit.show(view.moved.before),
            unit.show(view.moved.now),
            pool_size(scene, header, &view.moved.metric),
            scene.t("since", "始于"),
            scene.clock(view.since)
        );
        lines.push(
            Strip::default()
                .gap(1)
                .col(Role::Look, title, 26)
                .text(Role::Plain, text),
        );
    }
    for ladder in &scene.view.ladders {
        let text = ladder_words(&ladder.rungs, scene.lang());
        lines.push(
            Strip::default()
                .gap(1)
                .text(
                    Role::Look,
                    format!("{} {}", scene.t("NO EFFECT", "无效果"), ladder.step),
                )
                .gap(2)
                .text(Role::Plain, text),
        );
    }
    lines
}

/// ` of 50`, if the metric counts the busy part of a pool.
fn pool_size(scene: &Scene<'_>, header: &Header, metric: &MetricId) -> String {
    let mut pools = header.topology.iter().filter_map(|n| n.pool.as_ref());
    let pool = pools.find(|p| p.metric.as_ref() == Some(metric));
    pool.map_or_else(String::new, |p| format!(" {} {}", scene.t("of", "/"), p.threads))
}
