//! When each step begins and ends, which steps are judged together, and which rows another group's fault disturbs.

use crate::model::{
    drill::{Drill, Start, Step},
    time::Span,
};

/// The timeline of a drill's steps. All times count from the start of the first step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// One slot a step, in the file's order.
    pub slots: Vec<Slot>,
}

/// When a step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Its start.
    pub start: Span,
    /// Its end.
    pub end: Span,
    /// The index of the first step of its group: steps joined by `with` are judged together.
    pub group: usize,
    /// Whether it breaks something.
    pub breaks: bool,
}

/// Why a drill has no timeline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSchedule {
    /// `after` or `with` names no step.
    #[error(
        "step `{step}` begins {how} `{wanted}`, and there is no such step; write the name of one of the drill's steps"
    )]
    Unknown {
        /// The step.
        step: String,
        /// `after` or `with`.
        how: &'static str,
        /// The name that is missing.
        wanted: String,
    },
    /// Steps wait for each other.
    #[error("step `{step}` waits for itself, through `after` or `with`; take one of these out")]
    Circle {
        /// A step on the circle.
        step: String,
    },
}

impl Schedule {
    /// The timeline of `drill`.
    pub fn of(drill: &Drill) -> Result<Schedule, NoSchedule> {
        let mut slots: Vec<Option<Slot>> = vec![None; drill.steps.len()];
        // Each pass fixes every step whose reference is fixed; a pass that fixes nothing has met a circle.
        while slots.iter().any(Option::is_none) {
            let before = slots.iter().flatten().count();
            for (i, step) in drill.steps.iter().enumerate() {
                if slots[i].is_none() {
                    slots[i] = slot(drill, &slots, i, step)?;
                }
            }
            if slots.iter().flatten().count() == before {
                let stuck = slots.iter().position(Option::is_none).unwrap_or(0);
                return Err(NoSchedule::Circle {
                    step: drill.steps[stuck].name.to_string(),
                });
            }
        }
        Ok(Schedule {
            slots: slots.into_iter().flatten().collect(),
        })
    }

    /// The end of the last step.
    pub fn total(&self) -> Span {
        self.slots.iter().map(|s| s.end).max().unwrap_or(Span::ZERO)
    }

    /// The steps of the group whose first step is `group`.
    pub fn members(&self, group: usize) -> impl Iterator<Item = usize> + '_ {
        self.slots
            .iter()
            .enumerate()
            .filter(move |(_, s)| s.group == group)
            .map(|(i, _)| i)
    }

    /// The first steps of all groups, in the file's order.
    pub fn groups(&self) -> Vec<usize> {
        let mut groups: Vec<usize> = self.slots.iter().map(|s| s.group).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// A step of another group whose fault or load is live while `step`'s rows are measured.
    pub fn confounded_by(&self, step: usize) -> Option<usize> {
        let mine = self.slots.get(step)?;
        self.slots.iter().position(|other| {
            other.breaks && other.group != mine.group && other.start < mine.end && mine.start < other.end
        })
    }

    /// Whether some step of the group breaks something.
    pub fn group_breaks(&self, group: usize) -> bool {
        self.slots.iter().any(|s| s.group == group && s.breaks)
    }
}

