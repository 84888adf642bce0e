//! The lines that never drop: whose run this is and where it is; what the keys do.

use super::super::{
    cells::{Strip, cut, rule},
    scene::{Scene, health_role},
    theme::Role,
};
use crate::{
    model::{
        environment::Stage,
        event::Header,
        phase::Phase,
        text::Word,
        time::{Moment, Span},
    },
    view::{FaultState, RunView},
};

/// Lines 1 and 2, and a rule.
pub(crate) fn top(scene: &Scene<'_>, width: usize) -> Vec<Strip> {
    vec![title(scene, width), status(scene, width), rule(width)]
}

fn title(scene: &Scene<'_>, width: usize) -> Strip {
    let clock = Strip::of(Role::Plain, scene.clock(scene.now));
    let left = Strip::of(Role::Strong, " allclear");
    let Some(header) = scene.header() else {
        return left
            .gap(2)
            .text(Role::Dim, scene.t("waiting for the keeper", "等待守护进程"))
            .ending_in(clock.gap(1), width);
    };
    let right = Strip::of(Role::Dim, format!("{} ", scene.t("run", "演练")))
        .text(Role::Plain, header.run.as_str())
        .gap(2)
        .join(clock)
        .gap(1);
    let left = left
        .gap(2)
        .text(Role::Plain, header.drill.as_str())
        .gap(2)
        .text(Role::Look, purpose(scene, header))
        .join(place(scene, header));
    left.ending_in(right, width)
}

/// Nobody shall take a rehearsal for a drill, or the other way round.
fn purpose(scene: &Scene<'_>, header: &Header) -> String {
    let word = header.purpose.word(scene.lang());
    word.map(|w| format!("{w}  ")).unwrap_or_default()
}

/// Before the first word of the keeper nothing is known, and nothing is claimed.
pub(crate) fn unknown(scene: &Scene<'_>) -> Strip {
    Strip::default()
        .gap(1)
        .text(Role::Look, scene.t("NOT CONNECTED YET", "尚未连接"))
        .gap(3)
        .text(Role::Plain, scene.t("a fault may be live", "可能有故障在身"))
}

fn place(scene: &Scene<'_>, header: &Header) -> Strip {
    let role = match header.stage {
        Stage::Production => Role::Look,
        Stage::Practice | Stage::Preprod | Stage::Shadow => Role::Plain,
    };
    let only_looks = if scene.options.read_only {
        scene.t("  READ ONLY", "  只读")
    } else {
        ""
    };
    Strip::of(
        role,
        format!("[{} {}]", header.stage.word(scene.lang()), header.environment),
    )
    .text(Role::Look, only_looks)
}

fn status(scene: &Scene<'_>, width: usize) -> Strip {
    if scene.header().is_none() {
        return unknown(scene).ending_in(guard(scene), width);
    }
    let guard = guard(scene);
    let left = state(scene, width.saturating_sub(guard.width()));
    let right = if left.width() + guard.width() + WATCHING > width {
        guard
    } else {
        guard.join(watching(scene))
    };
    left.ending_in(right, width)
}

/// Whether the status line has no room for the whole of why it recovers.
pub(super) fn cause_is_cut(scene: &Scene<'_>, width: usize) -> bool {
    let room = width.saturating_sub(guard(scene).width());
    state(scene, room).width() >= room
}

/// The phase and what belongs to it, in `room` cells if that can be.
fn state(scene: &Scene<'_>, room: usize) -> Strip {
    let phase = scene.view.phase;
    let left = Strip::default()
        .gap(1)
        .text(Role::Strong, phase.phase.word(scene.lang()))
        .text(Role::Plain, running_clock(scene))
        .join(live(scene));
    match phase.phase {
        Phase::Preflight => left
            .gap(3)
            .text(Role::Plain, scene.t("touches nothing", "不触碰任何东西")),
        Phase::Baseline => baseline(scene, left, room),
        Phase::Armed => left
            .gap(3)
            .text(Role::Plain, scene.t("nothing injected yet", "尚未注入")),
        Phase::Running if scene.view.recovering.is_none() => left,
        Phase::Running | Phase::Recovering | Phase::Verifying => cause(scene, left),
        Phase::Closed => closed(scene, left),
    }
}

/// The room that the number of consoles takes: what gives way first.
const WATCHING: usize = 15;

/// When it may arm is worth more than that nothing is injected, which the phase says as well.
fn baseline(scene: &Scene<'_>, left: Strip, room: usize) -> Strip {
    let harmless = Strip::default()
        .gap(3)
        .text(Role::Plain, scene.t("nothing injected", "未注入"));
    let arms = match scene.view.phase.until {
        _ if !scene.view.cannot_arm.is_empty() => Strip::default()
            .gap(3)
            .text(Role::Look, scene.t("CANNOT ARM", "不能发起")),
        Some(until) => Strip::default()
            .gap(3)
            .text(Role::Dim, scene.t("earliest arm ", "最早发起 "))
            .text(Role::Plain, scene.clock(until)),
        None => Strip::default(),
    };
    if left.width() + harmless.width() + arms.width() < room {
        left.join(harmless).join(arms)
    } else {
        left.join(arms)
    }
}

