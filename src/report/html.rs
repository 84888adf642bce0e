//! `report.html`: the run as a page that reads and prints well, and needs nothing from elsewhere.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::{
    model::{
        event::{Header, Health},
        recovery::{Milestone, StepState},
        sheet::{Hypothesis, Verdict},
        text::{Lang, Word},
        time::Span,
    },
    view::{Ending, RunView, guard_label, line, row_label},
};

use super::{
    evidence::Evidence,
    sheet::{FullRow, rows},
};

const STYLE: &str = include_str!("report.css");

/// The page, in `lang`.
pub(super) fn page(evidence: &Evidence, lang: Lang) -> String {
    let page = Page {
        evidence,
        view: &evidence.view,
        lang,
    };
    page.whole().into_string()
}

struct Page<'a> {
    evidence: &'a Evidence,
    view: &'a RunView,
    lang: Lang,
}

impl Page<'_> {
    fn pick<'t>(&self, en: &'t str, zh: &'t str) -> &'t str {
        self.lang.pick(en, zh)
    }

    fn whole(&self) -> Markup {
        let title = match self.evidence.header() {
            Some(header) => format!("{} · {}", header.drill, header.run),
            None => self.pick("unknown run", "未知演练").to_owned(),
        };
        html! {
            (DOCTYPE)
            html lang=(self.pick("en", "zh")) {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (title) " · allclear" }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    @match self.evidence.header() {
                        Some(header) => (self.told(header)),
                        None => h1 { (title) },
                    }
                    (self.list(self.pick("Missing from the evidence", "证据缺失"), &self.evidence.missing))
                }
            }
        }
    }

    fn told(&self, header: &Header) -> Markup {
        html! {
            (self.head(header))
            (self.result())
            (self.may_remain())
            (self.sheet(header))
            (self.faults())
            (self.guard(header))
            (self.recovery())
            (self.remarks())
            (self.timeline(header))
        }
    }

    fn head(&self, header: &Header) -> Markup {
        let opened = self.evidence.timeline.first().map(|e| e.wall.to_string());
        let by = self.evidence.plan.as_ref().map(|p| p.started_by.as_str());
        let targets: Vec<&str> = header.targets.iter().map(|t| t.as_str()).collect();
        html! {
            h1 { (header.title.get(self.lang)) }
            p.hypothesis { (header.hypothesis.get(self.lang)) }
            dl {
                dt { (self.pick("Drill", "演练")) } dd { (header.drill) }
                dt { (self.pick("Run", "编号")) } dd { (header.run) }
                dt { (self.pick("Environment", "环境")) }
                dd { (header.stage.word(self.lang)) " " (header.environment) }
                dt { (self.pick("Targets", "目标")) } dd { (targets.join(", ")) }
                dt { (self.pick("Started", "开始")) } dd { (opened.unwrap_or_default()) }
                dt { (self.pick("By", "操作者")) } dd { (by.unwrap_or("--")) }
                dt { (self.pick("Version", "版本")) } dd { (header.version) }
            }
        }
    }

    /// The two axes, the cause and the three times.
    fn result(&self) -> Markup {
        let hypothesis = self.view.outcome.as_ref().and_then(|o| o.hypothesis);
        let (word, class) = self.ending();
        html! {
            div.result {
                span class=(held_class(hypothesis)) {
                    (hypothesis.map_or(self.pick("NOT TESTED", "未检验"), |h| h.word(self.lang)))
                }
                span class=(class) { (word) }
            }
            @if let Some(recovering) = &self.view.recovering {
                p { (self.pick("Recovery began", "恢复起因")) ": " (recovering.cause.describe(self.lang)) }
            }
            (self.list(self.pick("Refused", "拒绝"), &self.view.refused))
            dl.times {
                @for milestone in [Milestone::FaultsGone, Milestone::UsersOk, Milestone::AllClear] {
                    dt { (milestone.word(self.lang)) }
                    dd { (self.view.times.of(milestone).map_or_else(|| "--".to_owned(), |t| t.to_string())) }
                }
            }
        }
    }

    fn ending(&self) -> (&'static str, &'static str) {
        let (en, zh, class) = match self.view.ending() {
            Some(Ending::AllClear) => ("ALL CLEAR", "全部恢复", "good"),
            Some(Ending::Refused) => ("REFUSED", "拒绝", "look"),
            Some(Ending::Leftover | Ending::Contradicted { .. }) => ("LEFTOVER", "有残留", "alarm"),
            Some(Ending::Unknown) => ("UNKNOWN", "未知", "alarm"),
            None => ("NOT CLOSED", "未结束", "alarm"),
        };
        (self.lang.pick(en, zh), class)
    }

    fn may_remain(&self) -> Markup {
        let live: Vec<&str> = self.view.live_faults().map(|f| f.what.as_str()).collect();
        html! {
            @if !self.view.may_remain.is_empty() || !live.is_empty() {
                section.left {
                    h2 { (self.pick("May remain", "可能残留")) }
                    ul {
                        @for fault in live {
                            li { (self.pick("never read back as gone: ", "未读回确认清除:")) (fault) }
                        }
                        @for left in &self.view.may_remain {
                            li {
                                (left.what) " (" (left.certainty.word(self.lang)) "): " (left.why)
                                @if let Some(command) = &left.by_hand { pre { (command) } }
                            }
                        }
                    }
                }
            }
        }
    }

    fn sheet(&self, header: &Header) -> Markup {
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
                ul { @for (rung, found) in &ladder.rungs { li { (rung) ": " (found) } } }
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
                td { (row.interval(self.evidence.plan.as_ref())) }
                td { (row.header.declared) }
                td {
                    span class=(verdict_class(verdict)) {
                        (verdict.map_or(self.no_verdict(row), |v| v.word(self.lang)))
                    }
                    @if let Some(state) = row.state.filter(|s| !s.reason.is_empty()) { br; small { (state.reason) } }
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

    fn faults(&self) -> Markup {
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

    fn guard(&self, header: &Header) -> Markup {
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

    fn recovery(&self) -> Markup {
        html! {
            @if !self.view.recovery.is_empty() {
                h2 { (self.pick("Recovery", "恢复")) }
                table { tbody { @for step in &self.view.recovery { tr {
                    td { (step.report.step.number()) }
                    td { (step.report.step.word(self.lang)) }
                    td { span class=(step_class(step.report.state)) { (step.report.state.word(self.lang)) } }
                    td { (took(step.report.took)) }
                    td { (step.report.detail) }
                } } } }
            }
        }
    }

    fn remarks(&self) -> Markup {
        let said = [
            (self.pick("Notes", "备注"), &self.view.notes),
            (self.pick("Warnings", "警告"), &self.view.warnings),
        ];
        html! {
            @for (heading, remarks) in said {
                @if !remarks.is_empty() {
                    h2 { (heading) }
                    ul { @for remark in remarks {
                        li {
                            time { (remark.wall) } " "
                            @if let Some(by) = &remark.by { b { (by) } ": " }
                            (remark.text)
                        }
                    } }
                }
            }
        }
    }

    fn timeline(&self, header: &Header) -> Markup {
        html! {
            h2 { (self.pick("Journal", "日志")) }
            table.journal { tbody { @for event in &self.evidence.timeline { tr {
                td { (event.seq) }
                td { time { (event.wall) } }
                td { (line(event, header, self.lang)) }
            } } } }
        }
    }

    fn list(&self, heading: &str, lines: &[String]) -> Markup {
        html! {
            @if !lines.is_empty() {
                section.look {
                    h2 { (heading) }
                    ul { @for line in lines { li { (line) } } }
                }
            }
        }
    }
}

fn otherwise<'a>(row: &'a FullRow<'_>) -> Option<&'a crate::model::text::Localized> {
    row.header
        .otherwise
        .as_ref()
        .filter(|_| row.verdict() == Some(Verdict::Unexpected))
}

fn took(span: Span) -> String {
    format!("{:.1}s", span.as_seconds())
}

fn held_class(hypothesis: Option<Hypothesis>) -> &'static str {
    match hypothesis {
        Some(Hypothesis::Held) => "good",
        _ => "look",
    }
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
