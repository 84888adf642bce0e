//! Phrases that the journal's lines and the screens share.

use super::{Ending, RowView, RunView, SnapshotView};
use crate::model::{
    amount::{Share, thousands},
    event::{Hits, Outcome, ReachLine},
    phase::Cause,
    recovery::StepReport,
    said::Said,
    sheet::{Hypothesis, Verdict},
    text::{Lang, Word},
    time::Span,
};

/// `hits: 0 → did the request come by: no`: each rung of a ladder, and what was found there.
pub(crate) fn ladder_words(rungs: &[(Said, Said)], lang: Lang) -> String {
    let rung = |(what, found): &(Said, Said)| format!("{}: {}", what.get(lang), found.get(lang));
    rungs.iter().map(rung).collect::<Vec<_>>().join(" → ")
}

/// `servers 8, breakers 8, flags 3`, or that there is nothing to put back.
pub(crate) fn snapshot_line(snapshot: &SnapshotView, lang: Lang) -> String {
    let counts = [
        ("servers", "网关节点", snapshot.servers),
        ("breakers", "熔断器", snapshot.breakers),
        ("not closed", "其中未闭合", snapshot.not_closed),
        ("flags", "开关", snapshot.flags),
        ("retry queues", "重试队列", snapshot.retry_queues),
        (
            "backlog",
            "积压",
            usize::try_from(snapshot.backlog).unwrap_or(usize::MAX),
        ),
        ("foreign faults", "外来故障", snapshot.foreign.len()),
    ];
    let parts: Vec<_> = counts
        .iter()
        .filter(|(.., count)| *count > 0)
        .map(|(en, zh, count)| format!("{} {count}", lang.pick(en, zh)))
        .collect();
    if parts.is_empty() {
        return lang.pick("nothing to put back", "无可恢复项").to_owned();
    }
    parts.join(", ")
}

/// `order-0 (1 of 8) coupon.query delay 2s; 30 req/s × 20% × 2.5s = 15 of 50 threads`; without the fault if `short`.
pub(crate) fn reach_line(line: &ReachLine, short: bool, lang: Lang) -> String {
    let rate = line.rate.map_or("?".to_owned(), |r| format!("{r:.0}"));
    let threads = line.threads.map_or("?".to_owned(), |t| format!("{t:.0}"));
    let pool = line.pool.map_or("?".to_owned(), |p| p.to_string());
    let what = if short {
        String::new()
    } else {
        format!(" {}", line.what)
    };
    format!(
        "{} (1 {} {}){what}; {rate} {} × {} × {}s = {threads} {} {pool} {}",
        line.instance,
        lang.pick("of", "/"),
        line.of,
        lang.pick("req/s", "请求/s"),
        Share(line.share),
        (line.holds * 1000.0).round() / 1000.0,
        lang.pick("of", "/"),
        lang.pick("threads", "线程"),
    )
}

/// `stops: tripwire 3s; guard 41s-1m15s`.
pub(crate) fn stops_line(tripwire: Option<Span>, guard: (Span, Span), lang: Lang) -> String {
    let tripwire = tripwire.map_or("--".to_owned(), |t| t.to_string());
    format!(
        "{} {tripwire}; {} {}-{}",
        lang.pick("stops: tripwire", "止损: 绊线"),
        lang.pick("guard", "守护"),
        guard.0,
        guard.1
    )
}

/// `hits 1,204  failed 0  held 11 of cap 20`; how many are held, and the cap, only while they can be.
pub(crate) fn hits_line(hits: &Hits, held: Option<(u32, Option<u32>)>, lang: Lang) -> String {
    let mut line = format!(
        "{} {}  {} {}",
        lang.pick("hits", "命中"),
        thousands(hits.hits as f64),
        lang.pick("failed", "失败"),
        thousands(hits.failed as f64),
    );
    if let Some((held, cap)) = held {
        line.push_str(&format!("  {} {held}", lang.pick("held", "占用")));
        if let Some(cap) = cap {
            line.push_str(&format!(" {} {cap}", lang.pick("of cap", "/ 上限")));
        }
    }
    if hits.capped > 0 {
        let capped = thousands(hits.capped as f64);
        line.push_str(&format!("  {} {capped}", lang.pick("capped", "超限放行")));
    }
    line
}

pub(super) fn recovery_line(report: &StepReport, lang: Lang) -> String {
    format!(
        "{} {} {} {} {}",
        report.step.number(),
        report.step.word(lang),
        report.state.word(lang),
        report.took,
        report.detail.get(lang)
    )
}

/// `HELD, RECOVERED`: the two axes of a run in the keeper's words. ALL CLEAR is said only where it was checked, by
/// [`RunView::ending`](super::RunView::ending).
pub(super) fn outcome_line(outcome: &Outcome, lang: Lang) -> String {
    if outcome.refused {
        return lang
            .pick("REFUSED, nothing was touched", "被拒绝, 未触碰任何东西")
            .to_owned();
    }
    let hypothesis = outcome.hypothesis.map_or(
        lang.pick("no fault was armed", "未注入故障"),
        |h: Hypothesis| h.word(lang),
    );
    let recovered = outcome.recovered.word(lang);
    format!("{hypothesis}, {recovered}")
}

