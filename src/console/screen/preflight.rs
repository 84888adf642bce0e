//! Before the baseline: what preflight found, one check after the other.

use super::{
    super::{
        cells::{Strip, wrap},
        scene::Scene,
        theme::Role,
    },
    facts::facts,
    fitted, heading, sign,
};
use crate::model::{
    event::{Check, CheckOutcome},
    text::Word,
};

/// The body while preflight looks.
pub(super) fn preflight(scene: &Scene<'_>, width: usize, height: usize) -> Vec<Strip> {
    let mut lines = vec![heading(scene.t(
        "PREFLIGHT  reads and asks, touches nothing",
        "预检  只读只问, 不触碰任何东西",
    ))];
    let facts = facts(scene, width);
    let room = height.saturating_sub(lines.len() + facts.len());
    let checks = checks(scene, width);
    lines.extend(fitted(scene, checks, room));
    lines.extend(facts);
    lines
}

fn checks(scene: &Scene<'_>, width: usize) -> Vec<Strip> {
    scene
        .view
        .checks
        .iter()
        .flat_map(|c| check(scene, c, width))
        .collect()
}

/// A check: what, how it went, what was found, and below what to do about it.
pub(super) fn check(scene: &Scene<'_>, check: &Check, width: usize) -> Vec<Strip> {
    let role = match check.outcome {
        CheckOutcome::Passed => Role::Good,
        CheckOutcome::Warned | CheckOutcome::Refused => Role::Look,
    };
    let indent = 3 + 20 + 9;
    let mut lines = Vec::new();
    for (index, part) in wrap(check.found.get(scene.lang()), width.saturating_sub(indent))
        .into_iter()
        .enumerate()
        .take(3)
    {
        lines.push(if index == 0 {
            sign(role)
                .col(Role::Plain, check.what.get(scene.lang()), 20)
                .col(role, check.outcome.word(scene.lang()), 9)
                .text(Role::Plain, part)
        } else {
            Strip::default().gap(indent).text(Role::Plain, part)
        });
    }
    if let Some(next) = check
        .next
        .as_ref()
        .filter(|_| check.outcome != CheckOutcome::Passed)
    {
        for part in wrap(next.get(scene.lang()), width.saturating_sub(indent + 2))
            .into_iter()
            .take(3)
        {
            lines.push(
                Strip::default()
                    .gap(indent)
                    .text(Role::Look, "→ ")
                    .text(Role::Plain, part),
            );
        }
    }
    lines
}
