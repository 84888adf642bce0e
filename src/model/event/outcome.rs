//! How a run ends.

use serde::{Deserialize, Serialize};

use crate::model::{
    exit::Exit,
    ids::StepName,
    phase::Cause,
    recovery::Recovered,
    said::{Said, said},
    sheet::Hypothesis,
};

/// How a run ended: two axes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Whether the hypothesis held; `None` if no fault was ever armed.
    pub hypothesis: Option<Hypothesis>,
    /// Whether everything is back.
    pub recovered: Recovered,
    /// Why recovery began.
    pub cause: Option<Cause>,
    /// Whether it was refused before anything was touched.
    pub refused: bool,
    /// The exit code of `run` and `smoke`, without `--allow-undecided`.
    pub exit: Exit,
}

/// What keeps a hypothesis from being HELD and stands on no row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The faults of a group that expects nothing were not seen to hit anything.
    NotExercised {
        /// Its first step.
        step: StepName,
    },
    /// When the last fault had only just ended, the guard broke on samples that reach back to it.
    GuardBroke {
        /// Which, with value, limit and count.
        #[serde(flatten, with = "crate::model::recorded::what")]
        what: Said,
    },
}

impl Doubt {
    /// In one line, in both languages.
    pub fn said(&self) -> Said {
        match self {
            Doubt::NotExercised { step } => said!(
                "the fault of step {step} was not seen to hit anything",
                "未见步骤 {step} 的故障命中"
            ),
            Doubt::GuardBroke { what } => said!(
                what;
                "the guard broke when the last fault had just ended: {what}",
                "末个故障刚结束，守护即触发：{what}"
            ),
        }
    }
}

impl Outcome {
    /// Whether the words ALL CLEAR may be said.
    pub fn all_clear(&self) -> bool {
        self.recovered == Recovered::Recovered && !self.refused
    }
}
