//! A terminal too small for a screen: the phase, the guard, the verdicts, the key.

use super::{
    super::{
        cells::Strip,
        scene::{Scene, health_role},
        theme::Role,
    },
    footer, frame,
};
use crate::model::{sheet::Verdict, text::Word};

/// As many lines as there is room for, the most important first.
pub(super) fn lines(scene: &Scene<'_>, width: usize, height: usize) -> Vec<Strip> {
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
    lines.push(guard(scene));
    lines.push(counts(scene));
    if let Some((key, words)) = footer::footer(scene).into_iter().next() {
        lines.push(Strip::of(Role::Key, key).gap(1).text(Role::Plain, words));
    }
    if lines.len() > height && height > 0 {
        let key = lines.pop();
        lines.truncate(height.saturating_sub(1).max(1));
        lines.extend(key.filter(|_| height > 1));
    }
    lines.into_iter().map(|l| l.cut_to(width)).collect()
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
