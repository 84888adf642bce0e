//! Reading while the run goes on: a task for each source, and what the engine makes of its answers.

use std::collections::BTreeMap;

use tokio::time::{MissedTickBehavior, interval};

use crate::{
    engine::{Done, Engine},
    metrics::{Fetch, Source, Wanted},
    model::{
        event::Body,
        phase::Phase,
        said::Said,
        sample::{Query, Reading, SourceMs},
        time::Span,
    },
};

impl Engine {
    /// Starts reading. Each source is asked at its own rhythm and never twice at a time.
    pub(in crate::engine) fn start_meters(&mut self) {
        self.watch_targets();
        let Some(meters) = &mut self.meters else { return };
        let mut tasks = Vec::new();
        if let Some(source) = meters.source.take() {
            tasks.push((None, source, meters.wanted.clone()));
        }
        for (i, trip) in meters.trips.iter_mut().enumerate() {
            if let Some(source) = trip.source.take() {
                tasks.push((Some(i), source, trip.wanted.clone()));
            }
        }
        for (meter, source, wanted) in tasks {
            let done = self.done.clone();
            self.spawn(read_on(source, wanted, move |fetch| {
                let fetch = Box::new(fetch);
                done.send(match meter {
                    None => Done::Fetched(fetch),
                    Some(meter) => Done::Tripped { meter, fetch },
                })
                .is_ok()
            }));
        }
    }

    /// Now, on the clock of the metrics' source; our own wall clock until it has answered.
    pub(in crate::engine) fn source_now(&self) -> SourceMs {
        match self.meters.as_ref().and_then(|m| m.offset) {
            Some(offset) => self.clock.now().0 as i64 + offset,
            None => self.clock.wall().as_millisecond(),
        }
    }

    /// The spacing of the source's samples.
    pub(in crate::engine) fn spacing(&self) -> Span {
        self.meters.as_ref().map_or(Span::seconds(1), |m| m.spacing)
    }

    /// How old the newest sample of a query is.
    pub(in crate::engine) fn age(&self, query: &Query) -> Span {
        self.meters
            .as_ref()
            .map_or(Span::ZERO, |m| m.store.reading(query, Span::ZERO).age)
    }

    pub(in crate::engine) fn fetched(&mut self, fetch: Fetch) {
        let now = self.clock.now();
        for warning in &fetch.warnings {
            self.warn_once(warning);
        }
        let Some(meters) = &mut self.meters else { return };
        meters.add(fetch, now);
        self.take_windows();
        self.share_readings();
        if self.machine.phase() == Phase::Baseline {
            self.watch_baseline();
        }
    }

    fn warn_once(&mut self, warning: &Said) {
        if self.warned.insert(warning.en().to_owned()) {
            self.ledger.emit(Body::Warning(warning.clone()));
        }
    }

    /// Takes every window that is complete by now.
    fn take_windows(&mut self) {
        let Some(meters) = &self.meters else { return };
        let width = self.plan.drill.window;
        for period in self.collected.open_periods() {
            for query in &meters.queries {
                if let Some(edges) = meters.store.edges(query) {
                    self.collected.set_edges(query, edges);
                }
                while let Some((start, index)) = self.collected.wanted(period, query, width) {
                    let Some(window) = meters.store.window(query, start, width, index) else {
                        break;
                    };
                    self.ledger.emit(Body::Window {
                        query: query.clone(),
                        period,
                        window: window.clone(),
                    });
                    self.collected.push(period, query, window);
                }
            }
        }
    }

    fn share_readings(&mut self) {
        let Some(meters) = &self.meters else { return };
        let pools = &self.plan.drill.recovery.pools;
        let readings: BTreeMap<Query, Reading> = pools
            .iter()
            .map(|p| Query::new(&p.metric, p.scope.as_ref()))
            .chain(meters.of_instances.iter().cloned())
            .map(|q| (q.clone(), meters.store.reading(&q, Span::ZERO)))
            .collect();
        self.shared.set_readings(readings);
    }
}

/// Asks a source again and again, at its rhythm, until nobody listens.
async fn read_on(mut source: Source, wanted: Vec<Wanted>, mut tell: impl FnMut(Fetch) -> bool) {
    let mut rhythm = interval(source.every().into());
    rhythm.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        rhythm.tick().await;
        if !tell(source.fetch(&wanted).await) {
            return;
        }
    }
}
