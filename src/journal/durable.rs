//! Files and directories that are on the disk when a function returns, and that nobody else can read.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::Path,
};

use super::error::StateError;

/// Creates a directory that only we can enter, with its parents; does nothing if it is there.
pub(super) fn private_dir(path: &Path) -> Result<(), StateError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(StateError::doing("create", path))
}

/// Makes the entries of a directory last.
pub(super) fn sync_dir(path: &Path) -> Result<(), StateError> {
    File::open(path)
        .and_then(|dir| dir.sync_all())
        .map_err(StateError::doing("sync", path))
}

/// Refuses a directory that is not ours alone to change.
pub(super) fn check_ours(path: &Path) -> Result<(), StateError> {
    let meta = fs::metadata(path).map_err(StateError::doing("look at", path))?;
    let me = rustix::process::geteuid().as_raw();
    let path = path.to_owned();
    if !meta.is_dir() {
        return Err(StateError::NotADirectory { path });
    }
    if meta.uid() != me {
        let owner = meta.uid();
        return Err(StateError::NotOurs { path, owner, me });
    }
    if meta.mode() & 0o022 != 0 {
        let mode = meta.mode() & 0o777;
        return Err(StateError::OpenToOthers { path, mode });
    }
    Ok(())
}

/// A new file that only we can read; an error if it is there.
pub(super) fn new_private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// Writes a file so that either all of it is there, or nothing: another file, synced, renamed, the directory synced.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StateError> {
    let aside = path.with_extension("new");
    let written = write_new(&aside, bytes)
        .and_then(|()| fs::rename(&aside, path))
        .map_err(StateError::doing("write", path));
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    written?;
    path.parent().map_or(Ok(()), sync_dir)
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let _ = fs::remove_file(path);
    let mut file = new_private_file(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Reads a file of at most `limit` bytes.
pub(super) fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, StateError> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(limit + 1).read_to_end(&mut bytes))
        .map_err(StateError::doing("read", path))?;
    if bytes.len() as u64 > limit {
        return Err(StateError::Damaged {
            path: path.to_owned(),
            why: format!("it is larger than {limit} bytes"),
        });
    }
    Ok(bytes)
}
