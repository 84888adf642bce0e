//! A terminal too small for a screen: the phase, the guard, the verdicts, what was just said or is being written, the key.

use super::{
    super::{
        cells::{Strip, width as cells, wrap},
        scene::{Scene, health_role},
        theme::Role,
    },
    footer, frame,
};
use crate::model::{sheet::Verdict, text::Word};

/// As many lines as there is room for, the most important first.
pub(super) fn lines(scene: &Scene<'_>, width: usize, height: usize) -> Vec<Strip> {
    let below = below(scene, width, height);
    let mut lines = state(scene);
    lines.truncate(height.saturating_sub(below.len()));
    lines.extend(below);
    lines.into_iter().map(|l| l.cut_to(width)).collect()
}

fn state(scene: &Scene<'_>) -> Vec<Strip> {
    let mut lines = Vec::new();
    match scene.ending() {
        Some((role, words)) => {
            lines.push(Strip::of(role, words));
            if let Some(h) = scene.view.outcome.as_ref().and_then(|o| o.hypothesis) {
                lines.push(Strip::of(Role::Strong, h.word(scene.lang())));
            }
        }
        None if scene.header().is_none() => lines.push(frame::unknown(scene)),
        None => {
            let phase = scene.view.phase.phase.word(scene.lang());
            lines.push(Strip::of(Role::Strong, phase).text(Role::Plain, frame::running_clock(scene)));
            let live = scene.view.live_faults().count();
            if live > 0 {
                let text = format!("{live} {}", scene.t("LIVE", "已注入"));
                lines.push(Strip::of(Role::Alarm, text));
            }
        }
    }
    // What the guard last was is no longer known to be so.
    lines.push(frame::lost(scene).unwrap_or_else(|| guard(scene)));
    lines.push(counts(scene));
    lines
}

/// What must be seen: a message, the note that is written, what the key does. One line is left for the phase, unless there is
/// something to look at, or `r` is no key but a letter.
fn below(scene: &Scene<'_>, width: usize, height: usize) -> Vec<Strip> {
    let keys = match &scene.ui.note {
        Some(note) => writing(scene, note, width),
        None => footer::footer(scene)
            .into_iter()
            .take(1)
            .map(|(key, words)| Strip::of(Role::Key, key).gap(1).text(Role::Plain, words))
            .collect(),
    };
    let message = footer::message(scene);
    let urgent = scene.ui.note.is_some() || message.as_ref().is_some_and(|(role, _)| *role == Role::Look);
    let room = height.saturating_sub(usize::from(!urgent));
    let mut lines = Vec::new();
    if let Some((role, text)) = message {
        let said = wrap(&text, width).into_iter().map(|line| Strip::of(role, line));
        lines.extend(said.take(room.saturating_sub(keys.len()).max(usize::from(room > 0))));
    }
    let left = room.saturating_sub(lines.len());
    lines.extend(keys.into_iter().rev().take(left).rev());
    lines
}

/// Where one writes, and the keys that are none of its letters.
fn writing(scene: &Scene<'_>, note: &str, width: usize) -> Vec<Strip> {
    let title = scene.t("note> ", "备注> ");
    let room = width.saturating_sub(cells(title) + 1);
    vec![
        Strip::of(Role::Key, title)
            .text(Role::Plain, footer::tail(note, room))
            .text(Role::Picked, " "),
        Strip::of(Role::Key, "Ctrl-R")
            .gap(1)
            .text(Role::Plain, scene.t("RECOVER", "恢复"))
            .gap(2)
            .text(Role::Key, "Esc")
            .gap(1)
            .text(Role::Plain, scene.t("cancel", "取消")),
    ]
}

fn guard(scene: &Scene<'_>) -> Strip {
    let strip = Strip::of(Role::Plain, scene.t("guard ", "守护 "));
    match scene.view.worst_guard() {
        Some((_, view)) => {
            let health = view.state.health;
            strip.text(
                health_role(health),
                format!("{} {}", health.word(scene.lang()), view.state.bad),
            )
        }
        None if scene.view.guards.iter().any(Option::is_some) => {
            strip.text(Role::Good, scene.t("holds", "成立"))
        }
        None => strip.text(Role::Dim, "--"),
    }
}

/// `ok2 !1 ?3`: as expected, unexpected, and all that say nothing.
fn counts(scene: &Scene<'_>) -> Strip {
    let counts = scene.view.verdict_counts();
    let of = |wanted: Verdict| counts.iter().find(|(v, _)| *v == wanted).map_or(0, |(_, n)| *n);
    let (expected, unexpected) = (of(Verdict::AsExpected), of(Verdict::Unexpected));
    let rest = scene.view.rows.len().saturating_sub(expected + unexpected);
    Strip::of(Role::Good, format!("{}{expected} ", scene.t("ok", "符")))
        .text(
            if unexpected > 0 { Role::Look } else { Role::Plain },
            format!("!{unexpected} "),
        )
        .text(Role::Plain, format!("?{rest}"))
}