fn slot(drill: &Drill, slots: &[Option<Slot>], i: usize, step: &Step) -> Result<Option<Slot>, NoSchedule> {
    let find = |how, wanted: &crate::model::ids::StepName| {
        drill
            .steps
            .iter()
            .position(|s| &s.name == wanted)
            .ok_or_else(|| NoSchedule::Unknown {
                step: step.name.to_string(),
                how,
                wanted: wanted.to_string(),
            })
    };
    let begins = match &step.start {
        Start::InOrder if i == 0 => Some((Span::ZERO, i)),
        Start::InOrder => slots[i - 1].map(|before| (before.end, i)),
        Start::At(at) => Some((*at, i)),
        Start::After(name) => slots[find("after", name)?].map(|before| (before.end, i)),
        Start::With(name) => slots[find("with", name)?].map(|peer| (peer.start, peer.group)),
    };
    Ok(begins.map(|(start, group)| Slot {
        start,
        end: start + step.duration,
        group,
        breaks: step.action.breaks(),
    }))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::{
        dashboard::Dashboard,
        drill::{Action, Effect, Envelope, Fault, Guard, Targets},
        ids::{DashboardName, DrillName, InstanceName, ServiceName, StepName},
        playbook::Playbook,
        text::Localized,
    };

    pub(crate) fn drill(steps: Vec<Step>) -> Drill {
        Drill {
            name: DrillName::new("d").unwrap(),
            title: Localized::plain("d"),
            hypothesis: Localized::plain("h"),
            dashboard: Dashboard {
                name: DashboardName::new("shop").unwrap(),
                scopes: vec![],
                metrics: vec![],
                panels: vec![],
                topology: vec![],
            },
            risk: None,
            baseline: Span::seconds(60),
            window: Span::seconds(1),
            settle: None,
            guard: Guard {
                every: Span::seconds(1),
                samples: 3,
                steady_state: vec![],
                tripwires: vec![],
            },
            targets: Targets {
                service: ServiceName::new("order").unwrap(),
                instances: vec![InstanceName::new("order-0").unwrap()],
            },
            steps,
            recovery: Playbook {
                gateway: None,
                breakers: vec![],
                flags: vec![],
                retry_queues: vec![],
                pools: vec![],
                commands: vec![],
                hold: Span::seconds(3),
                verify_within: Span::seconds(60),
            },
            accept_no_expiry: false,
        }
    }

    pub(crate) fn step(name: &str, seconds: u64, start: Start, breaks: bool) -> Step {
        let rule = Fault::Rule {
            point: "coupon.query".into(),
            service: None,
            effect: Effect::Delay {
                mean: Span::seconds(2),
                jitter: Span::ZERO,
            },
        };
        Step {
            name: StepName::new(name).unwrap(),
            action: if breaks {
                Action::Fault {
                    faults: vec![rule],
                    envelope: Envelope::default(),
                }
            } else {
                Action::Observe
            },
            duration: Span::seconds(seconds),
            start,
            settle: None,
            expect: vec![],
        }
    }

    fn named(name: &str) -> StepName {
        StepName::new(name).unwrap()
    }

    #[test]
    fn steps_run_one_after_another_unless_told_otherwise() {
        let schedule = Schedule::of(&drill(vec![
            step("a", 10, Start::InOrder, true),
            step("b", 5, Start::With(named("a")), true),
            step("c", 5, Start::After(named("a")), false),
            step("d", 5, Start::At(Span::seconds(30)), false),
        ]))
        .unwrap();
        let got: Vec<_> = schedule
            .slots
            .iter()
            .map(|s| (s.start.0 / 1000, s.end.0 / 1000, s.group))
            .collect();
        assert_eq!(got, [(0, 10, 0), (0, 5, 0), (10, 15, 2), (30, 35, 3)]);
        assert_eq!(schedule.total(), Span::seconds(35));
    }

    #[test]
    fn a_step_may_name_one_that_stands_below_it() {
        let schedule = Schedule::of(&drill(vec![
            step("a", 1, Start::After(named("b")), false),
            step("b", 2, Start::At(Span::ZERO), false),
        ]));
        assert_eq!(schedule.unwrap().slots[0].start, Span::seconds(2));
    }

    #[test]
    fn a_circle_and_an_unknown_name_are_refused() {
        let circle = drill(vec![
            step("a", 1, Start::After(named("b")), false),
            step("b", 1, Start::After(named("a")), false),
        ]);
        assert!(matches!(Schedule::of(&circle), Err(NoSchedule::Circle { .. })));
        let unknown = drill(vec![step("a", 1, Start::With(named("x")), false)]);
        assert!(matches!(Schedule::of(&unknown), Err(NoSchedule::Unknown { .. })));
    }

    #[test]
    fn a_row_under_another_groups_fault_is_confounded_and_within_its_group_is_not() {
        let schedule = Schedule::of(&drill(vec![
            step("a", 10, Start::InOrder, true),
            step("b", 10, Start::With(named("a")), true),
            step("c", 10, Start::At(Span::seconds(5)), false),
            step("d", 10, Start::At(Span::seconds(10)), false),
        ]))
        .unwrap();
        assert_eq!(schedule.confounded_by(0), None);
        assert_eq!(schedule.confounded_by(2), Some(0));
        assert_eq!(schedule.confounded_by(3), None);
    }
}
