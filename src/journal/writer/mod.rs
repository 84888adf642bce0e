//! The writer: an event is on the disk before [`Journal::append`] returns.

mod log_file;

use std::{fs, io};

use self::log_file::LogFile;
use super::{
    durable::sync_dir,
    error::{JournalError, StateError, is_full},
    line,
    read::{self, History},
    run_dir::RunDir,
    tail,
};
use crate::model::event::{Body, Event};

/// Readings wait in memory until this many bytes have come together, or until the next durable event.
const BUFFERED_READINGS: usize = 64 * 1024;

/// The writer of a run's journal and samples. Only the keeper that holds the run's lock has one.
#[derive(Debug)]
pub struct Journal {
    run: RunDir,
    journal: LogFile,
    samples: LogFile,
    buffer: Vec<u8>,
    buffered: u64,
    lost_readings: u64,
    last_seq: u64,
    full: bool,
}

impl Journal {
    /// Opens the files of a fresh run, or of one to go on with: a torn last line is cut off, and the events so far are
    /// read back, without the readings.
    ///
    /// # Errors
    /// If the plan or the files cannot be read or opened. Damage inside the journal is no error: see
    /// [`History::damage`].
    pub fn open(run: &RunDir) -> Result<(Journal, History), StateError> {
        // First, since a journal that is not there is made by what follows.
        let history = read::without_readings(run)?;
        let journal = LogFile::open(run.journal_file())?;
        let samples = LogFile::open(run.samples_file())?;
        sync_dir(run.path())?;
        let last_reading = tail::last_event(&run.samples_file())?.map_or(0, |e| e.seq);
        let last_seq = history.events.last().map_or(0, |e| e.seq).max(last_reading);
        let writer = Journal {
            run: run.clone(),
            journal,
            samples,
            buffer: Vec::new(),
            buffered: 0,
            lost_readings: 0,
            last_seq,
            full: false,
        };
        Ok((writer, history))
    }

    /// The number of the last event that was given to the writer; the next event carries the next one.
    pub fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// How many readings could not be kept, for want of room or another failure of the disk.
    pub fn lost_readings(&self) -> u64 {
        self.lost_readings
    }

    /// Whether the disk was full: readings are lost, and the journal lives on the room set aside for its last words.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// That the disk is full, as an error.
    pub fn full(&self) -> JournalError {
        JournalError::Full {
            path: self.journal.path.clone(),
        }
    }

    /// Appends an event. One that is not a reading is durable when this returns `Ok`; a reading is buffered, and its
    /// loss is counted but is no error. Closing the run removes its secrets.
    ///
    /// # Errors
    /// The event may not last. Whatever it announces must not be done, unless it puts something back.
    pub fn append(&mut self, event: &Event) -> Result<(), JournalError> {
        self.append_all([event]).pop().unwrap_or(Ok(()))
    }

