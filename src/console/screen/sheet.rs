//! The home screen: the guard above, the reconciliation sheet below. Before a fault the baseline stands there, at the
//! end the outcome.

use super::{
    super::{
        cells::{Strip, rule, wrap},
        scene::Scene,
        theme::Role,
    },
    baseline, guard, heading, more, outcome,
};
use crate::{
    model::{
        amount::{Level, Unit},
        event::{Header, Hits, RowHeader, StepHeader},
        ids::MetricId,
        phase::Phase,
        sheet::{RowId, RowState, Verdict},
        text::Word,
        time::{Moment, Span},
    },
    view::{FaultView, RowView, StepView, hits_line, row_label},
};

/// The whole body.
pub(super) fn lines(scene: &Scene<'_>, width: usize, height: usize) -> Vec<Strip> {
    match scene.view.phase.phase {
        _ if scene.over() => {
            let mut lines = outcome::lines(scene, width);
            let most = height.saturating_sub(6).max(4);
            if lines.len() > most {
                lines.truncate(most - 1);
                lines.push(more_in_findings(scene));
            }
            finish(scene, width, height, lines)
        }
        Phase::Preflight => baseline::preflight(scene, width, height),
        Phase::Baseline | Phase::Armed => baseline::lines(scene, width, height),
        Phase::Running | Phase::Recovering | Phase::Verifying | Phase::Closed => {
            let top = guard::block(scene, width, guards_shown(height));
            finish(scene, width, height, top)
        }
    }
}

fn more_in_findings(scene: &Scene<'_>) -> Strip {
    Strip::of(
        Role::Look,
        scene.t(" ! the rest stands on screen 6", " ! 其余见画面 6"),
    )
}

/// How many guard lines a body of that height has room for.
fn guards_shown(height: usize) -> usize {
    (height / 4).clamp(2, 12)
}

/// The top, or details of the picked row in its place and of its height, so that no row moves; then the sheet.
fn finish(scene: &Scene<'_>, width: usize, height: usize, mut top: Vec<Strip>) -> Vec<Strip> {
    top.resize_with(top.len().max(DETAILS), Strip::default);
    let mut lines = if scene.ui.details {
        let mut details = details(scene, width);
        details.resize_with(top.len(), Strip::default);
        details
    } else {
        top
    };
    lines.push(rule(width));
    lines.extend(sheet(scene, width, height.saturating_sub(lines.len())));
    lines
}

/// Lines that the details of a row take.
const DETAILS: usize = 5;

/// A line of the sheet, and the row it belongs to.
struct Entry {
    row: Option<usize>,
    /// Whether the step it belongs to runs.
    runs: bool,
    strip: Strip,
}

fn sheet(scene: &Scene<'_>, width: usize, height: usize) -> Vec<Strip> {
    let Some(header) = scene.header() else {
        return Vec::new();
    };
    let columns = Columns::of(width);
    let after = after(scene, header);
    let short = entries(scene, header, &columns, false);
    let long = entries(scene, header, &columns, true);
    let room = height.saturating_sub(1);
    let mut entries = if long.len() + after.len() <= room {
        long
    } else {
        short
    };
    entries.extend(after.into_iter().map(|strip| Entry {
        row: None,
        runs: false,
        strip,
    }));
    let from = first_shown(scene, &entries, room);
    let below = entries.len().saturating_sub(from + room);
    let mut lines = vec![columns.titles(scene)];
    lines.extend(entries.into_iter().skip(from).take(room).map(|e| e.strip));
    if below > 0
        && let Some(last) = lines.last_mut().filter(|_| room > 0)
    {
        *last = more(scene, below + 1);
    }
    lines.truncate(height);
    lines
}

/// The first line that is shown. With a picked row, so far down that the row is in sight; otherwise so far that the
/// running step begins at the top, if not everything fits.
fn first_shown(scene: &Scene<'_>, entries: &[Entry], room: usize) -> usize {
    let most = entries.len().saturating_sub(room);
    let wanted = match scene.ui.picked {
        Some(picked) => {
            let line = entries.iter().position(|e| e.row == Some(picked)).unwrap_or(0);
            (line + 3).saturating_sub(room)
        }
        None => entries.iter().position(|e| e.runs).unwrap_or(0),
    };
    wanted.min(most)
}

fn entries(scene: &Scene<'_>, header: &Header, columns: &Columns, with_otherwise: bool) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut count = 0;
    for (index, step) in header.steps.iter().enumerate() {
        let view = scene.view.steps.get(index).copied().unwrap_or_default();
        for strip in step_heading(scene, step, view, columns.width) {
            entries.push(Entry {
                row: None,
                runs: view.runs(),
                strip,
            });
        }
        for (row, expected) in step.rows.iter().enumerate() {
            let id = RowId { step: index, row };
            let state = scene.view.row(id);
            let picked = scene.ui.picked == Some(count);
            let strip = columns.line(scene, expected, state, picked);
            entries.push(Entry {
                row: Some(count),
                runs: view.runs(),
                strip,
            });
            if let Some(strip) = with_otherwise
                .then(|| otherwise(scene, expected, state))
                .flatten()
            {
                entries.push(Entry {
                    row: None,
                    runs: view.runs(),
                    strip: strip.cut_to(columns.width),
                });
            }
            count += 1;
        }
    }
    entries
}

