//! Rules that are there already: other people's, or what an earlier run left.

use super::Inspector;
use crate::model::event::CheckOutcome;

impl Inspector {
    /// Says what the snapshot found at the injectors. One that did not answer is refused by its own check.
    pub(super) fn leftovers_of_others(&mut self, foreign: &[String]) {
        if foreign.is_empty() {
            let found = "nothing left at the injectors that answered";
            self.say("earlier runs", CheckOutcome::Passed, found, None);
        } else {
            let next = Some("`allclear recover` removes what an earlier run left; others' rules stay");
            self.say("earlier runs", CheckOutcome::Warned, foreign.join("; "), next);
        }
    }
}
