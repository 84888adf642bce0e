//! The phases of a run, and who or what asked for a change.

use serde::{Deserialize, Serialize};

use super::{
    said::{Said, said},
    text::{Lang, Word},
};

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Looks, touches nothing.
    Preflight,
    /// Watches in silence.
    Baseline,
    /// Ready; the deadman stands by.
    Armed,
    /// Steps run.
    Running,
    /// Everything is being put back.
    Recovering,
    /// Watches whether it holds.
    Verifying,
    /// Over.
    Closed,
}

impl Word for Phase {
    fn word(&self, lang: Lang) -> &'static str {
        match self {
            Phase::Preflight => lang.pick("PREFLIGHT", "预检"),
            Phase::Baseline => lang.pick("BASELINE", "静默观察"),
            Phase::Armed => lang.pick("ARMED", "待发"),
            Phase::Running => lang.pick("RUNNING", "演练中"),
            Phase::Recovering => lang.pick("RECOVERING", "恢复中"),
            Phase::Verifying => lang.pick("VERIFYING", "验证中"),
            Phase::Closed => lang.pick("CLOSED", "已结束"),
        }
    }
}

/// Why a run recovers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// All steps are done.
    Finished,
    /// There was no drill: the playbook alone was asked for, in a real incident.
    Restore,
    /// Someone pressed the key or ran `recover`.
    Asked {
        /// Who: a user name and where from.
        by: String,
    },
    /// The keeper got a signal, or the console that owns the run did.
    Interrupted {
        /// The signal's name.
        signal: String,
    },
    /// A hypothesis or a tripwire broke for long enough.
    Guard {
        /// Which, with value, limit and count.
        #[serde(flatten, with = "crate::model::recorded::what")]
        what: Said,
    },
    /// The guard saw nothing for long enough.
    Blind {
        /// Which, and for how long.
        #[serde(flatten, with = "crate::model::recorded::what")]
        what: Said,
    },
    /// A fault could not be injected.
    InjectFailed {
        /// Which, and why.
        #[serde(flatten, with = "crate::model::recorded::what")]
        what: Said,
    },
    /// The targets are no longer those that were pinned.
    Targets {
        /// What changed.
        #[serde(flatten, with = "crate::model::recorded::what")]
        what: Said,
    },
    /// The keeper died or hung; the deadman took over.
    KeeperLost {
        /// What the deadman saw.
        #[serde(flatten, with = "crate::model::recorded::what")]
        what: Said,
    },
    /// No deadman could be started any more: a keeper that died now would leave its faults.
    DeadmanLost {
        /// For how long, in milliseconds.
        ms: u64,
    },
    /// The clock jumped: the machine slept.
    Slept {
        /// For how long, in milliseconds.
        ms: u64,
    },
    /// The environment's lease is another run's, or could be by now.
    Lease {
        /// What became of it.
        #[serde(flatten, with = "crate::model::recorded::what")]
        what: Said,
    },
    /// The journal could not be written.
    Journal {
        /// The error.
        #[serde(flatten, with = "crate::model::recorded::what")]
        what: Said,
    },
}

impl Cause {
    /// Whether the guard, or what stands in for it, ended the run.
    pub fn is_abort(&self) -> bool {
        !matches!(
            self,
            Cause::Finished | Cause::Restore | Cause::Asked { .. } | Cause::Interrupted { .. }
        )
    }

    /// In one line.
    pub fn describe(&self, lang: Lang) -> String {
        self.said().get(lang).trim_end().to_owned()
    }

    /// In one line, in both languages.
    pub fn said(&self) -> Said {
        match self {
            Cause::Finished => said!("all steps done", "全部步骤完成"),
            Cause::Restore => said!("the playbook alone", "仅执行恢复预案"),
            Cause::Asked { by } => said!("asked by {by}", "操作者 {by}"),
            Cause::Interrupted { signal } => said!("interrupted by {signal}", "被 {signal} 中断"),
            Cause::Guard { what } => said!(what; "by guard: {what}", "守护触发：{what}"),
            Cause::Blind { what } => said!(what; "guard blind: {what}", "守护失明：{what}"),
            Cause::InjectFailed { what } => said!(what; "injection failed: {what}", "注入失败：{what}"),
            Cause::Targets { what } => said!(what; "targets changed: {what}", "目标变化：{what}"),
            Cause::KeeperLost { what } => said!(what; "keeper lost: {what}", "守护进程丢失：{what}"),
            Cause::DeadmanLost { ms } => {
                let seconds = ms / 1000;
                said!("no deadman for {seconds}s", "无替补守护，已 {seconds}s")
            }
            Cause::Slept { ms } => {
                let seconds = ms / 1000;
                said!("the machine slept {seconds}s", "机器休眠 {seconds}s")
            }
            Cause::Lease { what } => said!(what; "lease lost: {what}", "租约丢失：{what}"),
            Cause::Journal { what } => said!(what; "journal: {what}", "日志：{what}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_in_both_languages_and_its_record_keeps_them() {
        let cause = Cause::Guard {
            what: said!("errors 3% (≤ 1%), 3 of 3", "errors 3%（≤ 1%），连续 3/3 次"),
        };
        assert_eq!(cause.describe(Lang::En), "by guard: errors 3% (≤ 1%), 3 of 3");
        assert_eq!(
            cause.describe(Lang::Zh),
            "守护触发：errors 3%（≤ 1%），连续 3/3 次"
        );
        let json = serde_json::to_value(&cause).unwrap();
        assert_eq!(json["guard"]["what"], "errors 3% (≤ 1%), 3 of 3");
        assert_eq!(json["guard"]["what_zh"], "errors 3%（≤ 1%），连续 3/3 次");
        assert_eq!(serde_json::from_value::<Cause>(json).unwrap(), cause);
    }

    #[test]
    fn a_cause_of_a_version_without_chinese_is_read_and_written_as_it_was() {
        for (old, told) in [
            (
                r#"{"keeper_lost":{"what":"process 7 is gone"}}"#,
                "守护进程丢失：process 7 is gone",
            ),
            (r#"{"asked":{"by":"chen"}}"#, "操作者 chen"),
            (r#"{"slept":{"ms":9000}}"#, "机器休眠 9s"),
            (r#""finished""#, "全部步骤完成"),
        ] {
            let cause: Cause = serde_json::from_str(old).unwrap();
            assert_eq!(cause.describe(Lang::Zh), told);
            assert_eq!(serde_json::to_string(&cause).unwrap(), old);
        }
    }
}
