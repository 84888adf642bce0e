//! When each step begins and ends, which steps are judged together, and which rows another group's fault disturbs.

use super::{
    drill::{Drill, Start, Step},
    ids::StepName,
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
    ///
    /// # Errors
    /// [`NoSchedule`] names a step that waits for none that exists, or for itself.
    pub fn of(drill: &Drill) -> Result<Schedule, NoSchedule> {
        let steps = &drill.steps;
        let slots: Vec<Slot> = slots(steps).into_iter().flatten().collect();
        if slots.len() == steps.len() {
            return Ok(Schedule { slots });
        }
        if let Some(step) = steps.iter().find(|s| !names_one_of(s, steps))
            && let Some((how, wanted)) = waits_for(step)
        {
            return Err(NoSchedule::Unknown {
                step: step.name.to_string(),
                how,
                wanted: wanted.to_string(),
            });
        }
        let step = (0..steps.len())
            .find(|i| waits_for_itself(steps, *i))
            .unwrap_or(0);
        Err(NoSchedule::Circle {
            step: steps[step].name.to_string(),
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
        self.slots.iter().position(|other| mine.is_confounded_by(other))
    }

    /// Whether some step of the group breaks something.
    pub fn group_breaks(&self, group: usize) -> bool {
        self.slots.iter().any(|s| s.group == group && s.breaks)
    }
}

impl Slot {
    /// Whether another group's fault or load is live while this step's rows are measured.
    pub fn is_confounded_by(&self, other: &Slot) -> bool {
        other.breaks && other.group != self.group && other.start < self.end && self.start < other.end
    }
}

/// A slot for each step, in the file's order; `None` for those that wait, perhaps through others, for a step that does
/// not exist or for themselves.
pub fn slots(steps: &[Step]) -> Vec<Option<Slot>> {
    let mut slots: Vec<Option<Slot>> = vec![None; steps.len()];
    // Each pass places every step whose reference is placed; no chain of references is longer than all steps.
    for _ in 0..steps.len() {
        for (i, step) in steps.iter().enumerate() {
            let named = |name: &StepName| position(steps, name).and_then(|at| slots[at]);
            let begins = match &step.start {
                Start::InOrder if i == 0 => Some((Span::ZERO, i)),
                Start::InOrder => slots[i - 1].map(|before| (before.end, i)),
                Start::At(at) => Some((*at, i)),
                Start::After(name) => named(name).map(|before| (before.end, i)),
                Start::With(name) => named(name).map(|peer| (peer.start, peer.group)),
            };
            slots[i] = begins.map(|(start, group)| Slot {
                start,
                end: start + step.duration,
                group,
                breaks: step.action.breaks(),
            });
        }
    }
    slots
}

/// Whether the step at `index` can never begin, because what it waits for waits for it.
pub fn waits_for_itself(steps: &[Step], index: usize) -> bool {
    let mut at = index;
    for _ in 0..steps.len() {
        let reference = match &steps[at].start {
            Start::InOrder => at.checked_sub(1),
            Start::At(_) => None,
            Start::After(name) | Start::With(name) => position(steps, name),
        };
        match reference {
            Some(reference) if reference == index => return true,
            Some(reference) => at = reference,
            None => return false,
        }
    }
    false
}

/// The key by which a step names another one, and that one's name.
pub fn waits_for(step: &Step) -> Option<(&'static str, &StepName)> {
    match &step.start {
        Start::After(name) => Some(("after", name)),
        Start::With(name) => Some(("with", name)),
        Start::InOrder | Start::At(_) => None,
    }
}

fn names_one_of(step: &Step, steps: &[Step]) -> bool {
    waits_for(step).is_none_or(|(_, name)| position(steps, name).is_some())
}

fn position(steps: &[Step], name: &StepName) -> Option<usize> {
    steps.iter().position(|s| &s.name == name)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    pub(crate) use crate::model::testing::{drill, step};

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
    fn a_step_behind_a_circle_is_not_on_it() {
        let steps = [
            step("behind", 1, Start::After(named("b")), false),
            step("b", 1, Start::With(named("c")), false),
            step("c", 1, Start::After(named("b")), false),
        ];
        assert_eq!(
            [0, 1, 2].map(|i| waits_for_itself(&steps, i)),
            [false, true, true]
        );
        assert!(slots(&steps).iter().all(Option::is_none));
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
