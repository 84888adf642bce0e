//! The phases of a run, and who or what asked for a change.

use serde::{Deserialize, Serialize};

use super::text::{Lang, Word};

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
        what: String,
    },
    /// The guard saw nothing for long enough.
    Blind {
        /// Which, and for how long.
        what: String,
    },
    /// A fault could not be injected.
    InjectFailed {
        /// Which, and why.
        what: String,
    },
    /// The targets are no longer those that were pinned.
    Targets {
        /// What changed.
        what: String,
    },
    /// The keeper died or hung; the deadman took over.
    KeeperLost {
        /// What the deadman saw.
        what: String,
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
    /// The journal could not be written.
    Journal {
        /// The error.
        what: String,
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
        let (en, zh, what) = match self {
            Cause::Finished => ("all steps done", "全部步骤完成", ""),
            Cause::Restore => ("the playbook alone", "仅执行恢复预案", ""),
            Cause::Asked { by } => ("asked by", "操作者", by.as_str()),
            Cause::Interrupted { signal } => ("interrupted by", "被中断", signal.as_str()),
            Cause::Guard { what } => ("by guard:", "守护触发:", what.as_str()),
            Cause::Blind { what } => ("guard blind:", "守护失明:", what.as_str()),
            Cause::InjectFailed { what } => ("injection failed:", "注入失败:", what.as_str()),
            Cause::Targets { what } => ("targets changed:", "目标变化:", what.as_str()),
            Cause::KeeperLost { what } => ("keeper lost:", "守护进程丢失:", what.as_str()),
            Cause::DeadmanLost { ms } => {
                return format!("{} {}s", lang.pick("no deadman for", "无替补守护，已"), ms / 1000);
            }
            Cause::Slept { ms } => {
                return format!("{} {}s", lang.pick("the machine slept", "机器休眠"), ms / 1000);
            }
            Cause::Journal { what } => ("journal:", "日志:", what.as_str()),
        };
        format!("{} {what}", lang.pick(en, zh)).trim_end().to_owned()
    }
}