    /// Appends events with one wait for the disk, each with its result as of [`Journal::append`], in their order.
    pub fn append_all<'e>(
        &mut self,
        events: impl IntoIterator<Item = &'e Event>,
    ) -> Vec<Result<(), JournalError>> {
        let (mut results, mut lines) = (Vec::new(), Vec::new());
        for event in events {
            match self.take(event) {
                Ok(Some(bytes)) => lines.push((results.len(), event, bytes)),
                Ok(None) => {}
                Err(error) => {
                    results.push(Err(error));
                    continue;
                }
            }
            results.push(Ok(()));
        }
        if lines.is_empty() {
            return results;
        }
        self.flush();
        let written = self.write_lines(&lines);
        for ((of, event, _), written) in lines.into_iter().zip(written) {
            results[of] = match (written, &event.body) {
                (Ok(()), Body::Closed(_)) => self.close(event.seq),
                (written, _) => written,
            };
        }
        results
    }

    fn write_lines(&mut self, lines: &[(usize, &Event, Vec<u8>)]) -> Vec<Result<(), JournalError>> {
        let one_by_one = |journal: &mut Self| {
            let each = lines.iter();
            each.map(|(_, event, bytes)| journal.write_durably(event.seq, bytes))
                .collect()
        };
        if lines.len() == 1 {
            return one_by_one(self);
        }
        let all: Vec<u8> = lines.iter().flat_map(|(_, _, bytes)| bytes).copied().collect();
        match self.write_durably(0, &all) {
            Ok(()) => lines.iter().map(|_| Ok(())).collect(),
            // They are in the file, and none of them is sure to last.
            Err(JournalError::NotSynced { path, source, .. }) => {
                let not_synced = |seq| JournalError::NotSynced {
                    path: path.clone(),
                    seq,
                    source: again(&source),
                };
                let each = lines.iter();
                each.map(|(_, event, _)| Err(not_synced(event.seq))).collect()
            }
            // Nothing of them was kept: what there is room for is written line by line.
            Err(_) => one_by_one(self),
        }
    }

    /// The line of an event that has to last; a reading is buffered.
    fn take(&mut self, event: &Event) -> Result<Option<Vec<u8>>, JournalError> {
        self.last_seq = self.last_seq.max(event.seq);
        let line = line::encode(event)?;
        if event.body.is_reading() {
            self.buffer_reading(&line);
            return Ok(None);
        }
        can_be_read_back(event, &line)?;
        Ok(Some(line))
    }

    /// Hands the buffered readings to the system. What cannot be written is counted in [`Journal::lost_readings`].
    pub fn flush(&mut self) {
        if self.buffer.is_empty() {
            return;
        }
        if let Err(error) = self.samples.append(&self.buffer) {
            self.full |= is_full(&error);
            self.lost_readings += self.buffered;
        }
        self.buffer.clear();
        self.buffered = 0;
    }

    fn buffer_reading(&mut self, line: &[u8]) {
        self.buffer.extend_from_slice(line);
        self.buffered += 1;
        if self.buffer.len() >= BUFFERED_READINGS {
            self.flush();
        }
    }

    fn write_durably(&mut self, seq: u64, line: &[u8]) -> Result<(), JournalError> {
        match self.journal.append(line) {
            Err(e) if is_full(&e) => self.write_with_the_ballast(line)?,
            other => other.map_err(|e| self.failed("write", e))?,
        }
        match self.journal.sync() {
            Err(e) if is_full(&e) => {
                self.full = true;
                self.release_ballast();
                self.journal.sync()
            }
            other => other,
        }
        .map_err(|source| JournalError::NotSynced {
            path: self.journal.path.clone(),
            seq,
            source,
        })
    }

    fn write_with_the_ballast(&mut self, line: &[u8]) -> Result<(), JournalError> {
        self.full = true;
        self.release_ballast();
        self.journal.append(line).map_err(|e| self.failed("write", e))
    }

    /// Gives the room of the ballast back. Readings do not get it: they would fill it before the last words are said.
    fn release_ballast(&self) {
        let _ = fs::remove_file(self.run.ballast_file());
    }

    fn failed(&self, doing: &'static str, source: io::Error) -> JournalError {
        let path = self.journal.path.clone();
        if is_full(&source) {
            return JournalError::Full { path };
        }
        JournalError::Io { doing, path, source }
    }

    fn close(&mut self, seq: u64) -> Result<(), JournalError> {
        self.release_ballast();
        let samples = self.samples.sync();
        self.run.remove_secrets().map_err(|e| JournalError::Io {
            doing: "remove the secrets of",
            path: self.run.path().to_owned(),
            source: io::Error::other(e),
        })?;
        samples.map_err(|source| JournalError::NotSynced {
            path: self.samples.path.clone(),
            seq,
            source,
        })
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.flush();
    }
}

/// The same error for another event.
fn again(error: &io::Error) -> io::Error {
    error
        .raw_os_error()
        .map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

/// A number that JSON cannot say (NaN) is written as null and refused when read: an undo handle like that would be lost
/// just when it is needed.
fn can_be_read_back(event: &Event, line: &[u8]) -> Result<(), JournalError> {
    line::decode(line.trim_ascii_end())
        .map(drop)
        .map_err(|why| JournalError::NotReadable { seq: event.seq, why })
}