/// Why a hypothesis is UNDECIDED: nothing if it is not.
pub fn undecided_because(view: &RunView, lang: Lang) -> Option<String> {
    let outcome = view.outcome.as_ref()?;
    if outcome.hypothesis != Some(Hypothesis::Undecided) {
        return None;
    }
    if outcome.cause != Some(Cause::Finished) {
        return Some(
            lang.pick("stopped before its end", "演练提前结束, 未走完全程")
                .to_owned(),
        );
    }
    let expected = |row: &&RowView| row.state.as_ref().map(|s| s.verdict) == Some(Verdict::AsExpected);
    let (all, established) = (view.rows.len(), view.rows.iter().filter(expected).count());
    let rows = match (lang, all, all - established) {
        (Lang::En, 0, _) => Some("the drill expects nothing".to_owned()),
        (Lang::Zh, 0, _) => Some("演练未声明任何预期".to_owned()),
        (_, _, 0) => None,
        (Lang::En, _, open) => Some(format!("{open} of {all} rows not established")),
        (Lang::Zh, _, open) => Some(format!("{all} 行中有 {open} 行未能确定")),
    };
    let doubts = view.doubts.iter().map(|doubt| doubt.said().get(lang).to_owned());
    let all: Vec<String> = rows.into_iter().chain(doubts).collect();
    Some(all.join(lang.pick("; ", "；")))
}

/// `ALL CLEAR`, or what stands against it.
pub fn ending_words(ending: Ending, may_remain: usize, lang: Lang) -> String {
    match ending {
        Ending::AllClear => lang.pick("ALL CLEAR", "全部恢复").to_owned(),
        Ending::Refused => lang
            .pick("REFUSED, nothing was touched", "被拒绝, 未触碰任何东西")
            .to_owned(),
        Ending::Untouched => lang
            .pick("STOPPED, nothing was injected", "已停止, 未注入任何故障")
            .to_owned(),
        Ending::Leftover => format!(
            "{}: {may_remain}",
            lang.pick("LEFTOVER, may remain", "有残留, 项数")
        ),
        Ending::Unknown => lang
            .pick(
                "UNKNOWN: not everything could be read back",
                "未知: 有项目未能回读",
            )
            .to_owned(),
        Ending::Contradicted { live } => {
            let words = lang.pick(
                "NOT CLEAR, faults not read back as gone",
                "未清, 未回读确认的故障",
            );
            format!("{words}: {live}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{event::Doubt, exit::Exit, ids::StepName, recovery::Recovered, said::said};

    fn ended(hypothesis: Hypothesis, cause: Cause) -> RunView {
        RunView {
            outcome: Some(Outcome {
                hypothesis: Some(hypothesis),
                recovered: Recovered::Recovered,
                cause: Some(cause),
                refused: false,
                exit: Exit::Held,
            }),
            ..RunView::default()
        }
    }

    #[test]
    fn a_ladder_is_told_rung_by_rung_in_the_language_of_who_looks() {
        let rungs = [
            (said!("hits", "命中"), Said::as_it_is("0")),
            (
                said!("did a cache answer", "是否由缓存应答"),
                said!("perhaps", "可能"),
            ),
        ];
        assert_eq!(
            ladder_words(&rungs, Lang::En),
            "hits: 0 → did a cache answer: perhaps"
        );
        assert_eq!(ladder_words(&rungs, Lang::Zh), "命中: 0 → 是否由缓存应答: 可能");
    }

    #[test]
    fn an_undecided_run_says_why_and_any_other_does_not() {
        let asked = || Cause::Asked { by: "me".into() };
        let why = |hypothesis, cause| undecided_because(&ended(hypothesis, cause), Lang::En);
        assert_eq!(why(Hypothesis::Held, Cause::Finished), None);
        assert_eq!(why(Hypothesis::Falsified, asked()), None);
        assert_eq!(
            why(Hypothesis::Undecided, asked()).unwrap(),
            "stopped before its end"
        );
        assert_eq!(
            why(Hypothesis::Undecided, Cause::Finished).unwrap(),
            "the drill expects nothing"
        );
        let mut view = ended(Hypothesis::Undecided, Cause::Finished);
        let id = crate::model::sheet::RowId { step: 0, row: 0 };
        view.rows.push(RowView {
            id,
            state: None,
            at: Default::default(),
        });
        assert_eq!(
            undecided_because(&view, Lang::En).unwrap(),
            "1 of 1 rows not established"
        );
        view.doubts.push(Doubt::NotExercised {
            step: StepName::new("warm").unwrap(),
        });
        assert_eq!(
            undecided_because(&view, Lang::En).unwrap(),
            "1 of 1 rows not established; the fault of step warm was not seen to hit anything"
        );
        assert_eq!(
            undecided_because(&view, Lang::Zh).unwrap(),
            "1 行中有 1 行未能确定；未见步骤 warm 的故障命中"
        );
    }
}
