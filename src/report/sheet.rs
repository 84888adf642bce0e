//! The sheet and the findings as JSON, for machines.

use serde::Serialize;

use crate::{
    model::{
        amount::{Level, Unit},
        event::{Outcome, RowHeader, StepHeader},
        ids::{DrillName, EnvironmentName, MetricId, RunId, ScopeName, StepName},
        recovery::Leftover,
        sheet::{Measured, Moved, RowId, RowState, Verdict},
        text::{Lang, Localized, Word},
        time::Span,
    },
    view::{Ending, RunView, row_label},
};

use super::evidence::Evidence;

/// `sheet.json`. Numbers in base units, times in milliseconds; an infinite number is the text `inf`.
#[derive(Debug, Serialize)]
pub struct Sheet<'a> {
    run: Option<&'a RunId>,
    drill: Option<&'a DrillName>,
    environment: Option<&'a EnvironmentName>,
    hypothesis: Option<&'a Localized>,
    outcome: Option<&'a Outcome>,
    all_clear: bool,
    faults_gone_ms: Option<Span>,
    users_ok_ms: Option<Span>,
    all_clear_ms: Option<Span>,
    rows: Vec<SheetRow<'a>>,
    moved: Vec<&'a Moved>,
    may_remain: &'a [Leftover],
    missing: &'a [String],
}

#[derive(Debug, Serialize)]
struct SheetRow<'a> {
    step: &'a StepName,
    metric: &'a MetricId,
    scope: Option<&'a ScopeName>,
    unit: Unit,
    declared: &'a str,
    measured: Measured,
    otherwise: Option<&'a Localized>,
    #[serde(flatten)]
    state: Option<&'a RowState>,
}

/// An entry of `findings.json`: an unexpected row. What is null is for people to fill in.
#[derive(Debug, Serialize)]
pub struct Finding {
    run: RunId,
    drill: DrillName,
    step: StepName,
    metric: MetricId,
    scope: Option<ScopeName>,
    phenomenon: String,
    cause: Option<String>,
    fix: Option<String>,
    verification: Option<String>,
    owner: Option<String>,
}

/// A row with all that is known of it.
pub(super) struct FullRow<'a> {
    pub(super) id: RowId,
    pub(super) step: &'a StepHeader,
    pub(super) header: &'a RowHeader,
    pub(super) unit: Unit,
    pub(super) state: Option<&'a RowState>,
}

impl FullRow<'_> {
    /// The verdict, once it is final. What an unfinished row says may still change, so it is no result.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        self.state.filter(|s| s.last).map(|s| s.verdict)
    }

    pub(super) fn shown(&self, level: Option<Level>) -> String {
        level.map_or_else(|| "--".to_owned(), |l| self.unit.show(l.0))
    }

    /// The measured interval, in the terms in which the change was declared; empty without one.
    pub(super) fn interval(&self) -> String {
        let Some((low, high)) = self.state.and_then(|s| Some((s.low?, s.high?))) else {
            return String::new();
        };
        let show = |end| self.header.measured.show(self.unit, end);
        format!("{} … {}", show(low), show(high))
    }
}

/// The rows in the drill's order, with their headers.
pub(super) fn rows(view: &RunView) -> Vec<FullRow<'_>> {
    let Some(header) = view.header.as_deref() else {
        return Vec::new();
    };
    let of_step = |(step, h)| {
        let h: &StepHeader = h;
        h.rows.iter().enumerate().map(move |(row, r)| {
            let id = RowId { step, row };
            FullRow {
                id,
                step: h,
                header: r,
                unit: header.unit(&r.metric),
                state: view.row(id).and_then(|v| v.state.as_ref()),
            }
        })
    };
    header.steps.iter().enumerate().flat_map(of_step).collect()
}

/// The sheet of a run.
pub fn sheet(evidence: &Evidence) -> Sheet<'_> {
    let view = &evidence.view;
    let header = evidence.header();
    let rows = rows(view).into_iter().map(|row| SheetRow {
        step: &row.step.name,
        metric: &row.header.metric,
        scope: row.header.scope.as_ref(),
        unit: row.unit,
        declared: &row.header.declared,
        measured: row.header.measured,
        otherwise: row.header.otherwise.as_ref(),
        state: row.state,
    });
    Sheet {
        run: header.map(|h| &h.run),
        drill: header.map(|h| &h.drill),
        environment: header.map(|h| &h.environment),
        hypothesis: header.map(|h| &h.hypothesis),
        outcome: view.outcome.as_ref(),
        all_clear: view.ending() == Some(Ending::AllClear),
        faults_gone_ms: view.times.faults_gone,
        users_ok_ms: view.times.users_ok,
        all_clear_ms: view.times.all_clear,
        rows: rows.collect(),
        moved: view.moved.iter().map(|m| &m.moved).collect(),
        may_remain: &view.may_remain,
        missing: &evidence.missing,
    }
}

/// The findings of a run, in `lang`.
pub fn findings(view: &RunView, lang: Lang) -> Vec<Finding> {
    let Some(header) = view.header.as_deref() else {
        return Vec::new();
    };
    let unexpected = |row: &FullRow<'_>| row.verdict() == Some(Verdict::Unexpected);
    rows(view)
        .into_iter()
        .filter(unexpected)
        .map(|row| Finding {
            run: header.run.clone(),
            drill: header.drill.clone(),
            step: row.step.name.clone(),
            metric: row.header.metric.clone(),
            scope: row.header.scope.clone(),
            phenomenon: phenomenon(&row, lang),
            cause: None,
            fix: None,
            verification: None,
            owner: None,
        })
        .collect()
}

/// What was seen, in one line.
pub(super) fn phenomenon(row: &FullRow<'_>, lang: Lang) -> String {
    let Some(state) = row.state else {
        return String::new();
    };
    let mut text = format!(
        "{}: {} → {}; {} {}; {}",
        row_label(row.header),
        row.shown(state.before),
        row.shown(state.now),
        lang.pick("declared", "预期"),
        row.header.declared,
        state.verdict.word(lang),
    );
    if !state.reason.is_empty() {
        text.push_str(&format!(" ({})", state.reason.get(lang)));
    }
    if let Some(otherwise) = row
        .header
        .otherwise
        .as_ref()
        .filter(|_| row.verdict() == Some(Verdict::Unexpected))
    {
        text.push_str(&format!(". {}", otherwise.get(lang)));
    }
    text
}
