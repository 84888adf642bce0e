//! What can go wrong with a bundle.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::journal::StateError;

/// Why a bundle could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// Something is there already.
    #[error("{path} exists already: name another destination, or remove it first")]
    Exists {
        /// The path.
        path: PathBuf,
    },
    /// The run's own files.
    #[error(transparent)]
    State(#[from] StateError),
    /// Not a bundle.
    #[error("{path} is not a bundle: {why}; name a directory or .tar.gz that `allclear export` wrote")]
    NotABundle {
        /// The path.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Anything else.
    #[error("cannot {doing} {path}: {source}; check its rights and the room on its disk")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl ReportError {
    /// For `map_err`.
    pub(super) fn doing(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }

    pub(super) fn not_a_bundle(path: &Path, why: impl ToString) -> Self {
        Self::NotABundle {
            path: path.to_owned(),
            why: why.to_string(),
        }
    }
}
