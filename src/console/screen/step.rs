//! The heading of a step on the sheet: what it breaks, where, what it has hit, how far it is.

use super::{
    super::{cells::Strip, scene::Scene, theme::Role},
    heading,
};
use crate::{
    model::{
        event::{Hits, StepHeader},
        time::{Moment, Span},
    },
    view::{FaultView, StepView, hits_line},
};

/// The line.
pub(super) fn step_heading(scene: &Scene<'_>, step: &StepHeader, view: StepView, width: usize) -> Strip {
    let faults: Vec<_> = scene
        .view
        .faults
        .iter()
        .filter(|f| f.place.as_ref().is_some_and(|(name, _)| name == &step.name))
        .collect();
    let kind = if step.breaks {
        scene.t("FAULT", "故障")
    } else {
        scene.t("STEP", "步骤")
    };
    let mut strip = heading(kind).gap(1).text(Role::Strong, step.name.as_str());
    match faults.as_slice() {
        [] => {
            if !step.what.is_empty() {
                strip = strip.gap(2).text(Role::Plain, &step.what);
            }
        }
        [one] => {
            if let Some(instance) = one.instance() {
                strip = strip.gap(2).text(Role::Plain, instance.as_str());
            }
        }
        many => {
            let live = many.iter().filter(|f| f.may_be_live()).count();
            let words = scene.t("instances, live:", "个实例, 已注入:");
            strip = strip
                .gap(2)
                .text(Role::Plain, format!("{} {words} {live}", many.len()));
        }
    }
    let live = faults.iter().any(|f| f.may_be_live());
    if let Some((hits, at)) = total_hits(&faults) {
        let cap = step
            .max_concurrent
            .and_then(|c| c.checked_mul(u32::try_from(faults.len()).ok()?));
        let role = if hits.failed > 0 || hits.capped > 0 {
            Role::Look
        } else {
            Role::Plain
        };
        let held = live.then_some((hits.held, cap));
        strip = strip.gap(2).text(role, hits_line(&hits, held, scene.lang()));
        if live {
            strip = strip.gap(2).join(age(scene, at));
        }
    }
    // Also where a keeper that died has taken the hits along.
    if !live && !faults.is_empty() {
        let gone = scene.t("gone, read back", "已清, 已回读");
        strip = strip.gap(2).text(Role::Good, gone);
    }
    let progress = progress(scene, view).gap(1);
    let fits = strip.width() + progress.width() < width;
    if fits {
        strip.ending_in(progress, width)
    } else {
        strip.cut_to(width)
    }
}

fn age(scene: &Scene<'_>, at: Moment) -> Strip {
    let (role, age) = scene.age_piece(Span::ZERO, at);
    Strip::of(role, age)
}

fn total_hits(faults: &[&FaultView]) -> Option<(Hits, Moment)> {
    let read = faults.iter().filter_map(|f| f.hits);
    read.reduce(|(sum, oldest), (hits, at)| {
        let sum = Hits {
            hits: sum.hits.saturating_add(hits.hits),
            misses: sum.misses.saturating_add(hits.misses),
            failed: sum.failed.saturating_add(hits.failed),
            capped: sum.capped.saturating_add(hits.capped),
            held: sum.held.saturating_add(hits.held),
        };
        (sum, oldest.min(at))
    })
}

fn progress(scene: &Scene<'_>, view: StepView) -> Strip {
    match (view.started, view.ended, view.until) {
        (None, ..) if scene.view.recovering.is_some() || scene.over() => {
            Strip::of(Role::Dim, scene.t("not run", "未执行"))
        }
        (None, ..) => Strip::of(Role::Dim, scene.t("later", "等候")),
        // What stopped the step early is above; how far it had come is worth keeping.
        (Some(started), None, Some(until)) if let Some(recovering) = &scene.view.recovering => {
            let (ran, planned) = (recovering.since.since(started), until.since(started));
            let words = scene.t("stopped at", "停于");
            Strip::of(Role::Dim, format!("{words} {}/{}", ran.clock(), planned.clock()))
        }
        (Some(started), None, Some(until)) => {
            let text = format!(
                "{}/{}",
                scene.since(started).clock(),
                until.since(started).clock()
            );
            Strip::of(Role::Plain, text)
        }
        (Some(started), None, None) => Strip::of(Role::Plain, scene.since(started).clock()),
        (Some(_), Some(_), _) => Strip::of(Role::Dim, scene.t("over", "结束")),
    }
}
