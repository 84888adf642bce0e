//! An event as one line of text, for the journal screen, the plain reporter and `show`.

mod change;
mod measured;

use super::{
    MAX_TEXT, SnapshotView,
    phrase::{hits_line, ladder_words, outcome_line, reach_line, recovery_line, snapshot_line, stops_line},
};
use crate::model::{
    event::{Body, Check, Event, Header},
    phase::Phase,
    recovery::Leftover,
    said::Said,
    snapshot::{Changed, Snapshot},
    text::{Lang, Word, harmless},
    time::{Moment, Span},
    undo::FaultIntent,
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

    fn sentences(&self, all: &[Said]) -> String {
        Said::sentences(all).get(self.lang).to_owned()
    }

    fn tell(&self, event: &Event) -> String {
        let until = |moment: &Moment| moment.since(event.at);
        match &event.body {
            Body::Opened(header) => self.opened(header),
            Body::TakenOver { pid, cause } => {
                let cause = cause.describe(self.lang);
                match self.lang {
                    Lang::En => format!("taken over by process {pid}, {cause}"),
                    Lang::Zh => format!("由进程 {pid} 接管，{cause}"),
                }
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
            Body::ChangedMeanwhile(changed) => self.changed(changed),
            Body::Refused { reasons } => {
                format!("{}{}", self.t("REFUSED: ", "拒绝："), self.sentences(reasons))
            }
            Body::Baseline(row) => self.baseline(row),
            Body::CannotArm { reasons } => {
                format!(
                    "{}{}",
                    self.t("cannot arm: ", "不能发起："),
                    self.sentences(reasons)
                )
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
                    "not made, or not known whether it was: ",
                    "未注入，或不知是否注入：",
                );
                format!(
                    "{} {fault} {failed}{}",
                    self.t("fault", "故障"),
                    why.get(self.lang)
                )
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
                let rungs = ladder_words(rungs, self.lang);
                format!("{} {step}: {rungs}", self.t("no effect in", "无效果"))
            }
            Body::Doubted(doubt) => format!(
                "{}{}",
                self.t("not HELD: ", "不算成立："),
                doubt.said().get(self.lang)
            ),
            Body::Recovering { cause } => {
                format!(
                    "{}{}",
                    self.t("recovery begins, ", "开始恢复，"),
                    cause.describe(self.lang)
                )
            }
            Body::Recovery(report) => recovery_line(report, self.lang),
            Body::ChangeIntended(change) => format!("{} {}", self.t("about to", "将要"), self.change(change)),
            Body::Reached { milestone, after } => format!("{} {after}", milestone.word(self.lang)),
            Body::MayRemain(left) => self.may_remain(left),
            Body::Note { by, text } => format!("{} {by}: {text}", self.t("note by", "备注")),
            Body::Warning(text) => format!("{}{}", self.t("warning: ", "注意："), text.get(self.lang)),
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
            purpose,
            environment,
            stage,
            keeper,
            version,
            ..
        } = header;
        let purpose = purpose
            .word(self.lang)
            .map(|w| format!("{w} "))
            .unwrap_or_default();
        format!(
            "{} {run} {purpose}{drill} @ {} {environment}, {} {keeper}, allclear {version}",
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
            check.what.get(self.lang),
            check.found.get(self.lang)
        );
        match &check.next {
            Some(next) => format!("{line} → {}", next.get(self.lang)),
            None => line,
        }
    }

    fn snapshot(&self, snapshot: &Snapshot) -> String {
        let line = snapshot_line(&SnapshotView::of(snapshot), self.lang);
        format!("{} {line}", self.t("snapshot:", "快照:"))
    }

    fn changed(&self, changed: &[Changed]) -> String {
        let list: Vec<_> = changed
            .iter()
            .map(|Changed { what, before, now }| {
                let [what, before, now] = [what, before, now].map(|said| said.get(self.lang));
                format!("{what} {before} → {now}")
            })
            .collect();
        let said = self.t(
            "changed during the baseline, and put back to what it is now: ",
            "静默观察期间有改动，恢复时以现值为准：",
        );
        format!("{said}{}", list.join(self.t("; ", "；")))
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

    fn may_remain(&self, left: &[Leftover]) -> String {
        if left.is_empty() {
            return self.t("nothing is listed as left", "无残留项").to_owned();
        }
        let list: Vec<_> = left.iter().map(|l| l.what.get(self.lang)).collect();
        format!(
            "{} {}: {}",
            self.t("MAY REMAIN", "可能残留"),
            left.len(),
            list.join("; ")
        )
    }
}
