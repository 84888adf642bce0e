//! What a command ends with for the shell that called it.

use std::{cmp::Ordering, fmt};

use serde::{Deserialize, Serialize};

use super::sheet::Verdict;

/// The exit code of a command. The greater is the worse, whatever its number: of several runs the worst one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum Exit {
    /// Every row as expected, and all clear; a command that only shows something did so.
    Held,
    /// A row is UNEXPECTED, or a bundle is not as it was exported.
    Findings,
    /// A wrong file or argument.
    Usage,
    /// Ended by the guard or by what stands in for it: see [`Cause::is_abort`](super::phase::Cause::is_abort).
    Aborted,
    /// Recovery is incomplete, or nobody knows how it ended: something may remain.
    Remains,
    /// Refused, or not agreed to, before anything was touched.
    Refused,
    /// Not established: a row is undecided, without data, not exercised or confounded.
    Undecided,
    /// Ended by a person, and recovered.
    Interrupted,
}

/// A number that no run ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not an exit code of allclear: the record is damaged, or of a later version")]
pub struct NoExit(u8);

impl Exit {
    /// All of them, by their numbers.
    pub const ALL: [Exit; 8] = [
        Exit::Held,
        Exit::Findings,
        Exit::Usage,
        Exit::Aborted,
        Exit::Remains,
        Exit::Refused,
        Exit::Undecided,
        Exit::Interrupted,
    ];

    /// The number that the shell sees.
    pub const fn code(self) -> u8 {
        match self {
            Exit::Held => 0,
            Exit::Findings => 1,
            Exit::Usage => 2,
            Exit::Aborted => 3,
            Exit::Remains => 4,
            Exit::Refused => 5,
            Exit::Undecided => 6,
            // What shells make of SIGINT.
            Exit::Interrupted => 130,
        }
    }

    /// What it says, as `--help` and the README tell it.
    pub const fn meaning(self) -> &'static str {
        match self {
            Exit::Held => "every row as expected, and all clear",
            Exit::Findings => "findings: a row UNEXPECTED",
            Exit::Usage => "a wrong file or argument",
            Exit::Aborted => "aborted and put back: the guard, or anything else that made it unsafe",
            Exit::Remains => "something may remain: recovery is incomplete",
            Exit::Refused => "refused, or not agreed to: nothing was touched",
            Exit::Undecided => "not established: rows undecided, without data or not exercised",
            Exit::Interrupted => "stopped by a person, and recovered",
        }
    }

    /// How bad it is.
    const fn rank(self) -> u8 {
        match self {
            Exit::Held => 0,
            Exit::Undecided => 1,
            Exit::Findings => 2,
            Exit::Refused => 3,
            Exit::Usage => 4,
            Exit::Interrupted => 5,
            Exit::Aborted => 6,
            Exit::Remains => 7,
        }
    }

    /// The worst of several; without any, nothing was found.
    pub fn worst(all: impl IntoIterator<Item = Exit>) -> Exit {
        all.into_iter().max().unwrap_or(Exit::Held)
    }
}

impl Ord for Exit {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Exit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code())
    }
}

impl From<Exit> for u8 {
    fn from(exit: Exit) -> u8 {
        exit.code()
    }
}

impl TryFrom<u8> for Exit {
    type Error = NoExit;
    fn try_from(code: u8) -> Result<Self, NoExit> {
        let found = Exit::ALL.into_iter().find(|exit| exit.code() == code);
        found.ok_or(NoExit(code))
    }
}

/// What a row alone amounts to.
impl From<Verdict> for Exit {
    fn from(verdict: Verdict) -> Exit {
        match verdict {
            Verdict::AsExpected => Exit::Held,
            Verdict::Unexpected => Exit::Findings,
            _ => Exit::Undecided,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_remain_is_worse_than_an_abort_and_so_on_down_to_what_held() {
        let mut all = Exit::ALL;
        all.sort_unstable();
        all.reverse();
        assert_eq!(all.map(Exit::code), [4, 3, 130, 2, 5, 1, 6, 0]);
        assert_eq!(
            Exit::worst([Exit::Interrupted, Exit::Remains, Exit::Held]),
            Exit::Remains
        );
        assert_eq!(Exit::worst([]), Exit::Held);
    }

    #[test]
    fn a_record_keeps_the_number_and_an_unknown_one_is_no_record() {
        for exit in Exit::ALL {
            let json = serde_json::to_string(&exit).unwrap();
            assert_eq!(json, exit.code().to_string());
            assert_eq!(serde_json::from_str::<Exit>(&json).unwrap(), exit);
        }
        assert!(serde_json::from_str::<Exit>("7").is_err());
    }
}
