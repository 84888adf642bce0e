//! The source of metrics: it answers, its clock is near ours, its rhythm is fast enough.

use super::Inspector;
use crate::{
    engine::meters::Meters,
    journal::Clock,
    metrics::{Probe, Source},
    model::{event::CheckOutcome, time::Span},
};

/// A clock of the source that differs from ours by more is worth a warning.
const SKEW: Span = Span::seconds(5);

impl Inspector {
    /// The source answers, its clock is near ours, and every query has a number.
    pub(super) async fn source(&mut self, meters: &mut Meters) {
        let Some(mut source) = meters.source.take() else {
            return;
        };
        match source.probe().await {
            Ok(probe) => {
                let found = describe(&probe);
                for (instance, why) in &probe.silent {
                    self.say(
                        &format!("metrics of {instance}"),
                        CheckOutcome::Warned,
                        why.clone(),
                        None,
                    );
                }
                if probe.skew_ms.unsigned_abs() > SKEW.0 {
                    let next = Some("its time is used for windows; compare clocks before you compare logs");
                    self.say("metrics source", CheckOutcome::Warned, found, next);
                } else {
                    self.say("metrics source", CheckOutcome::Passed, found, None);
                }
            }
            Err(error) => {
                self.say("metrics source", CheckOutcome::Refused, error.to_string(), None);
                meters.source = Some(source);
                return;
            }
        }
        for (query, error) in source.refusals(&meters.wanted).await {
            self.say(
                &format!("query {query}"),
                CheckOutcome::Refused,
                error.to_string(),
                None,
            );
        }
        // Counters need two samples to be a number.
        for round in 0..3 {
            if round > 0 {
                tokio::time::sleep(source.every().into()).await;
            }
            let fetch = source.fetch(&meters.wanted).await;
            let now = Clock.now();
            meters.add(fetch, now);
        }
        // A scrape of our own is as fresh as its answer; a server's samples wait until it is asked.
        let asked_every = match &source {
            Source::Prometheus(_) => source.every(),
            Source::Scrape(_) => Span::ZERO,
        };
        meters.source = Some(source);
        self.rhythm(meters, asked_every);
        self.queries(meters);
    }

    /// Samples that come more seldom than the guard looks, or than windows are wide, make a run blind from its start.
    fn rhythm(&mut self, meters: &Meters, asked_every: Span) {
        let (guard, window) = (&self.plan.drill.guard, self.plan.drill.window);
        let spacing = meters.spacing();
        let patience = guard.every * u64::from(guard.samples);
        // A sample comes once in `spacing`, is fetched up to `asked_every` later, and looked at up to `every` later.
        let longest = spacing + asked_every + guard.every;
        if patience < longest {
            let found = format!(
                "a fresh sample may take {longest} (one every {spacing}), and {patience} without one aborts"
            );
            let next = format!("guard: `every` x `samples` of {longest} or more");
            self.say("guard's rhythm", CheckOutcome::Refused, found, Some(&next));
        }
        // A tenth of room: the spacing is measured, and scrapes are not punctual.
        if window * 11 < spacing * 10 {
            let found = format!("windows of {window}, a sample every {spacing}: most windows would be empty");
            let next = format!("`window: {spacing}` or more in the drill");
            self.say("windows", CheckOutcome::Refused, found, Some(&next));
        }
    }
}

fn describe(probe: &Probe) -> String {
    let version = probe
        .version
        .as_ref()
        .map_or_else(|| "direct scrape".to_owned(), |v| format!("Prometheus {v}"));
    let spacing = probe
        .scrape_interval
        .map(|i| format!(", a sample every {i}"))
        .unwrap_or_default();
    let seconds = probe.skew_ms as f64 / 1000.0;
    let skew = if probe.skew_ms.unsigned_abs() > SKEW.0 {
        format!(", its clock is {seconds:+.1}s off ours")
    } else {
        String::new()
    };
    format!("{version} answers in {}{spacing}{skew}", probe.round_trip)
}
