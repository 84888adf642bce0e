//! Watching over the pinned targets while steps run: who joins their job, and whether each address leads to one instance.

use std::collections::BTreeSet;

use tokio::time::{MissedTickBehavior, interval};

use crate::{
    drill::Input,
    drivers::point::RuleSeen,
    engine::{Done, Engine, faults::track::Track},
    metrics::{Source, peer_selectors},
    model::{
        ids::RunId,
        phase::{Cause, Phase},
        said::{Said, said},
        sample::Peer,
        undo::UndoFault,
    },
};

impl Engine {
    /// Asks the metrics' source who is beside the targets, at its own rhythm. Nobody is asked where instances are scraped.
    pub(in crate::engine) fn watch_targets(&mut self) {
        let drill = &self.plan.drill;
        let selectors = peer_selectors(&drill.dashboard, &drill.watched());
        let source = match Source::open(&self.plan.environment, &self.secrets) {
            Ok(source) if !selectors.is_empty() => source,
            // A source that cannot be opened is told by the meters.
            _ => return,
        };
        let done = self.done.clone();
        self.spawn(async move {
            let mut rhythm = interval(source.every().into());
            rhythm.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                rhythm.tick().await;
                let peers = match source.peers(&selectors).await {
                    Ok(Some(peers)) => peers,
                    Ok(None) => return,
                    // A source that does not answer makes the guard blind, and that aborts.
                    Err(error) => {
                        tracing::debug!(%error, "who is beside the targets is not known");
                        continue;
                    }
                };
                if done.send(Done::Peers(peers)).is_err() {
                    return;
                }
            }
        });
    }

    pub(in crate::engine) fn peers(&mut self, peers: BTreeSet<Peer>) {
        let running = self.machine.phase() == Phase::Running;
        if let Some(cause) = self.pinned.look(running, peers) {
            self.feed(Input::Recover(cause));
        }
    }

    /// What an injector tells shows whether its address still leads to the instance that was pinned.
    pub(in crate::engine) fn check_address(&mut self, base: &str, rules: &[RuleSeen]) {
        if self.machine.phase() != Phase::Running {
            return;
        }
        if let Some(what) = led_astray(&self.plan.run, base, rules, self.faults.values()) {
            self.feed(Input::Recover(Cause::Targets { what }));
        }
    }
}

/// A rule of this run that was made at one address and is seen at another: both lead to one instance.
fn led_astray<'a>(
    run: &RunId,
    base: &str,
    rules: &[RuleSeen],
    faults: impl Iterator<Item = &'a Track> + Clone,
) -> Option<Said> {
    let ours = rules.iter().filter(|rule| rule.run == run.as_str());
    let mut astray = ours.filter_map(|rule| {
        let track = faults.clone().find(|t| t.intent.id.as_str() == rule.id)?;
        match &track.intent.undo {
            UndoFault::Rule { base: made } if made != base => {
                let id = &rule.id;
                Some(said!(
                    "{base} and {made} lead to one instance: the rule {id} was made at {made} and is seen at both",
                    "{base} 与 {made} 指向同一实例：规则 {id} 建于 {made}，却在两处可见"
                ))
            }
            _ => None,
        }
    });
    astray.next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        ids::{FaultId, InstanceName, StepName},
        undo::FaultIntent,
    };

    fn track(run: &RunId, instance: &str, base: &str) -> Track {
        let (step, instance) = (StepName::new("s").unwrap(), InstanceName::new(instance).unwrap());
        Track {
            intent: FaultIntent {
                id: FaultId::new(run, &step, &instance, 0),
                step,
                instance,
                what: "w".into(),
                undo: UndoFault::Rule { base: base.into() },
                expires_in: None,
            },
            hits: None,
            gone: None,
            live: None,
            vanished: false,
        }
    }

    #[test]
    fn a_rule_seen_where_it_was_not_made_means_that_two_addresses_lead_to_one_instance() {
        let run = RunId::new("7f3a").unwrap();
        let faults = [
            track(&run, "order-0", "http://h0:1"),
            track(&run, "order-1", "http://h1:1"),
        ];
        let seen = |track: &Track, run: &str| -> RuleSeen {
            serde_json::from_value(serde_json::json!({"id": track.intent.id, "run": run})).unwrap()
        };
        let at_h1 = |rules: &[RuleSeen]| led_astray(&run, "http://h1:1", rules, faults.iter());
        assert_eq!(at_h1(&[seen(&faults[1], "7f3a")]), None);
        assert_eq!(at_h1(&[seen(&faults[0], "beef")]), None, "of another run");
        let what = at_h1(&[seen(&faults[1], "7f3a"), seen(&faults[0], "7f3a")]).unwrap();
        assert!(
            what.en()
                .starts_with("http://h1:1 and http://h0:1 lead to one instance"),
            "{what:?}"
        );
    }
}
