//! What happened, line by line, the newest at the bottom.

use super::{
    super::{
        cells::{Strip, width as cells, wrap},
        scene::{Scene, clock, tone_role},
        theme::Role,
    },
    Body,
};
use crate::view::Line;

const TIME: usize = 13;

/// The body. It follows the newest line until one scrolls up.
pub(super) fn body(scene: &Scene<'_>, width: usize, height: usize) -> Body {
    if scene.view.journal.is_empty() {
        let words = scene.t(" nothing has happened yet", " 尚无事件");
        return Body {
            lines: vec![Strip::of(Role::Dim, words)],
            reach: 0,
        };
    }
    let room = width.saturating_sub(TIME);
    let heights: Vec<usize> = scene
        .view
        .journal
        .iter()
        .map(|l| height_of(scene, l, room))
        .collect();
    let reach = heights.iter().sum::<usize>().saturating_sub(height);
    let up = scene.ui.scroll.min(reach);
    let mut above = reach - up;
    let mut lines = Vec::with_capacity(height);
    for (line, count) in scene.view.journal.iter().zip(heights) {
        if above >= count {
            above -= count;
            continue;
        }
        lines.extend(strips(scene, line, room).into_iter().skip(above));
        above = 0;
        if lines.len() >= height {
            break;
        }
    }
    lines.truncate(height);
    if up > 0
        && let Some(last) = lines.last_mut()
    {
        let words = scene.t("newer lines, End", "行更新, 按 End");
        *last = Strip::of(Role::Look, format!(" … {} {words}", up + 1));
    }
    Body { lines, reach }
}

fn text<'a>(scene: &Scene<'_>, line: &'a Line) -> &'a str {
    scene.lang().pick(&line.en, &line.zh)
}

fn height_of(scene: &Scene<'_>, line: &Line, room: usize) -> usize {
    let text = text(scene, line);
    if cells(text) <= room {
        1
    } else {
        wrap(text, room).len()
    }
}

fn strips(scene: &Scene<'_>, line: &Line, room: usize) -> Vec<Strip> {
    let role = tone_role(line.tone);
    let time = clock(line.wall, &scene.options.zone);
    let look = matches!(role, Role::Look | Role::Alarm);
    let parts = wrap(text(scene, line), room).into_iter().enumerate();
    parts
        .map(|(index, part)| {
            let time = if index == 0 { time.as_str() } else { "" };
            let sign = if index == 0 && look { "! " } else { "  " };
            Strip::default()
                .gap(1)
                .col(Role::Dim, time, 9)
                .text(role, sign)
                .text(role, part)
        })
        .collect()
}
