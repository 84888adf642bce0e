//! What can go wrong between a console and a keeper.

use std::{io, path::PathBuf};

/// Why the wire failed.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// Nobody listens there.
    #[error(
        "no keeper listens at {path}: the run is over, or its keeper died (`allclear recover RUN` goes on with it)"
    )]
    NobodyThere {
        /// The socket.
        path: PathBuf,
    },
    /// Another keeper listens there.
    #[error("another keeper listens at {path} already: attach to its run, or recover it, first")]
    InUse {
        /// The socket.
        path: PathBuf,
    },
    /// Someone else could listen in or pretend to be the keeper.
    #[error("{path} cannot be trusted: {why}; remove it, or set XDG_RUNTIME_DIR to a directory of your own")]
    NotOurs {
        /// The directory.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The other end belongs to another user.
    #[error(
        "the other end belongs to uid {uid}, not to you, and is not spoken to: attach as the user who started the run"
    )]
    Stranger {
        /// Its user.
        uid: u32,
    },
    /// A unix socket's path has room for 107 bytes.
    #[error("{path} is too long for a socket: set XDG_RUNTIME_DIR to a shorter path")]
    PathTooLong {
        /// The path.
        path: PathBuf,
    },
    /// A line over the limit.
    #[error(
        "a line is longer than {max} bytes: the other end is no allclear, or of another version; use the one that started the run"
    )]
    TooLong {
        /// The limit.
        max: usize,
    },
    /// A line that means nothing. The next one may.
    #[error("a line cannot be understood: {why}; if the other end is of another version, use that one")]
    Unreadable {
        /// What is wrong.
        why: String,
    },
    /// The other end has gone without a word.
    #[error(
        "the connection to the keeper is lost: it died, or its machine does; `allclear attach` finds its successor"
    )]
    Lost,
    /// It took too long.
    #[error(
        "the keeper at {path} did not answer within {seconds} s: it hangs, and its deadman will take over"
    )]
    Silent {
        /// The socket.
        path: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// Anything else.
    #[error(
        "cannot {doing} {path}: {source}; check the directory, or set XDG_RUNTIME_DIR to one of your own"
    )]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Reading from or writing to a connection failed.
    #[error("the connection broke: {0}; `allclear attach` connects again")]
    Broken(#[from] io::Error),
}
