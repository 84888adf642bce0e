//! How a run ends.

use serde::{Deserialize, Serialize};

use crate::model::{exit::Exit, phase::Cause, recovery::Recovered, sheet::Hypothesis};

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

impl Outcome {
    /// Whether the words ALL CLEAR may be said.
    pub fn all_clear(&self) -> bool {
        self.recovered == Recovered::Recovered && !self.refused
    }
}
