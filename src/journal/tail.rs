//! The end of a long file, read backwards in bounded pieces.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use crate::model::event::Event;

use super::{
    error::StateError,
    line::{self, MAX_LINE},
};

const PIECE: u64 = 64 * 1024;

/// Where the last whole line of a file ends: behind its last newline, or at 0.
pub(super) fn end_of_last_line(path: &Path) -> Result<u64, StateError> {
    last_newline(path).map_err(StateError::doing("read", path))
}

fn last_newline(path: &Path) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let mut end = file.metadata()?.len();
    while end > 0 {
        let start = end.saturating_sub(PIECE);
        let piece = read_piece(&mut file, start, end)?;
        if let Some(at) = piece.iter().rposition(|b| *b == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

fn read_piece(file: &mut File, start: u64, end: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(start))?;
    let mut piece = Vec::new();
    file.take(end - start).read_to_end(&mut piece)?;
    Ok(piece)
}

/// The last event of a file that can be read, if it stands among the last few lines.
pub(super) fn last_event(path: &Path) -> Result<Option<Event>, StateError> {
    Ok(last_events(path, PIECE)?.pop())
}

/// The events at the end of a file, as many as lie in its last `bytes` (at least the last line's worth, if that is
/// whole). Damaged lines are left out. A file that is not there has none.
pub(super) fn last_events(path: &Path, bytes: u64) -> Result<Vec<Event>, StateError> {
    match read_tail(path, bytes) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(StateError::io("read", path, e)),
        Ok(events) if events.is_empty() && bytes < MAX_LINE as u64 => last_events(path, 2 * MAX_LINE as u64),
        Ok(events) => Ok(events),
    }
}

fn read_tail(path: &Path, bytes: u64) -> io::Result<Vec<Event>> {
    let mut file = File::open(path)?;
    let end = file.metadata()?.len();
    let start = end.saturating_sub(bytes);
    let piece = read_piece(&mut file, start, end)?;
    let from = if start == 0 {
        0
    } else {
        piece
            .iter()
            .position(|b| *b == b'\n')
            .map_or(piece.len(), |at| at + 1)
    };
    let upto = piece.iter().rposition(|b| *b == b'\n').unwrap_or(0);
    let lines = piece.get(from..upto).unwrap_or_default();
    Ok(lines
        .split(|b| *b == b'\n')
        .filter_map(|l| line::decode(l).ok())
        .collect())
}
