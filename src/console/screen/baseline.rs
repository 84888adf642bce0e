//! Before any fault: what the silent baseline shows, and whether the run may be armed.

use super::{
    super::{cells::Strip, scene::Scene, theme::Role},
    facts::facts,
    fitted,
    preflight::check,
    sign,
};
use crate::{
    model::{
        amount::Level,
        event::{BaselineRow, CheckOutcome, Steadiness},
        sample::Query,
        text::Word,
    },
    view::BaselineView,
};

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

fn noted_checks(scene: &Scene<'_>, width: usize) -> Vec<Strip> {
    let noted = scene
        .view
        .checks
        .iter()
        .filter(|c| c.outcome != CheckOutcome::Passed);
    noted.flat_map(|c| check(scene, c, width)).collect()
}

/// Whether the run may be armed. Once the time is up and it may not, the keeper's reasons stand here.
fn arming(scene: &Scene<'_>, width: usize) -> Vec<Strip> {
    if scene.view.cannot_arm.is_empty() {
        return vec![forecast(scene).cut_to(width)];
    }
    let words = scene.t("CANNOT ARM: e extends, r ends it", "不能发起：e 延长，r 结束");
    let mut lines = vec![Strip::of(Role::Look, " ! ").text(Role::Look, words)];
    for reason in scene.view.cannot_arm.iter().take(REASONS) {
        let reason = reason.get(scene.lang());
        lines.push(Strip::default().gap(3).text(Role::Plain, reason).cut_to(width));
    }
    if scene.view.cannot_arm.len() > REASONS {
        let count = scene.view.cannot_arm.len() - REASONS;
        let words = scene.t("more reasons, see 4", "条其他原因，见 4");
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
            (Some(cells), Some(why)) => strip.col(Role::Dim, why.get(scene.lang()), cells),
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
