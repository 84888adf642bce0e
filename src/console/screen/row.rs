//! A row of the sheet: its line, what it means if it does not come, and its details.

use super::{
    super::{
        cells::{Strip, wrap},
        scene::Scene,
        theme::Role,
    },
    heading,
};
use crate::{
    model::{
        amount::Level,
        event::RowHeader,
        sheet::{RowState, Verdict},
        text::Word,
    },
    view::{RowView, row_label},
};

/// What it means if the row does not come. Its line is there from the beginning, so that no row moves when it counts.
pub(super) fn otherwise(scene: &Scene<'_>, expected: &RowHeader, state: Option<&RowView>) -> Option<Strip> {
    let text = expected.otherwise.as_ref()?.get(scene.lang());
    let unexpected = state
        .and_then(|r| r.state.as_ref())
        .is_some_and(|s| s.verdict == Verdict::Unexpected);
    Some(if unexpected {
        Strip::default().gap(5).text(Role::Look, text)
    } else {
        Strip::default()
            .gap(5)
            .text(Role::Dim, format!("{} {text}", scene.t("if not:", "否则:")))
    })
}

pub(super) struct Columns {
    metric: usize,
    verdict: usize,
    pub(super) width: usize,
    /// The width of the reason; none on a narrow screen.
    reason: Option<usize>,
}

const SCOPE: usize = 9;
const BEFORE: usize = 9;
const NOW: usize = 9;
const DECLARED: usize = 13;
const VERDICT: usize = 14;
const AGE: usize = 6;
const RANGE: usize = 22;
const N: usize = 5;

impl Columns {
    pub(super) fn of(width: usize) -> Self {
        let fixed = 3 + SCOPE + BEFORE + NOW + DECLARED + VERDICT + AGE;
        let metric = width.saturating_sub(fixed).clamp(10, 30);
        let spare = width.saturating_sub(fixed + metric);
        Self {
            metric,
            verdict: VERDICT,
            width,
            reason: (spare > RANGE + N + 20).then(|| spare - RANGE - N),
        }
    }

    pub(super) fn titles(&self, scene: &Scene<'_>) -> Strip {
        let strip = Strip::default()
            .gap(3)
            .col(Role::Dim, scene.t("EXPECTATION", "预期"), self.metric + SCOPE)
            .col(Role::Dim, scene.t("before", "之前"), BEFORE)
            .col(Role::Dim, scene.t("now", "当前"), NOW)
            .col(Role::Dim, scene.t("declared", "声明"), DECLARED)
            .col(Role::Dim, scene.t("VERDICT", "结论"), self.verdict)
            .col(Role::Dim, scene.t("age", "时龄"), AGE);
        match self.reason {
            Some(cells) => strip
                .col(Role::Dim, scene.t("measured interval", "实测区间"), RANGE)
                .col(Role::Dim, "n", N)
                .col(Role::Dim, scene.t("reason", "原因"), cells),
            None => strip,
        }
    }

    pub(super) fn line(
        &self,
        scene: &Scene<'_>,
        expected: &RowHeader,
        row: Option<&RowView>,
        picked: bool,
    ) -> Strip {
        let state = row.and_then(|r| r.state.as_ref());
        let role = state.map_or(Role::Dim, |s| verdict_role(s.verdict));
        let mark = if picked { ">" } else { " " };
        let look = if role == Role::Look { "! " } else { "  " };
        let scope = expected.scope.as_ref().map_or("", |s| s.as_str());
        let (before, now) = (state.and_then(|s| s.before), state.and_then(|s| s.now));
        let strip = Strip::of(Role::Strong, mark)
            .text(role, look)
            .col(Role::Plain, expected.metric.as_str(), self.metric)
            .col(Role::Dim, scope, SCOPE)
            .col(Role::Plain, scene.value(&expected.metric, before), BEFORE)
            .col(Role::Strong, scene.value(&expected.metric, now), NOW)
            .col(Role::Plain, &expected.declared, DECLARED)
            .col(role, verdict_words(scene, state), self.verdict);
        let strip = match (state, row) {
            (Some(state), Some(row)) if !state.last => {
                let (role, age) = scene.age_piece(state.age, row.at);
                strip.col(role, age, AGE)
            }
            (Some(_), _) => strip.col(Role::Dim, scene.t("final", "终"), AGE),
            _ => strip.col(Role::Dim, "--", AGE),
        };
        let strip = match (self.reason, state) {
            (Some(cells), Some(state)) => strip
                .col(Role::Plain, interval(scene, expected, state), RANGE)
                .col(Role::Dim, state.windows.to_string(), N)
                .col(Role::Dim, state.reason.get(scene.lang()), cells),
            _ => strip,
        };
        let strip = strip.cut_to(self.width);
        if picked { strip.all(Role::Picked) } else { strip }
    }
}

