//! What is known of a fault of this run.

use crate::{
    journal::FaultFact,
    model::{event::Hits, time::Moment, undo::FaultIntent},
};

/// A fault of this run.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Track {
    pub intent: FaultIntent,
    /// The last counters read; `None` if they never were.
    pub hits: Option<Hits>,
    /// When it was read back as gone.
    pub gone: Option<Moment>,
    /// When its creation was confirmed.
    pub live: Option<Moment>,
    /// Whether its injector stopped telling of it while its step still ran.
    pub vanished: bool,
}

impl Track {
    /// Whether an injector that was asked at this time must have told of it. One that was asked while the fault was being
    /// made may have answered before it.
    pub fn must_be_there(&self, asked: Moment) -> bool {
        self.live.is_some_and(|since| asked >= since) && !self.vanished && self.gone.is_none()
    }

    pub fn inherited(fact: &FaultFact) -> Self {
        let gone = (fact.state == crate::journal::FaultState::Gone).then_some(Moment::default());
        Self {
            intent: fact.intent.clone(),
            hits: None,
            gone,
            live: Some(Moment::default()),
            vanished: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ids::FaultId, undo::UndoFault};

    #[test]
    fn an_injector_asked_while_the_fault_was_made_says_nothing_by_its_silence() {
        let run = crate::model::ids::RunId::new("7f3a").unwrap();
        let instance = crate::model::ids::InstanceName::new("order-0").unwrap();
        let step = crate::model::ids::StepName::new("s").unwrap();
        let mut track = Track {
            intent: FaultIntent {
                id: FaultId::new(&run, &step, &instance, 0),
                step,
                instance,
                what: "w".into(),
                undo: UndoFault::Load,
                expires_in: None,
            },
            hits: None,
            gone: None,
            live: None,
            vanished: false,
        };
        assert!(!track.must_be_there(Moment(5)));
        track.live = Some(Moment(10));
        assert!(!track.must_be_there(Moment(9)));
        assert!(track.must_be_there(Moment(10)));
        track.gone = Some(Moment(20));
        assert!(!track.must_be_there(Moment(21)));
    }
}
