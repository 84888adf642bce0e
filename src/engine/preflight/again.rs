//! Right before arming: what recovery may change is read once more, since a baseline may be long.

use std::sync::Arc;

use crate::{
    drill::Input,
    engine::{
        Done, Engine,
        recovery::{self, Again},
    },
    model::{
        event::Body,
        said::{Said, said},
        snapshot::Snapshot,
    },
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
            Again::AsBefore if self.another_snapshot => {
                let same = self.snapshot.clone();
                blockers.extend(self.counts_from_here(same).await);
            }
            Again::AsBefore => {}
            Again::Blocked(why) => blockers = why,
            Again::Changed { snapshot, changed } => {
                self.ledger.emit(Body::ChangedMeanwhile(changed));
                blockers.extend(self.counts_from_here(Arc::from(snapshot)).await);
            }
        }
        blockers.extend(self.lease_forbids());
        self.feed(Input::ReadAgain { look, blockers });
    }

    /// Makes it the snapshot that counts, here and in the journal; or says why it does not. A record that failed may be in the
    /// file nevertheless, or come into it later: then the journal's last snapshot may be another one than ours.
    async fn counts_from_here(&mut self, snapshot: Arc<Snapshot>) -> Option<Said> {
        let taken = Body::SnapshotTaken(Box::new(Snapshot::clone(&snapshot)));
        let written = self.ledger.emit_durably(taken).await;
        self.another_snapshot = written.is_err();
        match written {
            Ok(()) => {
                self.snapshot = snapshot;
                None
            }
            Err(error) => Some(said!(
                error = error.said();
                "the snapshot cannot be written down: {error}",
                "快照无法写下：{error}"
            )),
        }
    }
}
