//! `report.html`: the run as a page that reads and prints well, and needs nothing from elsewhere.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::{
    model::{
        event::Header,
        recovery::Milestone,
        sheet::Hypothesis,
        text::{Lang, Word},
    },
    view::{Ending, RunView, line},
};

use super::evidence::Evidence;

mod tables;

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
        let refused: Vec<&str> = self.view.refused.iter().map(|why| why.get(self.lang)).collect();
        html! {
            div.result {
                span class=(held_class(hypothesis)) {
                    (hypothesis.map_or(self.pick("NOT TESTED", "未检验"), |h| h.word(self.lang)))
                }
                span class=(class) { (word) }
            }
            @if let Some(recovering) = &self.view.recovering {
                p { (self.pick("Recovery began: ", "恢复起因：")) (recovering.cause.describe(self.lang)) }
            }
            (self.list(self.pick("Refused", "拒绝"), &refused))
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
            Some(Ending::Untouched) => ("STOPPED", "已停止", "look"),
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
                                (left.what.get(self.lang)) " (" (left.certainty.word(self.lang)) "): " (left.why.get(self.lang))
                                @if let Some(command) = &left.by_hand { pre { (command) } }
                            }
                        }
                    }
                }
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
                            (remark.text.get(self.lang))
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

    fn list(&self, heading: &str, lines: &[impl AsRef<str>]) -> Markup {
        html! {
            @if !lines.is_empty() {
                section.look {
                    h2 { (heading) }
                    ul { @for line in lines { li { (line.as_ref()) } } }
                }
            }
        }
    }
}

fn held_class(hypothesis: Option<Hypothesis>) -> &'static str {
    match hypothesis {
        Some(Hypothesis::Held) => "good",
        _ => "look",
    }
}
