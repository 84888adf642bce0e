//! What can go wrong, and when it begins.

use std::fmt;

/// What happens to a part while it is being put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Luck {
    /// Its port is closed.
    Down,
    /// What it is asked it does, and its answers take 30 s.
    Slow,
    /// It answers, and lets nothing be changed.
    Refuses,
    /// What answers is no part of this kind.
    Garbage,
    /// What it is asked it does, and the connection is reset in the middle of the answer.
    Cut,
    /// It is killed and begins again.
    Restarts,
    /// Its parts change places, come or go.
    Topology,
    /// Two recoveries of one run at the same time.
    Twice,
    /// The recovery is killed at each change that it has written down, and another begins.
    Killed,
    /// The recovery is killed at its first record, the one that takes over at its second, and so on.
    KilledInTurn,
}

/// When it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before recovery; it lasts until recovery has ended.
    Before,
    /// When the first change of this part is written down and not yet made.
    MidStep,
    /// At the first change, the third, and so on.
    Odd,
    /// At the second change, the fourth, and so on.
    Even,
}

impl Luck {
    pub const ALL: [Luck; 10] = [
        Luck::Down,
        Luck::Slow,
        Luck::Refuses,
        Luck::Garbage,
        Luck::Cut,
        Luck::Restarts,
        Luck::Topology,
        Luck::Twice,
        Luck::Killed,
        Luck::KilledInTurn,
    ];

    /// Whether it lasts until recovery has ended: then nothing but time runs out.
    pub fn lasts(self) -> bool {
        matches!(
            self,
            Luck::Down | Luck::Slow | Luck::Refuses | Luck::Garbage | Luck::Cut
        )
    }

    /// Those that last are tried from the beginning and from the first change on; death at each change is two halves.
    pub fn moments(self) -> &'static [Moment] {
        match self {
            _ if self.lasts() => &[Moment::Before, Moment::MidStep],
            Luck::Restarts | Luck::Topology => &[Moment::MidStep],
            Luck::Killed => &[Moment::Odd, Moment::Even],
            _ => &[Moment::Before],
        }
    }
}

impl fmt::Display for Luck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Luck::Down => "down",
            Luck::Slow => "30 s slow",
            Luck::Refuses => "refuses",
            Luck::Garbage => "garbage",
            Luck::Cut => "answers cut",
            Luck::Restarts => "restarts in mid-step",
            Luck::Topology => "topology changes in mid-step",
            Luck::Twice => "two recoveries at once",
            Luck::Killed => "killed at each change",
            Luck::KilledInTurn => "killed at each record in turn",
        })
    }
}
