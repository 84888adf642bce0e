//! Why a fault without effect had none: injector, hits, requests, cache.

use crate::{
    engine::Engine,
    model::{
        event::{Body, Hits},
        undo::UndoFault,
    },
};

impl Engine {
    /// Why a fault without effect had none: injector, hits, requests, cache.
    pub(in crate::engine) fn ladder(&mut self, group: usize) {
        for step in self
            .schedule
            .members(group)
            .filter(|s| self.schedule.slots[*s].breaks)
            .collect::<Vec<_>>()
        {
            let name = self.plan.drill.steps[step].name.clone();
            let mine: Vec<_> = self.faults.values().filter(|t| t.intent.step == name).collect();
            let read: Vec<Hits> = mine.iter().filter_map(|t| t.hits).collect();
            let sum = |f: fn(&Hits) -> u64| read.iter().map(f).sum::<u64>();
            let (hits, misses, capped) = (sum(|h| h.hits), sum(|h| h.misses), sum(|h| h.capped));
            let rule = mine
                .iter()
                .any(|t| matches!(t.intent.undo, UndoFault::Rule { .. }));
            let at_injector = format!("{} of {} were seen there", read.len(), mine.len());
            let came_by = match (rule, misses, capped) {
                (false, ..) => "the load sent nothing".into(),
                (true, 0, 0) => "no call came by the point at all".to_owned(),
                (true, m, 0) => format!("{m} calls came by, and none matched header, instance and share"),
                (true, m, c) => format!("{m} calls came by, and the cap let {c} of them pass"),
            };
            let cache = if misses == 0 {
                "a cache may have answered before the point: look at its hit metric, and at the mark on the traffic"
            } else {
                "not the cause: calls reached the point"
            };
            let rungs = vec![
                ("fault state at the injector".to_owned(), at_injector),
                ("hits".to_owned(), hits.to_string()),
                ("did the request come by".to_owned(), came_by),
                ("did a cache answer".to_owned(), cache.to_owned()),
            ];
            self.ledger.emit(Body::Ladder { step: name, rungs });
        }
    }
}
