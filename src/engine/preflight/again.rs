//! Right before arming: what recovery may change is read once more, since a baseline may be long.

use std::sync::Arc;

use crate::{
    drill::Input,
    engine::{
        Done, Engine,
        recovery::{self, Again},
    },
    model::event::Body,
};

impl Engine {
    /// Reads everything again beside the engine: the guard goes on meanwhile.
    pub(in crate::engine) fn read_again(&mut self, look: u32) {
        let (plan, drivers, before) = (self.plan.clone(), self.drivers.clone(), self.snapshot.clone());
        let done = self.done.clone();
        self.spawn(async move {
            let again = Box::new(recovery::read_again(&plan, &drivers, &before).await);
            let _ = done.send(Done::ReadAgain { look, again });
        });
    }

    /// What has changed and stands still is the snapshot from here on, once that is on the disk.
    pub(in crate::engine) async fn was_read_again(&mut self, look: u32, again: Again) {
        if !self.machine.awaits(look) {
            return;
        }
        let mut blockers = Vec::new();
        match again {
            Again::AsBefore => {}
            Again::Blocked(why) => blockers = why,
            Again::Changed { snapshot, changed } => {
                self.ledger.emit(Body::ChangedMeanwhile(changed));
                let taken = Body::SnapshotTaken(snapshot.clone());
                match self.ledger.emit_durably(taken).await {
                    Ok(()) => self.snapshot = Arc::new(*snapshot),
                    Err(error) => blockers.push(format!("the snapshot cannot be written down: {error}")),
                }
            }
        }
        self.feed(Input::ReadAgain { look, blockers });
    }
}
