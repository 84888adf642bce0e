//! The fixed order of recovery, as a part of the machine: which step may begin when, and when it is over.

use std::collections::{BTreeMap, BTreeSet};

use super::Effect;
use crate::model::{
    event::Body,
    phase::Cause,
    playbook::Playbook,
    recovery::{Leftover, Milestone, StepId},
    time::Moment,
};

/// What recovery does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Carry out a step.
    Step(StepId),
    /// Run a command of the playbook.
    Command(usize),
    /// Read whether anything of steps 3 to 7 has to be put back.
    Assess,
    /// All steps are over: verify.
    Verify,
}

/// What recovery has done so far.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recovering {
    pub cause: Cause,
    pub began: Moment,
    steps: BTreeMap<StepId, Progress>,
    /// Steps that go on beside later ones: they wait only for targets that do not answer.
    beside: BTreeSet<StepId>,
    need: Need,
    commands: Vec<Command>,
    reached: BTreeSet<Milestone>,
    /// Until then nothing follows the first step: keepers before this one have died one after another.
    pause: Option<Moment>,
    /// What only a command's own report tells: it cannot be read again at the end.
    pub reported: Vec<Leftover>,
}

/// A command of the playbook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Command {
    after: StepId,
    progress: Progress,
}

/// How far a step or a command is. How well it ended is not asked: the last read finds what remains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Later,
    Begun,
    Over,
}

/// Whether steps 3 to 7 have anything to put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    NotAsked,
    Asked,
    Known(bool),
}

/// The stages in their order. Steps of one stage run together; a stage begins when the one before it is over.
const STAGES: [&[StepId]; 7] = [
    &[StepId::Faults],
    &[StepId::Injector],
    &[StepId::Drain],
    &[StepId::Breakers, StepId::Flags, StepId::Retry],
    &[StepId::Pools],
    &[StepId::Traffic],
    &[StepId::Release],
];

impl Recovering {
    pub fn new(cause: Cause, began: Moment, playbook: &Playbook) -> Self {
        let commands = playbook
            .commands
            .iter()
            .map(|c| Command {
                after: c.after,
                progress: Progress::Later,
            })
            .collect();
        Self {
            cause,
            began,
            steps: StepId::ALL.iter().map(|s| (*s, Progress::Later)).collect(),
            beside: BTreeSet::new(),
            need: Need::NotAsked,
            commands,
            reached: BTreeSet::new(),
            pause: None,
            reported: Vec::new(),
        }
    }

    /// Whether every step before verifying is over and verifying has been handed out.
    pub fn is_verifying(&self) -> bool {
        self.steps[&StepId::Verify] != Progress::Later
    }

    /// One of the three times has come; each comes once.
    pub fn reach(&mut self, milestone: Milestone, now: Moment) -> Vec<Effect> {
        if !self.reached.insert(milestone) {
            return Vec::new();
        }
        vec![Effect::Emit(Body::Reached {
            milestone,
            after: now.since(self.began),
        })]
    }

    /// The second of the three times: never before the first.
    pub fn users_ok(&mut self, ok: bool, now: Moment) -> Vec<Effect> {
        if ok && self.reached.contains(&Milestone::FaultsGone) {
            self.reach(Milestone::UsersOk, now)
        } else {
            Vec::new()
        }
    }

    /// Whether a step is over.
    pub fn is_over(&self, step: StepId) -> bool {
        self.steps[&step] == Progress::Over
    }

    /// Later steps may begin before this one is over.
    pub fn go_on(&mut self, step: StepId) {
        self.beside.insert(step);
    }

    fn lets_go_on(&self, step: StepId) -> bool {
        self.is_over(step) || self.beside.contains(&step)
    }

    /// A step's leftovers are not asked for: the last read finds them, or finds that they have come right.
    pub fn step_over(&mut self, step: StepId) {
        // Verifying is the machine's own: nobody else says that it is over.
        if step != StepId::Verify {
            self.steps.insert(step, Progress::Over);
        }
    }

    pub fn command_over(&mut self, index: usize, leftovers: Vec<Leftover>) {
        if let Some(command) = self.commands.get_mut(index) {
            command.progress = Progress::Over;
        }
        self.reported.extend(leftovers);
    }

