//! Where sockets lie: in a directory that only we can enter, on a short path, never under the state directory.

use std::{
    ffi::OsStr,
    fs,
    io::ErrorKind,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

use tokio::net::{UnixListener, UnixStream};

use super::error::WireError;
use crate::model::ids::RunId;

/// A socket's address has 108 bytes, the last of them a zero.
const MAX_PATH: usize = 107;

/// The room that `/` and a file's name need.
const NAME: usize = 40;

/// The directory of the sockets: `$XDG_RUNTIME_DIR/allclear`, or `/tmp/allclear-UID` if that is unset, relative or too
/// long.
pub fn socket_dir(xdg_runtime_dir: Option<&OsStr>, uid: u32) -> PathBuf {
    xdg_runtime_dir
        .map(Path::new)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join("allclear"))
        .filter(|dir| dir.as_os_str().len() + NAME <= MAX_PATH)
        .unwrap_or_else(|| PathBuf::from(format!("/tmp/allclear-{uid}")))
}

/// The socket of a run in that directory.
pub fn socket_path(dir: &Path, run: &RunId) -> PathBuf {
    dir.join(format!("{run}.sock"))
}

/// Makes the directory of a socket if need be, and refuses one that others could have made or can enter.
pub(super) fn prepare(dir: &Path) -> Result<(), WireError> {
    let made = fs::DirBuilder::new().mode(0o700).create(dir);
    match made {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(WireError::Io {
            doing: "create",
            path: dir.to_owned(),
            source: e,
        }),
        _ => check(dir),
    }
}

/// Refuses a directory that is a link, is not ours, or can be entered by others.
pub(super) fn check(dir: &Path) -> Result<(), WireError> {
    let meta = fs::symlink_metadata(dir).map_err(|source| match source.kind() {
        ErrorKind::NotFound => WireError::NobodyThere { path: dir.to_owned() },
        _ => WireError::Io {
            doing: "look at",
            path: dir.to_owned(),
            source,
        },
    })?;
    let me = rustix::process::geteuid().as_raw();
    let why = if !meta.is_dir() {
        "it is not a directory".to_owned()
    } else if meta.uid() != me {
        format!("it belongs to uid {}", meta.uid())
    } else if meta.mode() & 0o077 != 0 {
        format!("others can enter it (mode {:03o})", meta.mode() & 0o777)
    } else {
        return Ok(());
    };
    Err(WireError::NotOurs {
        path: dir.to_owned(),
        why,
    })
}

/// A bound socket. Its file goes when this is dropped, unless another has taken its place.
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) listener: UnixListener,
    path: PathBuf,
    file: Option<(u64, u64)>,
}

impl Bound {
    /// Binds; a socket that nobody answers at is stale, and is replaced.
    pub(super) async fn new(path: &Path) -> Result<Self, WireError> {
        let too_long = path.as_os_str().len() > MAX_PATH;
        let Some(dir) = path.parent().filter(|_| !too_long) else {
            return Err(WireError::PathTooLong {
                path: path.to_owned(),
            });
        };
        prepare(dir)?;
        remove_if_stale(path).await?;
        let listener = UnixListener::bind(path).map_err(|source| WireError::Io {
            doing: "listen at",
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            file: identity(path),
        })
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        if self.file.is_some() && identity(&self.path) == self.file {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|m| (m.dev(), m.ino()))
}

/// Removes the socket of a keeper that is gone, if it is still there.
///
/// # Errors
/// [`WireError::InUse`] if someone answers at it.
pub async fn remove_stale(path: &Path) -> Result<(), WireError> {
    match path.parent().map_or(Ok(()), check) {
        Err(WireError::NobodyThere { .. }) => return Ok(()),
        other => other?,
    }
    remove_if_stale(path).await
}

async fn remove_if_stale(path: &Path) -> Result<(), WireError> {
    let path = path.to_owned();
    match UnixStream::connect(&path).await {
        Ok(_) => Err(WireError::InUse { path }),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) if e.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(&path).map_err(|source| WireError::Io {
                doing: "remove the stale socket",
                path,
                source,
            })
        }
        Err(source) => Err(WireError::Io {
            doing: "try the socket",
            path,
            source,
        }),
    }
}
