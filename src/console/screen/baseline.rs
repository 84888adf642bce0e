//! Before any fault: what preflight found, what the silent baseline shows, and whether the run may be armed.

use super::{
    super::{
        cells::{Strip, wrap},
        scene::Scene,
        theme::Role,
    },
    heading, more, sign,
};
use crate::{
    model::{
        amount::Level,
        event::{BaselineRow, CheckOutcome, Steadiness},
        sample::Query,
        text::Word,
    },
    view::{BaselineView, SnapshotView},
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

/// The body while the baseline is watched.
pub(super) fn lines(scene: &Scene<'_>, width: usize, height: usize) -> Vec<Strip> {
    let columns = Columns::of(width);
    let mut bottom = facts(scene, width);
    bottom.extend(arming(scene, width));
    let mut lines = vec![columns.titles(scene)];
    let mut rows: Vec<Strip> = scene
        .view
        .baseline
        .iter()
        .map(|b| columns.line(scene, b))
        .collect();
    if rows.is_empty() {
        let words = scene.t("no window is complete yet", "尚无完整窗口");
        rows.push(Strip::default().gap(3).text(Role::Dim, words));
    }
    let noted: Vec<Strip> = noted_checks(scene, width);
    let room = height.saturating_sub(lines.len() + bottom.len());
    lines.extend(fitted(scene, rows, room));
    let left = height.saturating_sub(lines.len() + bottom.len());
    lines.extend(fitted(scene, noted, left));
    while lines.len() + bottom.len() < height {
        lines.push(Strip::default());
    }
    lines.extend(bottom);
    lines
}

fn fitted(scene: &Scene<'_>, mut strips: Vec<Strip>, room: usize) -> Vec<Strip> {
    let hidden = strips.len().saturating_sub(room);
    strips.truncate(room);
    if hidden > 0
        && let Some(last) = strips.last_mut()
    {
        *last = more(scene, hidden + 1);
    }
    strips
}

fn checks(scene: &Scene<'_>, width: usize) -> Vec<Strip> {
    scene
        .view
        .checks
        .iter()
        .flat_map(|c| check(scene, c, width))
        .collect()
}

fn noted_checks(scene: &Scene<'_>, width: usize) -> Vec<Strip> {
    let noted = scene
        .view
        .checks
        .iter()
        .filter(|c| c.outcome != CheckOutcome::Passed);
    noted.flat_map(|c| check(scene, c, width)).collect()
}

/// A check: what, how it went, what was found, and below what to do about it.
pub(super) fn check(scene: &Scene<'_>, check: &crate::model::event::Check, width: usize) -> Vec<Strip> {
    let role = match check.outcome {
        CheckOutcome::Passed => Role::Good,
        CheckOutcome::Warned | CheckOutcome::Refused => Role::Look,
    };
    let indent = 3 + 20 + 9;
    let mut lines = Vec::new();
    for (index, part) in wrap(&check.found, width.saturating_sub(indent))
        .into_iter()
        .enumerate()
        .take(3)
    {
        lines.push(if index == 0 {
            sign(role)
                .col(Role::Plain, check.what.as_str(), 20)
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
        for part in wrap(next, width.saturating_sub(indent + 2)).into_iter().take(3) {
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

/// Reach, stops, expiry, what was left by earlier runs: the lines that say how far this can go.
pub(super) fn facts(scene: &Scene<'_>, width: usize) -> Vec<Strip> {
    let mut lines = Vec::new();
    let mut say = |name: &str, role: Role, text: String| {
        lines.push(
            Strip::default()
                .gap(1)
                .col(Role::Strong, name, 7)
                .text(role, text)
                .cut_to(width),
        );
    };
    let most = 3;
    for (index, line) in scene.view.reach.iter().enumerate().take(most) {
        let title = if index == 0 {
            scene.t("REACH", "影响面")
        } else {
            ""
        };
        let full = line
            .threads
            .zip(line.pool)
            .is_some_and(|(t, p)| t >= f64::from(p));
        let role = if full { Role::Look } else { Role::Plain };
        let full = crate::view::reach_line(line, false, scene.lang());
        let fits = crate::console::cells::width(&full) + 8 <= width;
        let text = if fits {
            full
        } else {
            crate::view::reach_line(line, true, scene.lang())
        };
        say(title, role, text);
    }
    if scene.view.reach.len() > most {
        let words = scene.t("more instances, see 5", "个其他实例, 见 5");
        say(
            "",
            Role::Dim,
            format!("{} {words}", scene.view.reach.len() - most),
        );
    }
    if let Some(stops) = scene.view.stops {
        let tripwire = stops.tripwire.map_or("--".to_owned(), |t| t.to_string());
        let text = format!(
            "{} {tripwire}; {} {}-{}",
            scene.t("tripwire", "绊线"),
            scene.t("guard", "守护"),
            stops.guard.0,
            stops.guard.1
        );
        say(scene.t("STOPS", "止损"), Role::Plain, text);
    }
    if let Some(snapshot) = &scene.view.snapshot {
        let ours = SnapshotView {
            foreign: Vec::new(),
            ..snapshot.clone()
        };
        let text = crate::view::snapshot_line(&ours, scene.lang());
        say(scene.t("RECORD", "快照"), Role::Plain, text);
        if !snapshot.foreign.is_empty() {
            let names = snapshot.foreign.join(", ");
            say(
                "",
                Role::Look,
                format!(
                    "{} {names}",
                    scene.t("not ours, left alone:", "非本次所建, 不动:")
                ),
            );
        }
    }
    lines
}

/// Whether the run may be armed. Once the time is up and it may not, the keeper's reasons stand here.
fn arming(scene: &Scene<'_>, width: usize) -> Vec<Strip> {
    if scene.view.cannot_arm.is_empty() {
        return vec![forecast(scene).cut_to(width)];
    }
    let words = scene.t("CANNOT ARM: e extends, r ends it", "不能发起: e 延长, r 结束");
    let mut lines = vec![Strip::of(Role::Look, " ! ").text(Role::Look, words)];
    for reason in scene.view.cannot_arm.iter().take(REASONS) {
        lines.push(Strip::default().gap(3).text(Role::Plain, reason).cut_to(width));
    }
    if scene.view.cannot_arm.len() > REASONS {
        let count = scene.view.cannot_arm.len() - REASONS;
        let words = scene.t("more reasons, see 4", "条其他原因, 见 4");
        lines.push(
            Strip::default()
                .gap(3)
                .text(Role::Dim, format!("{count} {words}")),
        );
    }
    lines
}

/// The most reasons that are shown below the rows.
const REASONS: usize = 3;

fn forecast(scene: &Scene<'_>) -> Strip {
    let strip = Strip::default().gap(1);
    let unfit = scene.view.unfit_baseline();
    let refused = scene.view.refusing_checks().count();
    match (unfit, refused) {
        (0, 0) if scene.view.baseline.is_empty() => strip.text(Role::Dim, scene.t("Watching.", "观察中.")),
        (0, 0) => match scene.view.phase.until {
            Some(until) => strip
                .text(
                    Role::Good,
                    scene.t("Nothing stands against arming at ", "没有什么妨碍发起, 于 "),
                )
                .text(Role::Plain, scene.clock(until)),
            None => strip.text(
                Role::Good,
                scene.t("Nothing stands against arming.", "没有什么妨碍发起."),
            ),
        },
        (rows, 0) => strip.text(
            Role::Look,
            format!(
                "{} {rows}",
                scene.t("Cannot arm as it stands, rows:", "目前不能发起, 行数:")
            ),
        ),
        (rows, checks) => {
            let words = scene.t(
                "Cannot arm as it stands, rows and checks:",
                "目前不能发起, 行数与检查数:",
            );
            strip.text(Role::Look, format!("{words} {rows}, {checks}"))
        }
    }
}

struct Columns {
    metric: usize,
    width: usize,
    why: Option<usize>,
}

const SCOPE: usize = 9;
const HALF: usize = 11;
const N: usize = 5;
const CAN: usize = 10;
const STATE: usize = 11;
const AGE: usize = 5;

impl Columns {
    fn of(width: usize) -> Self {
        let fixed = 3 + SCOPE + 2 * HALF + N + CAN + STATE + AGE;
        let metric = width.saturating_sub(fixed).clamp(10, 30);
        let spare = width.saturating_sub(fixed + metric);
        Self {
            metric,
            width,
            why: (spare > 10).then_some(spare),
        }
    }

    fn titles(&self, scene: &Scene<'_>) -> Strip {
        Strip::default()
            .gap(3)
            .col(Role::Dim, scene.t("METRIC", "指标"), self.metric + SCOPE)
            .col(Role::Dim, scene.t("half 1", "前半"), HALF)
            .col(Role::Dim, scene.t("half 2", "后半"), HALF)
            .col(Role::Dim, "n", N)
            .col(Role::Dim, scene.t("can show", "可分辨"), CAN)
            .col(Role::Dim, scene.t("STATE", "状态"), STATE)
            .col(Role::Dim, scene.t("age", "时龄"), AGE)
            .cut_to(self.width)
    }

    fn line(&self, scene: &Scene<'_>, view: &BaselineView) -> Strip {
        let BaselineRow {
            query, n, state, why, ..
        } = &view.row;
        let role = steadiness_role(*state);
        let scope = query.scope.as_ref().map_or("", |s| s.as_str());
        let (age_role, age) = scene.age_piece(crate::model::time::Span::ZERO, view.at);
        let strip = sign(role)
            .col(Role::Plain, query.metric.as_str(), self.metric)
            .col(Role::Dim, scope, SCOPE)
            .col(Role::Plain, value(scene, query, view.row.half1), HALF)
            .col(Role::Plain, value(scene, query, view.row.half2), HALF)
            .col(Role::Plain, n.to_string(), N)
            .col(Role::Plain, change(scene, query, view.row.can_show), CAN)
            .col(role, state.word(scene.lang()), STATE)
            .col(age_role, age, AGE);
        match (self.why, why) {
            (Some(cells), Some(why)) => strip.col(Role::Dim, why, cells),
            _ => strip,
        }
        .cut_to(self.width)
    }
}

fn value(scene: &Scene<'_>, query: &Query, value: Option<f64>) -> String {
    scene.value(&query.metric, value.map(Level))
}

fn change(scene: &Scene<'_>, query: &Query, change: Option<f64>) -> String {
    change.map_or("--".to_owned(), |c| {
        let shown = scene.unit(&query.metric).show_change(c);
        shown.trim_start_matches('+').to_owned()
    })
}

fn steadiness_role(state: Steadiness) -> Role {
    match state {
        Steadiness::Watching => Role::Dim,
        Steadiness::Steady => Role::Good,
        Steadiness::Moving => Role::Plain,
        Steadiness::Unsteady | Steadiness::TooThin => Role::Look,
    }
}
