//! An event as one line of text, for the journal screen, the plain reporter and `show`.

use super::{
    MAX_TEXT, SnapshotView,
    label::guard_label,
    label::query_label,
    label::row_label,
    phrase::{hits_line, outcome_line, reach_line, recovery_line, snapshot_line, stops_line},
};
use crate::model::{
    amount::{Level, thousands},
    event::{BaselineRow, Body, Check, Event, GuardState, Header, Health},
    phase::Phase,
    recovery::Leftover,
    sample::{Numbers, Query, Window},
    sheet::{Moved, RowState, Verdict},
    snapshot::Snapshot,
    text::{Lang, Word, harmless},
    time::Span,
    undo::{ChangeIntent, FaultIntent},
};

/// What happened, in one line without a time and without control characters.
pub fn line(event: &Event, header: &Header, lang: Lang) -> String {
    let teller = Teller { header, lang };
    harmless(&teller.tell(event), MAX_TEXT)
}

struct Teller<'a> {
    header: &'a Header,
    lang: Lang,
}

impl Teller<'_> {
    fn t<'t>(&self, en: &'t str, zh: &'t str) -> &'t str {
        self.lang.pick(en, zh)
    }

    fn tell(&self, event: &Event) -> String {
        let until = |moment: &crate::model::time::Moment| moment.since(event.at);
        match &event.body {
            Body::Opened(header) => self.opened(header),
            Body::TakenOver { pid, cause } => {
                let what = self.t("taken over by process", "由进程接管");
                format!("{what} {pid}, {}", cause.describe(self.lang))
            }
            Body::DeadmanReady { pid } => {
                format!("{} {pid}", self.t("deadman ready, process", "替补守护就绪, 进程"))
            }
            Body::DeadmanLost { pid } => {
                let what = self.t(
                    "deadman lost, another is started; process",
                    "替补守护丢失, 正在另起; 进程",
                );
                format!("{what} {pid}")
            }
            Body::Phase { phase, until: None } => phase.word(self.lang).to_owned(),
            Body::Phase {
                phase,
                until: Some(end),
            } => format!("{} {}", phase.word(self.lang), until(end)),
            Body::Check(check) => self.check(check),
            Body::Reach(lines) => {
                let lines: Vec<_> = lines.iter().map(|l| reach_line(l, false, self.lang)).collect();
                format!("{} {}", self.t("reach", "影响面"), lines.join("; "))
            }
            Body::Stops { tripwire, guard } => stops_line(*tripwire, *guard, self.lang),
            Body::SnapshotTaken(snapshot) => self.snapshot(snapshot),
            Body::Refused { reasons } => format!("{}: {}", self.t("REFUSED", "拒绝"), reasons.join("; ")),
            Body::Baseline(row) => self.baseline(row),
            Body::CannotArm { reasons } => {
                format!("{} {}", self.t("cannot arm:", "不能发起:"), reasons.join("; "))
            }
            Body::Extended { until: end } => {
                format!(
                    "{} {}",
                    self.t("baseline extended, still", "静默观察延长, 还有"),
                    until(end)
                )
            }
            Body::Frozen(levels) => {
                let (frozen, count) = (
                    self.t("baseline frozen, levels:", "基线已定, 指标数:"),
                    levels.levels.len(),
                );
                format!("{frozen} {count}")
            }
            Body::StepStarted { step, until: end, .. } => self.step(*step, Some(until(end))),
            Body::StepEnded { step } => self.step(*step, None),
            Body::FaultIntended(intent) => self.intended(intent),
            Body::FaultLive { fault, expires } => {
                let live = format!("{} {fault} {}", self.t("fault", "故障"), self.t("LIVE", "已注入"));
                match expires {
                    Some(end) => format!(
                        "{live}, {} {}",
                        self.t("expires itself in", "自行失效于"),
                        until(end)
                    ),
                    None => format!("{live}, {}", self.t("NO expiry of its own", "不会自行失效")),
                }
            }
            Body::FaultFailed { fault, why } => {
                let failed = self.t(
                    "not made, or not known whether it was:",
                    "未注入, 或不知是否注入:",
                );
                format!("{} {fault} {failed} {why}", self.t("fault", "故障"))
            }
            Body::FaultHits { fault, hits } => {
                format!(
                    "{} {fault} {}",
                    self.t("fault", "故障"),
                    hits_line(hits, Some((hits.held, None)), self.lang)
                )
            }
            Body::FaultGone { fault } => {
                format!(
                    "{} {fault} {}",
                    self.t("fault", "故障"),
                    self.t("gone, read back", "已清, 已回读")
                )
            }
            Body::Window { query, window, .. } => self.window(query, window),
            Body::Guard(guard) => self.guard(guard),
            Body::Row(row) => self.row(row),
            Body::Moved(moved) => self.moved(moved),
            Body::Ladder { step, rungs } => {
                let rungs: Vec<_> = rungs
                    .iter()
                    .map(|(rung, found)| format!("{rung}: {found}"))
                    .collect();
                format!(
                    "{} {step}: {}",
                    self.t("no effect in", "无效果"),
                    rungs.join(" → ")
                )
            }
            Body::Recovering { cause } => {
                format!(
                    "{}, {}",
                    self.t("recovery begins", "开始恢复"),
                    cause.describe(self.lang)
                )
            }
            Body::Recovery(report) => recovery_line(report, self.lang),
            Body::ChangeIntended(change) => format!("{} {}", self.t("about to", "将要"), self.change(change)),
            Body::Reached { milestone, after } => format!("{} {after}", milestone.word(self.lang)),
            Body::MayRemain(left) => self.may_remain(left),
            Body::Note { by, text } => format!("{} {by}: {text}", self.t("note by", "备注")),
            Body::Warning(text) => format!("{}: {text}", self.t("warning", "注意")),
            Body::Watching { consoles } => {
                format!("{} {consoles}", self.t("consoles watching:", "观看终端数:"))
            }
            Body::Notified { whom, error: None } => format!("{} {whom}", self.t("told", "已通知")),
            Body::Notified {
                whom,
                error: Some(error),
            } => format!("{} {whom}: {error}", self.t("could not tell", "通知失败")),
            Body::Closed(outcome) => format!(
                "{} {}",
                Phase::Closed.word(self.lang),
                outcome_line(outcome, self.lang)
            ),
        }
    }

    fn opened(&self, header: &Header) -> String {
        let Header {
            run,
            drill,
            environment,
            stage,
            keeper,
            version,
            ..
        } = header;
        format!(
            "{} {run} {drill} @ {} {environment}, {} {keeper}, allclear {version}",
            self.t("run", "演练"),
            stage.word(self.lang),
            self.t("keeper", "守护进程"),
        )
    }

    fn check(&self, check: &Check) -> String {
        let outcome = check.outcome.word(self.lang);
        let line = format!(
            "{} {}: {outcome}, {}",
            self.t("check", "检查"),
            check.what,
            check.found
        );
        match &check.next {
            Some(next) => format!("{line} → {next}"),
            None => line,
        }
    }

    fn snapshot(&self, snapshot: &Snapshot) -> String {
        let line = snapshot_line(&SnapshotView::of(snapshot), self.lang);
        format!("{} {line}", self.t("snapshot:", "快照:"))
    }

    fn show(&self, query: &Query, value: Option<f64>) -> String {
        value.map_or("--".to_owned(), |v| self.header.unit(&query.metric).show(v))
    }

    fn baseline(&self, row: &BaselineRow) -> String {
        let (half1, half2) = (self.show(&row.query, row.half1), self.show(&row.query, row.half2));
        let line = format!(
            "{} {} {half1} | {half2} n {} {} {} {}",
            self.t("baseline", "基线"),
            query_label(&row.query),
            row.n,
            self.t("can show", "可分辨"),
            self.show(&row.query, row.can_show),
            row.state.word(self.lang),
        );
        match &row.why {
            Some(why) => format!("{line}: {why}"),
            None => line,
        }
    }

    fn step(&self, index: usize, runs: Option<Span>) -> String {
        let header = self.header.steps.get(index);
        let name = header.map_or_else(|| (index + 1).to_string(), |s| s.name.to_string());
        let step = self.t("step", "步骤");
        match (runs, header) {
            (None, _) => format!("{step} {name} {}", self.t("over", "结束")),
            (Some(span), Some(h)) if !h.what.is_empty() => format!("{step} {name} {span}: {}", h.what),
            (Some(span), _) => format!("{step} {name} {span}"),
        }
    }

    fn intended(&self, intent: &FaultIntent) -> String {
        let line = format!(
            "{} {} {} {}: {}",
            self.t("about to inject", "将要注入"),
            intent.id,
            self.t("on", "于"),
            intent.instance,
            intent.what
        );
        match intent.expires_in {
            Some(span) => format!("{line}, {} {span}", self.t("expires itself after", "自行失效于")),
            None => format!("{line}, {}", self.t("NO expiry of its own", "不会自行失效")),
        }
    }

    fn window(&self, query: &Query, window: &Window) -> String {
        let unit = self.header.unit(&query.metric);
        let numbers = match &window.numbers {
            Ok(Numbers::Gauge(x)) => unit.show(*x),
            Ok(Numbers::Rate([part, whole]) | Numbers::Ratio([part, whole])) => unit.show(part / whole),
            Ok(Numbers::Quantile(counts)) => {
                let all = counts.last().copied().unwrap_or(0.0);
                format!("{} {}", thousands(all), self.t("observations", "个观测"))
            }
            Err(gap) => gap.to_string(),
        };
        let partial = if window.marks.partial {
            self.t(" (partial)", " (不完整)")
        } else {
            ""
        };
        format!(
            "{} {} #{} {numbers}{partial}",
            self.t("window", "窗口"),
            query_label(query),
            window.index
        )
    }

    fn guard(&self, guard: &GuardState) -> String {
        let Some(header) = self.header.guard.get(guard.index) else {
            return format!("{} {}", self.t("guard", "守护"), guard.health.word(self.lang));
        };
        let value = match &guard.reading.value {
            Ok(level) => self.header.unit(&header.metric).show(level.0),
            Err(gap) => gap.to_string(),
        };
        let count = match guard.health {
            Health::Holds => String::new(),
            _ => format!(" {}/{}", guard.bad, header.samples),
        };
        format!(
            "{} {} {value} ({}) {}{count}",
            self.t("guard", "守护"),
            guard_label(header),
            header.limit,
            guard.health.word(self.lang)
        )
    }

    fn row(&self, row: &RowState) -> String {
        let verdict = row.verdict.word(self.lang);
        let Some(header) = self.header.row(row.row) else {
            return format!(
                "{}.{} {verdict} {}",
                row.row.step + 1,
                row.row.row + 1,
                row.reason
            );
        };
        let unit = self.header.unit(&header.metric);
        let show = |level: Option<Level>| level.map_or("--".to_owned(), |l| unit.show(l.0));
        let mut line = format!(
            "{} {} → {} ({}) {verdict} {}",
            row_label(header),
            show(row.before),
            show(row.now),
            header.declared,
            row.reason
        );
        if row.partial {
            line.push_str(self.t(" [partial]", " [不完整]"));
        }
        if let Some(otherwise) = header
            .otherwise
            .as_ref()
            .filter(|_| row.verdict == Verdict::Unexpected)
        {
            line.push_str(" | ");
            line.push_str(otherwise.get(self.lang));
        }
        line
    }

    fn moved(&self, moved: &[Moved]) -> String {
        let list: Vec<_> = moved
            .iter()
            .map(|m| {
                let unit = self.header.unit(&m.metric);
                format!("{} {} → {}", m.metric, unit.show(m.before), unit.show(m.now))
            })
            .collect();
        let what = self.t("moved, not on the sheet:", "有变化但不在对账单:");
        format!(
            "{what} {}",
            if list.is_empty() {
                "--".to_owned()
            } else {
                list.join(", ")
            }
        )
    }

    fn change(&self, change: &ChangeIntent) -> String {
        match change {
            ChangeIntent::Gateway {
                instance, to, weight, ..
            } => format!(
                "{} {instance} → {to} ({} {weight})",
                self.t("set gateway", "设网关"),
                self.t("was", "原为")
            ),
            ChangeIntent::Breaker { instance, name, to } => {
                format!("{} {name}@{instance} → {to}", self.t("set breaker", "设熔断器"))
            }
            ChangeIntent::Flags { pattern, count } => {
                format!("{} {count}: {pattern}", self.t("delete flags", "删除开关"))
            }
            ChangeIntent::RetryQueue { url, to, .. } => {
                format!("{} {url} → {to}", self.t("set retry queue", "设重试队列"))
            }
            ChangeIntent::Restart { instance } => format!("{} {instance}", self.t("restart", "重启")),
            ChangeIntent::Command { name } => format!("{} {name}", self.t("run command", "执行命令")),
        }
    }

    fn may_remain(&self, left: &[Leftover]) -> String {
        if left.is_empty() {
            return self.t("nothing is listed as left", "无残留项").to_owned();
        }
        let list: Vec<_> = left.iter().map(|l| l.what.as_str()).collect();
        format!(
            "{} {}: {}",
            self.t("MAY REMAIN", "可能残留"),
            left.len(),
            list.join("; ")
        )
    }
}
