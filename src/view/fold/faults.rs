//! Faults, from their intent to their read-back.

use crate::{
    model::{
        ids::FaultId,
        recovery::Milestone,
        text::harmless,
        time::{Moment, Span},
        undo::FaultIntent,
    },
    view::{FaultState, FaultView, MAX_TEXT, RunView},
};

impl RunView {
    pub(super) fn intended(&mut self, intent: &FaultIntent) {
        let fault = self.fault(&intent.id);
        fault.place = Some((intent.step.clone(), intent.instance.clone()));
        fault.what = harmless(&intent.what, MAX_TEXT);
        fault.state = FaultState::Intended;
    }

    /// The fault of that id. One that was never announced is kept as well: it may be there.
    pub(super) fn fault(&mut self, id: &FaultId) -> &mut FaultView {
        let place = self.faults.iter().position(|f| &f.id == id).unwrap_or_else(|| {
            self.faults.push(FaultView {
                id: id.clone(),
                place: None,
                what: String::new(),
                state: FaultState::Intended,
                hits: None,
                expires: None,
                live: None,
                gone: None,
            });
            self.faults.len() - 1
        });
        &mut self.faults[place]
    }

    /// FAULTS GONE says that every fault was read back. That settles those that may never have been made; one that was
    /// seen live needs a read-back of its own.
    pub(super) fn reached(&mut self, milestone: Milestone, after: Span, at: Moment) {
        match milestone {
            Milestone::FaultsGone => {
                self.times.faults_gone = Some(after);
                for fault in self
                    .faults
                    .iter_mut()
                    .filter(|f| f.may_be_live() && f.live.is_none())
                {
                    fault.state = FaultState::Gone;
                    fault.gone = Some(at);
                }
            }
            Milestone::UsersOk => self.times.users_ok = Some(after),
            Milestone::AllClear => self.times.all_clear = Some(after),
        }
    }
}
