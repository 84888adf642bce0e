//! Whether the environment's lease is still this run's. Nothing is broken while another run may be on the same
//! environment: one that holds the lease, or one that could take it because it has not been renewed for as long as it
//! lasts.

use crate::model::{
    lease::{Held, LASTS},
    said::{Said, said},
    time::Moment,
};

/// What a look at the lease has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// It was this run's, and is for another while.
    Renewed,
    /// It was gone, and is this run's again.
    TakenAgain,
    /// It is another run's.
    Other(Held),
    /// It could not be renewed.
    Failed(Said),
}

/// Why this run may not be alone any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lost {
    /// Another run holds the lease.
    ToAnother(Said),
    /// It may have ended: whoever asks for it may get it.
    Ended(Said),
}

/// The lease from the time that preflight has taken it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenure {
    /// When it was asked for last with success. It lasts from then on, not from the answer.
    renewed: Moment,
    /// What kept it from being renewed since.
    failing: Option<Said>,
    other: Option<Said>,
}

impl Tenure {
    /// Of a lease that was asked for at that moment, and taken.
    pub fn since(asked: Moment) -> Self {
        Self {
            renewed: asked,
            failing: None,
            other: None,
        }
    }

    /// Takes in a look that began at `asked`, and gives what people should know of it.
    pub fn look(&mut self, asked: Moment, look: Look) -> Option<Said> {
        match look {
            Look::Renewed => {
                *self = Self::since(asked);
                None
            }
            Look::TakenAgain => {
                *self = Self::since(asked);
                Some(said!(
                    "the environment's lease was gone, and is taken again: a failover, or somebody who deleted it; look whether another drill runs",
                    "环境租约曾消失，现已重新取得：可能是主从切换，或有人删除；请查看是否另有演练"
                ))
            }
            Look::Other(held) => {
                self.other = Some(held.said());
                None
            }
            Look::Failed(why) => {
                let first = self.failing.is_none();
                let told = said!(
                    why;
                    "the environment's lease cannot be renewed; once it has not been for {LASTS} nothing is broken any more: {why}",
                    "环境租约无法续约；持续 {LASTS} 后不再注入任何故障：{why}"
                );
                self.failing = Some(why);
                first.then_some(told)
            }
        }
    }

    /// Whether it is lost by now, and why.
    pub fn lost(&self, now: Moment) -> Option<Lost> {
        if let Some(held) = &self.other {
            return Some(Lost::ToAnother(held.clone()));
        }
        if now.since(self.renewed) < LASTS {
            return None;
        }
        let why = match &self.failing {
            Some(why) => why.clone(),
            None => said!("nobody has looked at it", "无人查看"),
        };
        Some(Lost::Ended(said!(
            why;
            "not renewed for {LASTS}, so that another run may begin: {why}",
            "{LASTS} 未续约，其他演练可能开始：{why}"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{lease::Holder, time::Span};

    const ASKED: Moment = Moment(1_000_000);

    fn at(seconds: u64) -> Moment {
        ASKED + Span::seconds(seconds)
    }

    fn failed(tenure: &mut Tenure, seconds: u64) -> Option<Said> {
        tenure.look(at(seconds), Look::Failed("redis main: down".into()))
    }

    #[test]
    fn a_lease_that_is_not_renewed_for_its_time_may_be_anybodys() {
        let mut tenure = Tenure::since(ASKED);
        assert_eq!(tenure.look(at(10), Look::Renewed), None);
        assert!(failed(&mut tenure, 20).is_some(), "told");
        assert_eq!(failed(&mut tenure, 40), None, "once");
        assert_eq!(tenure.lost(at(69)), None);
        let Some(Lost::Ended(why)) = tenure.lost(at(70)) else {
            panic!("{:?}", tenure.lost(at(70)));
        };
        assert!(why.en().ends_with("redis main: down"), "{why:?}");
        // It came back in time for nobody else to have begun.
        assert_eq!(tenure.look(at(71), Look::Renewed), None);
        assert_eq!(tenure.lost(at(130)), None);
        assert!(
            failed(&mut tenure, 131).is_some(),
            "another failure is told again"
        );
    }

    #[test]
    fn its_time_runs_from_when_it_was_asked_for_also_while_nothing_is_heard() {
        let tenure = Tenure::since(ASKED);
        assert_eq!(tenure.lost(at(59)), None);
        assert!(matches!(tenure.lost(at(60)), Some(Lost::Ended(_))));
    }

    #[test]
    fn a_lease_that_was_gone_and_is_taken_again_is_held_and_told() {
        let mut tenure = Tenure::since(ASKED);
        let told = tenure.look(at(10), Look::TakenAgain).unwrap();
        assert!(told.en().contains("was gone, and is taken again"));
        assert_eq!(tenure.lost(at(69)), None);
    }

    #[test]
    fn a_lease_that_another_run_holds_is_lost_at_once() {
        let mut tenure = Tenure::since(ASKED);
        let held = Held {
            by: Holder::read(r#"{"run": "beef01"}"#),
            left: None,
        };
        tenure.look(at(10), Look::Other(held));
        let Some(Lost::ToAnother(who)) = tenure.lost(at(10)) else {
            panic!("it is held");
        };
        assert!(who.en().contains("beef01"));
    }
}