    /// What reading steps 3 to 7 has shown. Without need they are over at once.
    pub fn assessed(&mut self, needed: bool) {
        self.need = Need::Known(needed);
    }

    /// Nothing but the first step begins before `until`: to stop a fault is safe and urgent, whatever made keepers die.
    pub fn pause_until(&mut self, until: Moment) {
        self.pause = Some(until);
    }

    /// Whether a pause has just ended. Says so once.
    pub fn pause_ends(&mut self, now: Moment) -> bool {
        self.pause.take_if(|until| now >= *until).is_some()
    }

    /// What can begin now. Marks it as begun.
    pub fn next(&mut self) -> Vec<Next> {
        for stage in STAGES {
            if stage.iter().all(|s| self.lets_go_on(*s)) {
                if self.pause.is_some() {
                    return Vec::new();
                }
                match self.commands_after(stage) {
                    Some(waiting) => return waiting,
                    None => continue,
                }
            }
            if stage[0] == StepId::Drain {
                match self.need {
                    Need::NotAsked => {
                        self.need = Need::Asked;
                        return vec![Next::Assess];
                    }
                    Need::Asked => return Vec::new(),
                    Need::Known(_) => {}
                }
            }
            return self.begin(stage);
        }
        if self.is_verifying() {
            return Vec::new();
        }
        self.steps.insert(StepId::Verify, Progress::Begun);
        vec![Next::Verify]
    }

    /// Commands that follow a stage run one by one; `None` when all of them are over.
    fn commands_after(&mut self, stage: &[StepId]) -> Option<Vec<Next>> {
        let (index, command) = self
            .commands
            .iter_mut()
            .enumerate()
            .find(|(_, c)| stage.contains(&c.after) && c.progress != Progress::Over)?;
        if command.progress == Progress::Begun {
            return Some(Vec::new());
        }
        command.progress = Progress::Begun;
        Some(vec![Next::Command(index)])
    }

    fn begin(&mut self, stage: &[StepId]) -> Vec<Next> {
        let mut begun = Vec::new();
        for step in stage {
            if self.steps[step] == Progress::Later {
                self.steps.insert(*step, Progress::Begun);
                begun.push(Next::Step(*step));
            }
        }
        begun
    }

    /// Whether steps 3 to 7 have anything to put back. Unknown counts as yes.
    pub fn needed(&self) -> bool {
        self.need != Need::Known(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{drill::schedule::tests::drill, model::time::Span};

    fn run(needed: bool) -> Vec<String> {
        let mut playbook = drill(vec![]).recovery;
        playbook.commands.push(crate::model::playbook::Command {
            name: crate::model::ids::CommandName::new("warm").unwrap(),
            after: StepId::Pools,
            how: crate::model::playbook::How::Run {
                run: vec!["true".into()],
                check: None,
            },
            timeout: Span::seconds(1),
        });
        let mut r = Recovering::new(Cause::Finished, Moment(0), &playbook);
        let mut order = Vec::new();
        loop {
            let next = r.next();
            if next.is_empty() {
                return order;
            }
            order.push(format!("{next:?}"));
            assert!(r.next().iter().all(|n| !next.contains(n)), "nothing begins twice");
            for n in next {
                match n {
                    Next::Assess => r.assessed(needed),
                    Next::Command(i) => r.command_over(i, vec![]),
                    Next::Verify => {}
                    Next::Step(step) => r.step_over(step),
                }
            }
        }
    }

    #[test]
    fn the_order_is_fixed_whatever_there_is_to_put_back() {
        let order = run(true);
        assert_eq!(
            order,
            [
                "[Step(Faults)]",
                "[Step(Injector)]",
                "[Assess]",
                "[Step(Drain)]",
                "[Step(Breakers), Step(Flags), Step(Retry)]",
                "[Step(Pools)]",
                "[Command(0)]",
                "[Step(Traffic)]",
                "[Step(Release)]",
                "[Verify]"
            ]
        );
        assert_eq!(run(false), order);
    }

    #[test]
    fn every_step_but_the_last_has_a_stage_so_that_what_follows_it_is_run() {
        let mut staged: Vec<StepId> = STAGES.concat();
        staged.push(StepId::Verify);
        assert_eq!(staged, StepId::ALL);
    }
}
