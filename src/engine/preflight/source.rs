//! The source of metrics: it answers, its clock is near ours, its rhythm is fast enough.

use super::Inspector;
use crate::{
    engine::meters::Meters,
    journal::Clock,
    metrics::{MetricsError, Probe, Source},
    model::{
        event::CheckOutcome,
        said::{Said, said},
        time::Span,
    },
};

/// A clock of the source that differs from ours by more is worth a warning.
const SKEW: Span = Span::seconds(5);

/// How often a source is asked that does not answer. While the run goes on one lost answer breaks nothing either.
const PROBES: usize = 3;

/// The pause before it is asked again, at most.
const AGAIN: Span = Span::seconds(1);

impl Inspector {
    /// The source answers, its clock is near ours, and every query has a number.
    pub(super) async fn source(&mut self, meters: &mut Meters) {
        let Some(mut source) = meters.source.take() else {
            return;
        };
        let what = said!("metrics source", "指标来源");
        match answer(&mut source).await {
            Ok(probe) => {
                let found = describe(&probe);
                for (instance, why) in &probe.silent {
                    let what = said!("metrics of {instance}", "{instance} 的指标");
                    self.say(what, CheckOutcome::Warned, why.clone(), None);
                }
                if probe.skew_ms.unsigned_abs() > SKEW.0 {
                    let next = Some(said!(
                        "its time is used for windows; compare clocks before you compare logs",
                        "窗口以其时间为准；比对日志前请先比对时钟"
                    ));
                    self.say(what, CheckOutcome::Warned, found, next);
                } else {
                    self.say(what, CheckOutcome::Passed, found, None);
                }
            }
            Err(error) => {
                let found = Said::as_it_is(error.to_string());
                self.say(what, CheckOutcome::Refused, found, None);
                meters.source = Some(source);
                return;
            }
        }
        for (query, error) in source.refusals(&meters.wanted).await {
            let what = said!("query {query}", "查询 {query}");
            let found = Said::as_it_is(error.to_string());
            self.say(what, CheckOutcome::Refused, found, None);
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
        self.floors_of_shares(meters);
    }

    /// Samples that come more seldom than the guard looks, or than windows are wide, make a run blind from its start.
    fn rhythm(&mut self, meters: &Meters, asked_every: Span) {
        let (guard, window) = (&self.plan.drill.guard, self.plan.drill.window);
        let spacing = meters.spacing();
        let patience = guard.every * u64::from(guard.samples);
        // A sample comes once in `spacing`, is fetched up to `asked_every` later, and looked at up to `every` later.
        let longest = spacing + asked_every + guard.every;
        if patience < longest {
            let found = said!(
                "a fresh sample may take {longest} (one every {spacing}), and {patience} without one aborts",
                "新样本可能要等 {longest}（每 {spacing} 一个），而 {patience} 没有新样本便会中止"
            );
            let next = said!(
                "guard: `every` x `samples` of {longest} or more",
                "guard：`every` x `samples` 至少 {longest}"
            );
            let what = said!("guard's rhythm", "守护节奏");
            self.say(what, CheckOutcome::Refused, found, Some(next));
        }
        // A tenth of room: the spacing is measured, and scrapes are not punctual.
        if window * 11 < spacing * 10 {
            let found = said!(
                "windows of {window}, a sample every {spacing}: most windows would be empty",
                "窗口 {window}，每 {spacing} 一个样本：多数窗口会是空的"
            );
            let next = said!(
                "`window: {spacing}` or more in the drill",
                "演练中 `window: {spacing}` 或更大"
            );
            self.say(said!("windows", "窗口"), CheckOutcome::Refused, found, Some(next));
        }
    }
}

/// What the source answers, or why it never did.
async fn answer(source: &mut Source) -> Result<Probe, MetricsError> {
    let mut answer = source.probe().await;
    for _ in 1..PROBES {
        if answer.is_ok() {
            break;
        }
        tokio::time::sleep(source.every().min(AGAIN).into()).await;
        answer = source.probe().await;
    }
    answer
}

fn describe(probe: &Probe) -> Said {
    let version = match &probe.version {
        Some(version) => Said::as_it_is(format!("Prometheus {version}")),
        None => said!("direct scrape", "直接采集"),
    };
    let trip = probe.round_trip;
    let mut parts = vec![said!(version; "{version} answers in {trip}", "{version} 应答用时 {trip}")];
    let spacing = probe.scrape_interval;
    parts.extend(spacing.map(|i| said!("a sample every {i}", "每 {i} 一个样本")));
    if probe.skew_ms.unsigned_abs() > SKEW.0 {
        let seconds = probe.skew_ms as f64 / 1000.0;
        parts.push(said!(
            "its clock is {seconds:+.1}s off ours",
            "其时钟与本机相差 {seconds:+.1}s"
        ));
    }
    Said::list(&parts)
}
