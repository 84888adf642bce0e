//! Reading a run back: everything that is readable, in the order of its numbers, and what is not.

use std::{
    fmt,
    fs::{self, File},
    io::{self, BufReader},
    iter::Peekable,
    ops::RangeInclusive,
    path::PathBuf,
};

use crate::model::{event::Event, plan::Plan};

use super::{
    error::StateError,
    line::{self, Raw},
    run_dir::RunDir,
};

/// More events than this are not held in memory at once; fold over [`stream`] instead.
pub const MAX_HELD: usize = 1_000_000;

/// A run as its files tell it.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// What was planned.
    pub plan: Plan,
    /// What happened, by number.
    pub events: Vec<Event>,
    /// What could not be read.
    pub damage: Vec<Damage>,
    /// How many events came after the [`MAX_HELD`] that are held.
    pub left_out: u64,
}

impl History {
    /// The numbers that are missing between the events: lost readings, damaged lines. Empty for a sound run that was
    /// read with its readings.
    pub fn missing(&self) -> Vec<RangeInclusive<u64>> {
        let mut next = 1;
        let mut gaps = Vec::new();
        for seq in self.events.iter().map(|e| e.seq) {
            if seq > next {
                gaps.push(next..=seq - 1);
            }
            next = next.max(seq + 1);
        }
        gaps
    }
}

/// A part of a file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Which file.
    pub file: &'static str,
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub why: String,
    /// The number of the last event before it that could be read; 0 if there is none.
    pub after: u64,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} line {}: {}", self.file, self.line, self.why)
    }
}

/// Reads a run with its readings.
///
/// # Errors
/// If the plan cannot be read. A damaged journal is no error: what is readable is there.
pub fn read(run: &RunDir) -> Result<History, StateError> {
    collect(run, stream(run)?)
}

/// Reads a run without its readings: all that recovery needs, however long the run was.
///
/// # Errors
/// As for [`read`].
pub fn without_readings(run: &RunDir) -> Result<History, StateError> {
    collect(
        run,
        Stream::of(Some(Lines::open(run.journal_file(), "journal.jsonl")?), None),
    )
}

/// The events of both files by number, one at a time.
///
/// # Errors
/// If a file is there and cannot be opened.
pub fn stream(run: &RunDir) -> Result<Stream, StateError> {
    Ok(Stream::of(
        Some(Lines::open(run.journal_file(), "journal.jsonl")?),
        Some(Lines::open(run.samples_file(), "samples.jsonl")?),
    ))
}

fn collect(run: &RunDir, stream: Stream) -> Result<History, StateError> {
    let mut history = History {
        plan: run.plan()?,
        events: Vec::new(),
        damage: Vec::new(),
        left_out: 0,
    };
    for item in stream {
        match item {
            Ok(_) if history.events.len() >= MAX_HELD => history.left_out += 1,
            Ok(event) => history.events.push(event),
            Err(damage) => history.damage.push(damage),
        }
    }
    // A sort that keeps equal ones in place costs nothing on what is in order already.
    history.events.sort_by_key(|e| e.seq);
    history.events.dedup();
    let nothing = history.damage.is_empty() && history.events.iter().all(|e| e.body.is_reading());
    history.damage.extend(nothing.then(|| lost(run)).flatten());
    Ok(history)
}

/// A journal without any record, of a run that had begun: both files are made before its first record, and readings come after it.
/// What the run has touched is not known then; a run without either file has touched nothing.
fn lost(run: &RunDir) -> Option<Damage> {
    let bytes = |file: PathBuf| fs::metadata(file).ok().map(|data| data.len());
    let why = match (bytes(run.journal_file()), bytes(run.samples_file())) {
        (None, Some(_)) => "the file is not there, and the run had begun",
        (_, Some(1..)) => "the file has no record, and the run had begun",
        _ => return None,
    };
    let lines = Lines {
        file: "journal.jsonl",
        line: 1,
        ..Lines::default()
    };
    Some(lines.damage(why))
}

/// Events of a run by number. Made by [`stream`].
pub struct Stream {
    journal: Peekable<Lines>,
    samples: Peekable<Lines>,
}

impl Stream {
    fn of(journal: Option<Lines>, samples: Option<Lines>) -> Self {
        Self {
            journal: journal.unwrap_or_default().peekable(),
            samples: samples.unwrap_or_default().peekable(),
        }
    }
}

impl Iterator for Stream {
    type Item = Result<Event, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        let seq = |item: Option<&Result<Event, Damage>>| match item {
            Some(Ok(event)) => event.seq,
            Some(Err(_)) => 0,
            None => u64::MAX,
        };
        if seq(self.journal.peek()) <= seq(self.samples.peek()) {
            self.journal.next().or_else(|| self.samples.next())
        } else {
            self.samples.next()
        }
    }
}

/// The lines of one file.
#[derive(Default)]
struct Lines {
    reader: Option<BufReader<File>>,
    file: &'static str,
    line: u64,
    last_seq: u64,
}

impl Lines {
    /// A file that is not there has no lines: a run may have ended before it was made.
    fn open(path: PathBuf, file: &'static str) -> Result<Self, StateError> {
        let reader = match File::open(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            other => Some(BufReader::new(other.map_err(StateError::doing("open", &path))?)),
        };
        Ok(Self {
            reader,
            file,
            line: 0,
            last_seq: 0,
        })
    }

    fn damage(&self, why: impl Into<String>) -> Damage {
        Damage {
            file: self.file,
            line: self.line,
            why: why.into(),
            after: self.last_seq,
        }
    }
}

impl Iterator for Lines {
    type Item = Result<Event, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let raw = line::next_raw(self.reader.as_mut()?);
            self.line += 1;
            return match raw {
                Ok(Some(Raw::Line(line))) if line.is_empty() => continue,
                Ok(Some(Raw::Line(line))) => Some(match line::decode(&line) {
                    Ok(event) => {
                        self.last_seq = event.seq;
                        Ok(event)
                    }
                    Err(why) => Err(self.damage(why)),
                }),
                Ok(Some(Raw::TooLong)) => Some(Err(self.damage("longer than any event"))),
                Ok(Some(Raw::Torn(_)) | None) => None,
                Err(e) => {
                    let damage = self.damage(format!("cannot be read from here on: {e}"));
                    self.reader = None;
                    Some(Err(damage))
                }
            };
        }
    }
}
