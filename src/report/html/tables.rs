//! The tables of the page.

use maud::{Markup, html};

use super::Page;
use crate::{
    model::{
        event::{Header, Health},
        recovery::StepState,
        sheet::Verdict,
        text::{Localized, Word},
        time::Span,
    },
    report::sheet::{FullRow, rows},
    view::{guard_label, row_label},
};

impl Page<'_> {
    pub(super) fn sheet(&self, header: &Header) -> Markup {
        let columns = [
            self.pick("Expectation", "预期项"),
            self.pick("Before", "之前"),
            self.pick("Under fault", "故障中"),
            self.pick("Measured change", "实测变化"),
            self.pick("Declared", "预期"),
            self.pick("Verdict", "结论"),
        ];
        html! {
            h2 { (self.pick("Sheet", "对账单")) }
            table {
                thead { tr { @for column in columns { th { (column) } } } }
                tbody {
                    @for row in rows(self.view) {
                        @if row.id.row == 0 {
                            tr.step { td colspan="6" {
                                b { (row.step.name) } " " (row.step.what) " · " (row.step.duration)
                            } }
                        }
                        (self.row(&row, header))
                    }
                }
            }
            @if !self.view.moved.is_empty() {
                h3 { (self.pick("Moved, not on the sheet", "单外异动")) }
                ul { @for moved in &self.view.moved {
                    @let unit = header.unit(&moved.moved.metric);
                    li {
                        (moved.moved.metric) " " (unit.show(moved.moved.before)) " → " (unit.show(moved.moved.now))
                        " (" (moved.moved.step) ")"
                    }
                } }
            }
            @for ladder in &self.view.ladders {
                h3 { (self.pick("Why nothing was hit", "未触发原因")) ": " (ladder.step) }
                ul { @for (rung, found) in &ladder.rungs { li { (rung.get(self.lang)) ": " (found.get(self.lang)) } } }
            }
        }
    }

    fn row(&self, row: &FullRow<'_>, header: &Header) -> Markup {
        let verdict = row.verdict();
        let title = header.metrics.iter().find(|m| m.id == row.header.metric);
        let partial = row.state.is_some_and(|s| s.partial);
        html! {
            tr {
                td {
                    (row_label(row.header))
                    @if let Some(metric) = title { br; small { (metric.title.get(self.lang)) } }
                }
                td { (row.shown(row.state.and_then(|s| s.before))) }
                td { (row.shown(row.state.and_then(|s| s.now))) }
                td { (row.interval()) }
                td { (row.header.declared) }
                td {
                    span class=(verdict_class(verdict)) {
                        (verdict.map_or(self.no_verdict(row), |v| v.word(self.lang)))
                    }
                    @if let Some(state) = row.state.filter(|s| !s.reason.is_empty()) { br; small { (state.reason.get(self.lang)) } }
                    @if partial { br; small { (self.pick("the source's answers were incomplete", "数据源应答不完整")) } }
                    @if let Some(otherwise) = otherwise(row) { br; (otherwise.get(self.lang)) }
                }
            }
        }
    }

    fn no_verdict(&self, row: &FullRow<'_>) -> &'static str {
        match row.state {
            Some(_) => self.lang.pick("NOT FINAL", "未定稿"),
            None => self.lang.pick("NOT REACHED", "未到达"),
        }
    }

    pub(super) fn faults(&self) -> Markup {
        html! {
            @if !self.view.faults.is_empty() {
                h2 { (self.pick("Faults", "故障")) }
                table {
                    thead { tr {
                        th { (self.pick("Fault", "故障")) } th { (self.pick("On", "实例")) }
                        th { (self.pick("Hits", "命中")) } th { (self.pick("Passed", "放过")) }
                        th { (self.pick("Failed", "失败")) } th { (self.pick("Over the cap", "超上限")) }
                        th { (self.pick("Gone", "清除")) }
                    } }
                    tbody { @for fault in &self.view.faults { tr {
                        td { (fault.what) br; small { (fault.id) } }
                        td { (fault.instance().map_or("--", |i| i.as_str())) }
                        @match fault.hits {
                            Some((hits, _)) => {
                                td { (hits.hits) } td { (hits.misses) } td { (hits.failed) } td { (hits.capped) }
                            }
                            None => { td { "--" } td { "--" } td { "--" } td { "--" } }
                        }
                        td { @if fault.may_be_live() {
                            span.alarm { (self.pick("NOT READ BACK", "未读回")) }
                        } @else {
                            (self.pick("read back", "已读回"))
                        } }
                    } } }
                }
            }
        }
    }

    pub(super) fn guard(&self, header: &Header) -> Markup {
        html! {
            @if !header.guard.is_empty() {
                h2 { (self.pick("Guard", "稳态守护")) }
                table {
                    thead { tr {
                        th { (self.pick("What", "指标")) } th { (self.pick("Limit", "界限")) }
                        th { (self.pick("Last value", "末值")) } th { (self.pick("State", "状态")) }
                    } }
                    tbody { @for (guard, seen) in header.guard.iter().zip(&self.view.guards) {
                        @let unit = header.unit(&guard.metric);
                        tr {
                            td { (guard_label(guard)) }
                            td { (guard.limit) }
                            td { @match seen.as_ref().map(|s| &s.state.reading.value) {
                                Some(Ok(level)) => (unit.show(level.0)),
                                Some(Err(gap)) => (gap),
                                None => "--",
                            } }
                            td { @if let Some(seen) = seen {
                                span class=(health_class(seen.state.health)) { (seen.state.health.word(self.lang)) }
                            } }
                        }
                    } }
                }
            }
        }
    }

    pub(super) fn recovery(&self) -> Markup {
        html! {
            @if !self.view.recovery.is_empty() {
                h2 { (self.pick("Recovery", "恢复")) }
                table { tbody { @for step in &self.view.recovery { tr {
                    td { (step.report.step.number()) }
                    td { (step.report.step.word(self.lang)) }
                    td { span class=(step_class(step.report.state)) { (step.report.state.word(self.lang)) } }
                    td { (took(step.report.took)) }
                    td { (step.report.detail.get(self.lang)) }
                } } } }
            }
        }
    }
}

fn otherwise<'a>(row: &'a FullRow<'_>) -> Option<&'a Localized> {
    row.header
        .otherwise
        .as_ref()
        .filter(|_| row.verdict() == Some(Verdict::Unexpected))
}

fn took(span: Span) -> String {
    format!("{:.1}s", span.as_seconds())
}

fn verdict_class(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::AsExpected) => "good",
        _ => "look",
    }
}

fn health_class(health: Health) -> &'static str {
    match health {
        Health::Holds => "good",
        _ => "look",
    }
}

fn step_class(state: StepState) -> &'static str {
    match state {
        StepState::Done | StepState::Nothing => "good",
        StepState::Failed => "alarm",
        _ => "plain",
    }
}