fn cause(scene: &Scene<'_>, left: Strip) -> Strip {
    match &scene.view.recovering {
        Some(recovering) => left
            .gap(3)
            .text(Role::Plain, recovering.cause.describe(scene.lang())),
        None => left,
    }
}

fn closed(scene: &Scene<'_>, left: Strip) -> Strip {
    let hypothesis = scene.view.outcome.as_ref().and_then(|o| o.hypothesis);
    let left = match hypothesis {
        Some(hypothesis) => left.gap(3).text(Role::Strong, hypothesis.word(scene.lang())),
        None => left,
    };
    match scene.ending() {
        Some((role, words)) => left.gap(3).text(role, words),
        None => left
            .gap(3)
            .text(Role::Look, scene.t("no outcome yet", "尚无结果")),
    }
}

/// ` 04:12/10:00`: since when, of how long.
pub(crate) fn running_clock(scene: &Scene<'_>) -> String {
    let phase = scene.view.phase;
    let (since, until) = match phase.phase {
        Phase::Closed => return String::new(),
        Phase::Recovering | Phase::Verifying => {
            let span = scene.view.recovering_for(scene.now).unwrap_or(Span::ZERO);
            return format!(" {}", span.clock());
        }
        Phase::Running if phase.until.is_none() => step_times(scene.view).unwrap_or((phase.since, None)),
        _ => (phase.since, phase.until),
    };
    let passed = scene.since(since).clock();
    match until {
        Some(until) => format!(" {passed}/{}", nearest_second(until.since(since)).clock()),
        None => format!(" {passed}"),
    }
}

/// A step begins some milliseconds after the moment that its end was counted from.
fn nearest_second(span: Span) -> Span {
    Span((span.0 + 500) / 1000 * 1000)
}

fn step_times(view: &RunView) -> Option<(Moment, Option<Moment>)> {
    let step = view.steps.iter().find(|s| s.runs())?;
    Some((step.started?, step.until))
}

/// `   1 fault LIVE   expires itself 14:12:30`, as long as any may be live.
pub(crate) fn live(scene: &Scene<'_>) -> Strip {
    let faults: Vec<_> = scene.view.live_faults().collect();
    if faults.is_empty() {
        return Strip::default();
    }
    let known = faults.iter().filter(|f| f.state == FaultState::Live).count();
    let noun = if faults.len() == 1 {
        scene.t("fault", "个故障")
    } else {
        scene.t("faults", "个故障")
    };
    let word = if known > 0 {
        scene.t("LIVE", "已注入")
    } else {
        scene.t("MAYBE LIVE", "可能已注入")
    };
    let strip = Strip::default()
        .gap(3)
        .text(Role::Alarm, format!("{} {noun} {word}", faults.len()));
    if scene.view.phase.phase != Phase::Running {
        return strip;
    }
    let expiries: Option<Vec<Moment>> = faults.iter().map(|f| f.expires).collect();
    match expiries.and_then(|all| all.into_iter().max()) {
        Some(last) if last > scene.now => strip
            .gap(3)
            .text(
                Role::Dim,
                if faults.len() == 1 {
                    scene.t("expires itself ", "自行失效 ")
                } else {
                    scene.t("expire themselves ", "自行失效 ")
                },
            )
            .text(Role::Plain, scene.clock(last)),
        Some(_) => strip.gap(3).text(
            Role::Look,
            scene.t("expiry passed, not read back", "已过期, 未回读"),
        ),
        None => strip
            .gap(3)
            .text(Role::Look, scene.t("no expiry of its own", "不会自行失效")),
    }
}

/// What must be seen from every screen: that the keeper is gone, or a guard that does not hold.
fn guard(scene: &Scene<'_>) -> Strip {
    if let Some(lost) = lost(scene) {
        return lost.gap(1);
    }
    if scene.over() {
        return Strip::default();
    }
    match scene.view.worst_guard() {
        Some((index, guard)) => {
            let samples = scene
                .header()
                .and_then(|h| h.guard.get(index))
                .map_or(0, |g| g.samples);
            let health = guard.state.health.word(scene.lang());
            let text = format!(
                "{} {health} {}/{samples}",
                scene.t("guard", "守护"),
                guard.state.bad
            );
            Strip::of(health_role(guard.state.health), text).gap(1)
        }
        None => Strip::default(),
    }
}

/// That the keeper is gone, with the first clause of why.
pub(super) fn lost(scene: &Scene<'_>) -> Option<Strip> {
    let why = scene.ui.lost.as_ref()?.get(scene.lang());
    let clause = why.split([';', '；']).next().unwrap_or(why);
    let words = scene.t("NO KEEPER:", "无守护进程:");
    Some(Strip::of(Role::Look, format!("{words} {}", cut(clause, 24))))
}

fn watching(scene: &Scene<'_>) -> Strip {
    if scene.over() || scene.ui.lost.is_some() {
        return Strip::default();
    }
    Strip::default()
        .gap(1)
        .text(Role::Dim, scene.t("watching: ", "观看: "))
        .text(Role::Plain, scene.view.watching.to_string())
        .gap(1)
}
