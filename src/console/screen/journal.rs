//! What happened, line by line, the newest at the bottom.

use super::{
    super::{
        cells::{Strip, wrap},
        scene::{Scene, clock, tone_role},
        theme::Role,
    },
    Body,
};

/// The body. It follows the newest line until one scrolls up.
pub(super) fn body(scene: &Scene<'_>, width: usize, height: usize) -> Body {
    let all: Vec<Strip> = scene
        .view
        .journal
        .iter()
        .flat_map(|line| {
            let text = scene.lang().pick(&line.en, &line.zh);
            let role = tone_role(line.tone);
            let time = clock(line.wall, &scene.options.zone);
            let parts = wrap(text, width.saturating_sub(13)).into_iter().enumerate();
            parts.map(move |(index, part)| {
                let time = if index == 0 { time.as_str() } else { "" };
                let sign = if index == 0 && matches!(role, Role::Look | Role::Alarm) {
                    "! "
                } else {
                    "  "
                };
                Strip::default()
                    .gap(1)
                    .col(Role::Dim, time, 9)
                    .text(role, sign)
                    .text(role, part)
            })
        })
        .collect();
    if all.is_empty() {
        let words = scene.t(" nothing has happened yet", " 尚无事件");
        return Body {
            lines: vec![Strip::of(Role::Dim, words)],
            reach: 0,
        };
    }
    let reach = all.len().saturating_sub(height);
    let up = scene.ui.scroll.min(reach);
    let mut lines: Vec<Strip> = all.into_iter().skip(reach - up).take(height).collect();
    if up > 0
        && let Some(last) = lines.last_mut()
    {
        let words = scene.t("newer lines, End", "行更新, 按 End");
        *last = Strip::of(Role::Look, format!(" … {} {words}", up + 1));
    }
    Body { lines, reach }
}
