//! The cells of a row that are still to be tried, and what became of the others.

use std::{cell::RefCell, collections::VecDeque};

use allclear::model::recovery::Recovered;

use crate::{
    luck::{Luck, Moment},
    table::{Got, Line},
};

type Ended = Result<Recovered, String>;

/// A row, while several stands work at it.
pub struct Cells {
    waiting: RefCell<VecDeque<(Luck, Moment)>>,
    cannot: RefCell<Vec<(Luck, &'static str)>>,
    ended: RefCell<Vec<(Luck, Moment, Ended)>>,
}

impl Cells {
    /// Those with these lucks. The last ones take longest, so they come first.
    pub fn that(asked_for: impl Fn(Luck) -> bool) -> Self {
        let asked_for = Luck::ALL.into_iter().rev().filter(|luck| asked_for(*luck));
        let moments = |luck: Luck| luck.moments().iter().rev().map(move |moment| (luck, *moment));
        Self {
            waiting: RefCell::new(asked_for.flat_map(moments).collect()),
            cannot: RefCell::default(),
            ended: RefCell::default(),
        }
    }

    /// No cell is to be tried: no part need start.
    pub fn is_empty(&self) -> bool {
        self.waiting.borrow().is_empty()
    }

    /// One that nobody has taken yet.
    pub fn next(&self) -> Option<(Luck, Moment)> {
        self.waiting.borrow_mut().pop_front()
    }

    /// A stand that was to try the next one is not there.
    pub fn no_stand(&self, why: &str) {
        let (luck, moment) = self.next().unwrap_or((Luck::Down, Moment::Before));
        self.ended(luck, moment, Err(why.to_owned()));
    }

    pub fn cannot(&self, luck: Luck, why: &'static str) {
        self.cannot.borrow_mut().push((luck, why));
    }

    pub fn ended(&self, luck: Luck, moment: Moment, how: Ended) {
        self.ended.borrow_mut().push((luck, moment, how));
    }

    /// As the table has it.
    pub fn line(&self, name: &'static str) -> Line {
        Line {
            name,
            cells: Luck::ALL.map(|luck| self.got(luck)).into(),
        }
    }

    fn got(&self, luck: Luck) -> Got {
        if let Some((_, why)) = self.cannot.borrow().iter().find(|(of, _)| *of == luck) {
            return Got::Cannot(why);
        }
        let ended = self.ended.borrow();
        let mut got = Vec::new();
        for moment in luck.moments() {
            let here = ended.iter().filter(|(of, at, _)| *of == luck && at == moment);
            got.extend(here.map(|(_, at, how)| (*at, how.clone())));
        }
        if got.is_empty() {
            return Got::NotTried;
        }
        // The halves of one luck are one: the worse end is the end.
        if luck == Luck::Killed {
            got.sort_by_key(|(_, how)| {
                how.as_ref()
                    .map_or(0, |r| if *r == Recovered::Recovered { 2 } else { 1 })
            });
            got.truncate(1);
        }
        Got::Ended(got)
    }
}