/// What it means if the row does not come. Its line is there from the beginning, so that no row moves when it counts.
fn otherwise(scene: &Scene<'_>, expected: &RowHeader, state: Option<&RowView>) -> Option<Strip> {
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

fn step_heading(scene: &Scene<'_>, step: &StepHeader, view: StepView, width: usize) -> Vec<Strip> {
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
    let hits = total_hits(&faults);
    if let Some((hits, at)) = hits {
        let cap = step
            .max_concurrent
            .and_then(|c| c.checked_mul(u32::try_from(faults.len()).ok()?));
        let role = if hits.failed > 0 || hits.capped > 0 {
            Role::Look
        } else {
            Role::Plain
        };
        let live = faults.iter().any(|f| f.may_be_live());
        let held = live.then_some((hits.held, cap));
        strip = strip
            .gap(2)
            .text(role, hits_line(&hits, held, scene.lang()))
            .gap(2);
        strip = if live {
            strip.join(age(scene, at))
        } else {
            strip.text(Role::Good, scene.t("gone, read back", "已清, 已回读"))
        };
    }
    let progress = progress(scene, view).gap(1);
    let fits = strip.width() + progress.width() < width;
    vec![if fits {
        strip.ending_in(progress, width)
    } else {
        strip.cut_to(width)
    }]
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

struct Columns {
    metric: usize,
    verdict: usize,
    width: usize,
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
    fn of(width: usize) -> Self {
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

    fn titles(&self, scene: &Scene<'_>) -> Strip {
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

    fn line(&self, scene: &Scene<'_>, expected: &RowHeader, row: Option<&RowView>, picked: bool) -> Strip {
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
                .col(Role::Dim, &state.reason, cells),
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
pub(super) fn verdict_role(verdict: Verdict) -> Role {
    match verdict {
        Verdict::AsExpected => Role::Good,
        Verdict::Undecided | Verdict::NoData => Role::Plain,
        Verdict::Unexpected | Verdict::NotExercised | Verdict::Confounded => Role::Look,
    }
}

fn interval(scene: &Scene<'_>, expected: &RowHeader, state: &RowState) -> String {
    let unit = scene.unit(&expected.metric);
    let show =
        |level: Option<Level>| level.map_or("--".to_owned(), |l| measured(unit, &expected.declared, l.0));
    match (state.low, state.high) {
        (None, None) => "--".to_owned(),
        (low, high) => format!("{}..{}", show(low), show(high)),
    }
}

/// An end of the judged interval. What was judged is what was declared: a relative change, a change, or a level.
fn measured(unit: Unit, declared: &str, end: f64) -> String {
    let relative = declared.contains('%') && (unit != Unit::Percent || declared.contains("rel"));
    let change =
        declared.contains(['+', '-', '±', '−']) || declared.contains("rise") || declared.contains("fall");
    if relative {
        format!("{:+.1}%", end * 100.0)
    } else if change {
        unit.show_change(end)
    } else {
        unit.show(end)
    }
}

/// What follows the rows: metrics that moved and are not on the sheet, and why a fault had no effect.
fn after(scene: &Scene<'_>, header: &Header) -> Vec<Strip> {
    let mut lines = Vec::new();
    for (index, view) in scene.view.moved.iter().enumerate() {
        let title = if index == 0 {
            scene.t("MOVED, NOT ON THE SHEET", "有变化, 不在对账单")
        } else {
            ""
        };
        let unit = header.unit(&view.moved.metric);
        let text = format!(
            "{} {} → {}{}, {} {}",
            view.moved.metric,
            unit.show(view.moved.before),
            unit.show(view.moved.now),
            pool_size(scene, header, &view.moved.metric),
            scene.t("since", "始于"),
            scene.clock(view.since)
        );
        lines.push(
            Strip::default()
                .gap(1)
                .col(Role::Look, title, 26)
                .text(Role::Plain, text),
        );
    }
    for ladder in &scene.view.ladders {
        let rungs: Vec<_> = ladder
            .rungs
            .iter()
            .map(|(rung, found)| format!("{rung}: {found}"))
            .collect();
        let text = rungs.join(" → ");
        lines.push(
            Strip::default()
                .gap(1)
                .text(
                    Role::Look,
                    format!("{} {}", scene.t("NO EFFECT", "无效果"), ladder.step),
                )
                .gap(2)
                .text(Role::Plain, text),
        );
    }
    lines
}

/// ` of 50`, if the metric counts the busy part of a pool.
fn pool_size(scene: &Scene<'_>, header: &Header, metric: &MetricId) -> String {
    let mut pools = header.topology.iter().filter_map(|n| n.pool.as_ref());
    let pool = pools.find(|p| p.metric.as_ref() == Some(metric));
    pool.map_or_else(String::new, |p| format!(" {} {}", scene.t("of", "/"), p.threads))
}

/// Everything about the picked row.
fn details(scene: &Scene<'_>, width: usize) -> Vec<Strip> {
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
            say(verdict_role(state.verdict), verdict, &state.reason, 2);
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
