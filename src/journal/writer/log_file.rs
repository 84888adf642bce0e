//! A file that only grows by whole lines.

use std::{
    fs::{File, OpenOptions},
    io::{self, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
};

use crate::journal::{error::StateError, tail};

/// A file that only grows by whole lines.
#[derive(Debug)]
pub(super) struct LogFile {
    file: File,
    pub(super) path: PathBuf,
    /// Where the last whole line ends.
    end: u64,
}

impl LogFile {
    pub(super) fn open(path: PathBuf) -> Result<Self, StateError> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(StateError::doing("open", &path))?;
        let end = tail::end_of_last_line(&path)?;
        let mut log = Self { file, path, end };
        log.cut_back()
            .map_err(StateError::doing("repair", &log.path.clone()))?;
        Ok(log)
    }

    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let written = self.write_at_end(lines);
        match written {
            Ok(()) => self.end += lines.len() as u64,
            Err(_) => {
                let _ = self.cut_back();
            }
        }
        written
    }

    /// A failed write may have left half a line and a moved position: both are put right first.
    fn write_at_end(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.file.stream_position()? != self.end {
            self.cut_back()?;
        }
        self.file.write_all(lines)
    }

    fn cut_back(&mut self) -> io::Result<()> {
        if self.file.metadata()?.len() != self.end {
            self.file.set_len(self.end)?;
        }
        self.file.seek(SeekFrom::Start(self.end))?;
        Ok(())
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}
