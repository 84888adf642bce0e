//! Rules that are there already: other people's, or what an earlier run left.

use super::Inspector;
use crate::model::{
    event::CheckOutcome,
    said::{Said, said},
};

impl Inspector {
    /// Says what the snapshot found at the injectors. One that did not answer is refused by its own check.
    pub(super) fn leftovers_of_others(&mut self, foreign: &[String]) {
        let what = said!("earlier runs", "以往演练");
        if foreign.is_empty() {
            let found = said!(
                "nothing left at the injectors that answered",
                "已应答的注入器上无残留"
            );
            self.say(what, CheckOutcome::Passed, found, None);
        } else {
            let next = Some(said!(
                "`allclear recover` removes what an earlier run left; others' rules stay",
                "`allclear recover` 可清除以往演练的残留；他人的规则不动"
            ));
            let found = Said::as_it_is(foreign.join("; "));
            self.say(what, CheckOutcome::Warned, found, next);
        }
    }
}
