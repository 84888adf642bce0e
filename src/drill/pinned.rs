//! The targets are resolved once and pinned. While steps run, nobody may join them: what the blast radius was computed
//! for, and what the guard looks at, would no longer be what is there.
//!
//! Seen are the instances that the metrics' source knows in the targets' jobs. One that was not there when the first step
//! began, and is no instance of the environment, is a surprise. One that does not answer its scrape any more is the guard's
//! matter: it becomes blind.

use std::collections::BTreeSet;

use crate::model::{
    phase::Cause,
    plan::Plan,
    said::{Said, said},
    sample::Peer,
};

/// Who was there, and who may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    targets: BTreeSet<String>,
    /// Names and addresses of the environment's instances.
    inventory: BTreeSet<String>,
    seen: BTreeSet<Peer>,
}

impl Pinned {
    /// The targets of a plan; nobody has been seen yet.
    pub fn of(plan: &Plan) -> Self {
        let all = plan.environment.services.values().flatten();
        let targets = &plan.drill.targets;
        let names = targets.instances.iter().flat_map(|instance| {
            let address = plan.environment.address(&targets.service, instance);
            [Some(instance.to_string()), address.map(str::to_owned)]
        });
        Self {
            targets: names.flatten().collect(),
            inventory: all
                .flat_map(|(name, address)| [name.to_string(), address.clone()])
                .collect(),
            seen: BTreeSet::new(),
        }
    }

    /// Takes in who is there. Before the first step everyone is pinned; while steps run, a surprise is a reason to recover.
    pub fn look(&mut self, running: bool, peers: BTreeSet<Peer>) -> Option<Cause> {
        // A source that had no answer before the first step has nothing to compare with: its first one is pinned.
        if !running || self.seen.is_empty() {
            self.seen.extend(peers);
            return None;
        }
        let jobs: BTreeSet<&str> = self
            .seen
            .iter()
            .filter(|peer| self.targets.contains(&peer.instance))
            .map(|peer| peer.job.as_str())
            .collect();
        let joined: Vec<Said> = peers
            .iter()
            .filter(|peer| jobs.contains(peer.job.as_str()))
            .filter(|peer| !self.seen.contains(peer) && !self.inventory.contains(&peer.instance))
            .map(|Peer { job, instance }| {
                said!(
                    "{instance} has joined job `{job}`",
                    "{instance} 加入了 job `{job}`"
                )
            })
            .collect();
        (!joined.is_empty()).then(|| Cause::Targets {
            what: said!(
                joined = Said::list(&joined);
                "{joined}; it is not in the environment, and was not there before the first step",
                "{joined}；它不在环境中，首个步骤开始前也不存在"
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::{drill, environment, plan};

    fn peers(all: &[(&str, &str)]) -> BTreeSet<Peer> {
        let peer = |(job, instance): &(&str, &str)| Peer {
            job: (*job).into(),
            instance: (*instance).into(),
        };
        all.iter().map(peer).collect()
    }

    /// Of the environment's order-0, order-1 and order-2 the first is the target; order-2 is not up.
    fn pinned() -> Pinned {
        let environment = environment(&[
            ("order", "order-0", "h0:1"),
            ("order", "order-1", "h1:1"),
            ("order", "order-2", "h2:1"),
        ]);
        let mut pinned = Pinned::of(&plan(drill(Vec::new()), environment));
        let before = [("order", "order-0"), ("order", "order-1"), ("cart", "cart-0")];
        assert_eq!(pinned.look(false, peers(&before)), None);
        pinned
    }

    #[test]
    fn an_instance_that_joins_the_targets_job_while_steps_run_is_a_surprise() {
        let now = [("order", "order-0"), ("order", "order-9")];
        let Some(Cause::Targets { what }) = pinned().look(true, peers(&now)) else {
            panic!("no surprise");
        };
        assert!(
            what.en().starts_with("order-9 has joined job `order`;"),
            "{what:?}"
        );
    }

    #[test]
    fn who_was_there_or_belongs_to_the_environment_or_to_another_job_is_none() {
        let now = [
            ("order", "order-1"),
            ("order", "order-2"),
            ("order", "h2:1"),
            ("cart", "cart-9"),
        ];
        assert_eq!(pinned().look(true, peers(&now)), None);
        // One that came in the baseline was there when the first step began.
        let mut pinned = pinned();
        assert_eq!(pinned.look(false, peers(&[("order", "order-9")])), None);
        assert_eq!(pinned.look(true, peers(&[("order", "order-9")])), None);
    }

    #[test]
    fn a_source_that_never_answered_before_pins_with_its_first_answer() {
        let environment = environment(&[("order", "order-0", "h0:1")]);
        let mut pinned = Pinned::of(&plan(drill(Vec::new()), environment));
        let first = [("order", "order-0"), ("order", "order-7")];
        assert_eq!(pinned.look(true, peers(&first)), None);
        assert!(pinned.look(true, peers(&[("order", "order-8")])).is_some());
    }
}