fn verdict_words(scene: &Scene<'_>, state: Option<&RowState>) -> String {
    match state {
        None if scene.over() => scene.t("never judged", "未判").to_owned(),
        None => scene.t("not yet", "尚早").to_owned(),
        Some(s) if s.partial => format!("{}~", s.verdict.word(scene.lang())),
        Some(s) => s.verdict.word(scene.lang()).to_owned(),
    }
}

/// Green only where the row is as expected; everything else wants a look.
fn verdict_role(verdict: Verdict) -> Role {
    match verdict {
        Verdict::AsExpected => Role::Good,
        Verdict::Undecided | Verdict::NoData => Role::Plain,
        Verdict::Unexpected | Verdict::NotExercised | Verdict::Confounded => Role::Look,
    }
}

/// What was measured, from end to end.
pub(super) fn interval(scene: &Scene<'_>, expected: &RowHeader, state: &RowState) -> String {
    let unit = scene.unit(&expected.metric);
    let show = |end: Option<Level>| end.map_or("--".to_owned(), |end| expected.measured.show(unit, end));
    match (state.low, state.high) {
        (None, None) => "--".to_owned(),
        (low, high) => format!("{}..{}", show(low), show(high)),
    }
}

/// Everything about the picked row.
pub(super) fn details(scene: &Scene<'_>, width: usize) -> Vec<Strip> {
    let Some(header) = scene.header() else {
        return Vec::new();
    };
    let picked = scene.ui.picked.and_then(|n| scene.view.rows.get(n));
    let Some((row, expected)) = picked.and_then(|row| Some((row, header.row(row.id)?))) else {
        return Vec::new();
    };
    let title = header.metrics.iter().find(|m| m.id == expected.metric);
    let title = title.map_or("", |m| m.title.get(scene.lang()));
    let mut lines = vec![
        heading(row_label(expected))
            .gap(2)
            .text(Role::Plain, title)
            .cut_to(width),
    ];
    let mut say = |role: Role, name: &str, text: &str, most: usize| {
        let parts = wrap(text, width.saturating_sub(16));
        for (index, part) in parts.into_iter().enumerate().take(most) {
            let name = if index == 0 { name } else { "" };
            lines.push(
                Strip::default()
                    .gap(1)
                    .col(role, name, 15)
                    .text(Role::Plain, part),
            );
        }
    };
    let declared = &expected.declared;
    match &row.state {
        Some(state) => {
            let mut measured = format!(
                "{} ({} {declared}), n {}",
                interval(scene, expected, state),
                scene.t("declared", "声明"),
                state.windows
            );
            if state.partial {
                measured.push_str(scene.t("; an answer was incomplete", "; 有回答不完整"));
            }
            let verdict = state.verdict.word(scene.lang());
            say(Role::Dim, scene.t("measured", "实测"), &measured, 1);
            say(
                verdict_role(state.verdict),
                verdict,
                state.reason.get(scene.lang()),
                2,
            );
        }
        None => say(Role::Dim, scene.t("declared", "声明"), declared, 1),
    }
    if let Some(otherwise) = &expected.otherwise {
        say(
            Role::Dim,
            scene.t("if not", "否则"),
            otherwise.get(scene.lang()),
            2,
        );
    }
    lines
}
