//! The manifest of a bundle: which files belong to it, how long each is, and its SHA-256.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::model::ids::RunId;

/// The manifest's own name.
pub(super) const MANIFEST: &str = "manifest.json";

/// Most files of a bundle.
pub(super) const MAX_FILES: usize = 10_000;

/// Most bytes of a bundle, unpacked.
pub(super) const MAX_BYTES: u64 = 8 << 30;

/// The longest name, in bytes: as much as an archive's header has room for.
const MAX_NAME: usize = 100;

/// The largest manifest that is read, in bytes.
pub(super) const MAX_MANIFEST: u64 = 8 << 20;

/// `manifest.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version that exported.
    pub allclear: String,
    /// The run, if its files say.
    pub run: Option<RunId>,
    /// The files, by name.
    pub files: Vec<FileEntry>,
    /// What is known to be missing from the evidence, one line each.
    pub missing: Vec<String>,
}

/// A file of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Its path in the bundle, with `/` between folders.
    pub name: String,
    /// Its length in bytes.
    pub size: u64,
    /// SHA-256 in hexadecimal digits.
    pub sha256: String,
}

/// Copies and hashes; the digest in hexadecimal digits and the length.
pub(super) fn copy_hashed(from: &mut impl Read, to: &mut impl Write) -> io::Result<(String, u64)> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut length = 0;
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        hasher.update(&buffer[..read]);
        to.write_all(&buffer[..read])?;
        length += read as u64;
    }
    let digest = hasher.finalize();
    Ok((digest.iter().map(|byte| format!("{byte:02x}")).collect(), length))
}

/// Whether a name may stand in a bundle: relative, inside it, and plain.
///
/// # Errors
/// In words, why not.
pub(super) fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() || name.len() > MAX_NAME {
        return Err("its name is longer than 100 bytes, or empty");
    }
    if name.chars().any(|c| c.is_control() || c == '\\') {
        return Err("it has control characters or backslashes");
    }
    if name.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err("it leads out of the bundle");
    }
    Ok(())
}
