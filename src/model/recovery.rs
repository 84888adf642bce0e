//! Recovery: its steps in their fixed order, their states, and what it may end with.

use serde::{Deserialize, Serialize};

use super::{
    said::Said,
    text::{Lang, Word},
    time::Span,
};

/// A step of recovery. The order of the variants is the order of the steps.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum StepId {
    /// 1: stop all faults, read back that each is gone.
    Faults,
    /// 2: clear everything at the injectors that carries the run's mark.
    Injector,
    /// 3: take the targets out of the gateway.
    Drain,
    /// 4: bring breakers back.
    Breakers,
    /// 4: delete the degrade flags that the drill caused.
    Flags,
    /// 4: hold the retry queues.
    Retry,
    /// 5: wait for the pools to drain.
    Pools,
    /// 6: traffic back in stages.
    Traffic,
    /// 7: let the retry queues go at their rate.
    Release,
    /// 8: everything back inside its baseline, for the hold time.
    Verify,
}

impl StepId {
    /// All of them, in order.
    pub const ALL: [StepId; 10] = [
        StepId::Faults,
        StepId::Injector,
        StepId::Drain,
        StepId::Breakers,
        StepId::Flags,
        StepId::Retry,
        StepId::Pools,
        StepId::Traffic,
        StepId::Release,
        StepId::Verify,
    ];

    /// The number shown before it; steps of one number run together.
    pub fn number(self) -> u8 {
        match self {
            StepId::Faults => 1,
            StepId::Injector => 2,
            StepId::Drain => 3,
            StepId::Breakers | StepId::Flags | StepId::Retry => 4,
            StepId::Pools => 5,
            StepId::Traffic => 6,
            StepId::Release => 7,
            StepId::Verify => 8,
        }
    }
}

impl Word for StepId {
    fn word(&self, lang: Lang) -> &'static str {
        match self {
            StepId::Faults => lang.pick("stop faults", "停止故障"),
            StepId::Injector => lang.pick("injector", "清注入器"),
            StepId::Drain => lang.pick("drain", "摘流"),
            StepId::Breakers => lang.pick("breakers", "熔断器"),
            StepId::Flags => lang.pick("flags", "降级开关"),
            StepId::Retry => lang.pick("retry queue", "重试队列"),
            StepId::Pools => lang.pick("pools", "线程池"),
            StepId::Traffic => lang.pick("traffic", "放流"),
            StepId::Release => lang.pick("release", "放队列"),
            StepId::Verify => lang.pick("verify", "验证"),
        }
    }
}

/// The state of a recovery step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// Not yet.
    Later,
    /// Now.
    Working,
    /// Waiting for something that takes its time.
    Waiting,
    /// The queue is held, to be let go later.
    Held,
    /// Done, and read back.
    Done,
    /// Nothing to put back: read, and found as it was.
    Nothing,
    /// The playbook does not have it.
    Absent,
    /// Could not be done in full.
    Failed,
}

impl StepState {
    /// Whether the step has ended, well or not.
    pub fn is_over(self) -> bool {
        matches!(
            self,
            StepState::Held | StepState::Done | StepState::Nothing | StepState::Absent | StepState::Failed
        )
    }
}

impl Word for StepState {
    fn word(&self, lang: Lang) -> &'static str {
        match self {
            StepState::Later => lang.pick("later", "等候"),
            StepState::Working => lang.pick("WORKING", "进行"),
            StepState::Waiting => lang.pick("WAIT", "等待"),
            StepState::Held => lang.pick("ON HOLD", "已暂停"),
            StepState::Done => lang.pick("DONE", "完成"),
            StepState::Nothing => lang.pick("NOTHING", "无需"),
            StepState::Absent => lang.pick("--", "--"),
            StepState::Failed => lang.pick("FAILED", "失败"),
        }
    }
}

