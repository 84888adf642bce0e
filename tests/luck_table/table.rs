//! The table as it is printed and as docs/drivers.md has it.

use allclear::model::recovery::Recovered;

use crate::luck::{Luck, Moment};

/// A row's name and its cells, in the order of [`Luck::ALL`].
pub struct Line {
    pub name: &'static str,
    pub cells: Vec<Got>,
}

/// What a cell came to.
pub enum Got {
    /// How recovery ended at each moment that the luck was tried at.
    Ended(Vec<(Moment, Result<Recovered, String>)>),
    /// The driver has no such luck, because …
    Cannot(&'static str),
    /// It was not asked for.
    NotTried,
}

impl Got {
    fn shown(&self) -> String {
        let ended = match self {
            Got::Cannot(why) => return format!("– ({why})"),
            Got::NotTried => return "?".to_owned(),
            Got::Ended(ended) => ended,
        };
        let words: Vec<&str> = ended
            .iter()
            .map(|(_, ended)| match ended {
                Ok(Recovered::Recovered) => "RECOVERED",
                Ok(Recovered::Leftover) => "LEFTOVER",
                Ok(Recovered::Unknown) => "UNKNOWN",
                Err(_) => "FAILED",
            })
            .collect();
        match words.as_slice() {
            [one, other] if one == other => (*one).to_owned(),
            words => words.join(", then "),
        }
    }
}

impl Line {
    pub fn shown(&self) -> String {
        let cells: Vec<String> = self.cells.iter().map(Got::shown).collect();
        format!("| {} | {} |", self.name, cells.join(" | "))
    }

    /// What was not true, cell by cell.
    pub fn failures(&self) -> Vec<String> {
        let cells = self.cells.iter().zip(Luck::ALL);
        let failed = cells.flat_map(|(got, luck)| {
            let ended: &[_] = match got {
                Got::Ended(ended) => ended,
                _ => &[],
            };
            ended.iter().filter_map(move |(moment, ended)| {
                let why = ended.as_ref().err()?;
                Some(format!("{} × {luck} ({moment:?}): {why}", self.name))
            })
        });
        failed.collect()
    }

    /// The cells that this line of the docs has otherwise.
    pub fn differs(&self, written: &str) -> Vec<String> {
        let mut written = written.split(" | ").skip(1);
        let mut differs = Vec::new();
        for (got, luck) in self.cells.iter().zip(Luck::ALL) {
            let (written, shown) = (written.next().unwrap_or_default(), got.shown());
            if !matches!(got, Got::NotTried) && written.trim_end_matches(" |") != shown {
                differs.push(format!("{} × {luck}: {shown}, and there {written}", self.name));
            }
        }
        differs
    }
}

/// The table's head, as Markdown has it.
pub fn head() -> String {
    let lucks = Luck::ALL.map(|luck| luck.to_string());
    format!(
        "| driver | {} |\n{}|",
        lucks.join(" | "),
        "|---".repeat(lucks.len() + 1)
    )
}
