//! Reading a bundle as if it were a run: for `replay` and `judge`.

use std::{fs::File, io, path::Path};

use tempfile::TempDir;

use crate::journal::RunDir;

use super::{
    error::ReportError,
    manifest::MAX_BYTES,
    verify::{Kind, each_file},
};

/// What a run is read from.
const NEEDED: [&str; 3] = ["plan.json", "journal.jsonl", "samples.jsonl"];

/// An opened bundle. An archive's files lie in a folder that goes when this is dropped.
#[derive(Debug)]
pub struct OpenBundle {
    run: RunDir,
    _unpacked: Option<TempDir>,
}

impl OpenBundle {
    /// Opens a bundle. It is not checked: see [`super::verify`].
    ///
    /// # Errors
    /// [`ReportError::NotABundle`].
    pub fn open(path: &Path) -> Result<Self, ReportError> {
        if path.is_dir() {
            return Ok(Self {
                run: RunDir::at(path),
                _unpacked: None,
            });
        }
        let unpacked = TempDir::new().map_err(ReportError::doing("unpack", path))?;
        each_file(path, |name, kind, content| {
            let Some(name) = NEEDED
                .into_iter()
                .find(|needed| *needed == name && kind == Kind::Plain)
            else {
                return Ok(());
            };
            let to = unpacked.path().join(name);
            File::create_new(&to)
                .and_then(|mut file| io::copy(&mut io::Read::take(content, MAX_BYTES), &mut file))
                .map(drop)
                .map_err(ReportError::doing("unpack", &to))
        })?;
        Ok(Self {
            run: RunDir::at(unpacked.path()),
            _unpacked: Some(unpacked),
        })
    }

    /// The run's files.
    pub fn run(&self) -> &RunDir {
        &self.run
    }
}
