//! The first event of a journal.

use std::{fs::File, io::BufReader, path::Path};

use crate::model::event::Event;

use super::line::{self, Raw};

/// The first event of a file, if its first line can be read.
pub(super) fn first_event(path: &Path) -> Option<Event> {
    let mut reader = BufReader::new(File::open(path).ok()?);
    match line::next_raw(&mut reader) {
        Ok(Some(Raw::Line(line))) => line::decode(&line).ok(),
        _ => None,
    }
}