/// Something that may still be there, with the way to remove it by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftover {
    /// The recovery step that could not finish it.
    pub step: StepId,
    /// What and where: `breaker coupon on order-5 (OPEN)`.
    #[serde(flatten, with = "super::recorded::what")]
    pub what: Said,
    /// Why it could not be put back, or why that is not known.
    #[serde(flatten, with = "super::recorded::why")]
    pub why: Said,
    /// A command that works when typed; where it would do more than a drill may, a look in a line of its own comes first.
    /// Never holds a secret.
    pub by_hand: Option<String>,
    /// Seen to be there, or only not seen to be gone.
    pub certainty: Certainty,
}

impl Leftover {
    /// What was seen to be there.
    pub fn seen(step: StepId, what: Said, why: Said, by_hand: Option<String>) -> Self {
        Self {
            step,
            what,
            why,
            by_hand,
            certainty: Certainty::Seen,
        }
    }

    /// What could not be seen to be gone.
    pub fn unknown(step: StepId, what: Said, why: Said, by_hand: Option<String>) -> Self {
        Self {
            certainty: Certainty::Unknown,
            ..Self::seen(step, what, why, by_hand)
        }
    }
}

/// How sure a leftover is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// It was seen to be there.
    Seen,
    /// It could not be seen to be gone.
    Unknown,
}

/// The three times that are reported apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Milestone {
    /// Every fault is read back as gone.
    FaultsGone,
    /// Every guard hypothesis about users holds again.
    UsersOk,
    /// Everything is put back, and held.
    AllClear,
}

impl Word for Milestone {
    fn word(&self, lang: Lang) -> &'static str {
        match self {
            Milestone::FaultsGone => lang.pick("FAULTS GONE", "故障已清"),
            Milestone::UsersOk => lang.pick("USERS OK", "用户恢复"),
            Milestone::AllClear => lang.pick("ALL CLEAR", "全部恢复"),
        }
    }
}

/// What recovery ended with. Never "no error, so recovered".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Recovered {
    /// Everything was read back as it was, and held.
    Recovered,
    /// Something was seen to be left.
    Leftover,
    /// Something could not be read back.
    Unknown,
}

impl Word for Recovered {
    fn word(&self, lang: Lang) -> &'static str {
        match self {
            Recovered::Recovered => lang.pick("RECOVERED", "已恢复"),
            Recovered::Leftover => lang.pick("LEFTOVER", "有残留"),
            Recovered::Unknown => lang.pick("UNKNOWN", "未知"),
        }
    }
}

/// A step of recovery as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepReport {
    /// Which.
    pub step: StepId,
    /// How far.
    pub state: StepState,
    /// What was done or is waited for, in one line.
    #[serde(flatten, with = "super::recorded::detail")]
    pub detail: Said,
    /// How long it has taken.
    pub took: Span,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::said::said;

    #[test]
    fn a_record_keeps_english_under_its_own_name_and_chinese_beside_it() {
        let left = Leftover {
            step: StepId::Breakers,
            what: said!(
                "breaker coupon on order-5 (OPEN)",
                "order-5 上的熔断器 coupon（OPEN）"
            ),
            why: Said::as_it_is("HTTP 403"),
            by_hand: None,
            certainty: Certainty::Seen,
        };
        let json = serde_json::to_value(&left).unwrap();
        assert_eq!(json["what"], "breaker coupon on order-5 (OPEN)");
        assert_eq!(json["what_zh"], "order-5 上的熔断器 coupon（OPEN）");
        assert_eq!(serde_json::from_value::<Leftover>(json).unwrap(), left);
    }

    #[test]
    fn a_record_of_a_version_without_chinese_is_read_and_written_as_it_was() {
        let old = r#"{"step":"faults","state":"done","detail":"1 of 1 gone, read back","took":800}"#;
        let report: StepReport = serde_json::from_str(old).unwrap();
        assert_eq!(report.detail.get(Lang::Zh), "1 of 1 gone, read back");
        assert_eq!(serde_json::to_string(&report).unwrap(), old);
    }
}
