//! Checking a bundle against its manifest. A bundle comes from anywhere: nothing is written, links are not followed,
//! and no more is read than the manifest says.

use std::{
    collections::BTreeMap,
    fmt,
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

use flate2::read::GzDecoder;

use crate::model::{ids::RunId, text::harmless};

use super::{
    error::ReportError,
    manifest::{FileEntry, MANIFEST, MAX_BYTES, MAX_FILES, MAX_MANIFEST, Manifest, check_name, copy_hashed},
};

/// What the check of a bundle found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The run, as the manifest says.
    pub run: Option<RunId>,
    /// How many files were found to be as the manifest says.
    pub sound: usize,
    /// What the exporter knew to be missing from the evidence.
    pub missing_evidence: Vec<String>,
    /// What is wrong. Empty if the bundle is as it was exported.
    pub problems: Vec<Problem>,
}

impl Verified {
    /// Whether the bundle is as it was exported.
    pub fn ok(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Something wrong with a file of a bundle. The names are safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The manifest has it, the bundle has not.
    Missing(String),
    /// The bundle has it, the manifest has not.
    Extra(String),
    /// Its content is another.
    Changed(String),
    /// It should not be in any bundle.
    Unsafe {
        /// Its name.
        name: String,
        /// Why.
        why: String,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(name) => write!(f, "{name} is missing"),
            Self::Extra(name) => write!(f, "{name} is not in the manifest"),
            Self::Changed(name) => write!(f, "{name} is not as it was exported"),
            Self::Unsafe { name, why } => write!(f, "{name} does not belong in a bundle: {why}"),
        }
    }
}

/// Checks a bundle, a directory or an archive.
///
/// # Errors
/// [`ReportError::NotABundle`] if there is no manifest that can be used, or the archive is broken.
pub fn verify(path: &Path) -> Result<Verified, ReportError> {
    let meta = fs::metadata(path).map_err(ReportError::doing("look at", path))?;
    if meta.is_dir() {
        verify_directory(path)
    } else {
        verify_archive(path)
    }
}

/// The files that are still to come, and what was found so far.
struct Checking {
    awaited: BTreeMap<String, FileEntry>,
    seen: Vec<String>,
    verified: Verified,
}

impl Checking {
    fn new(path: &Path, manifest: impl Read) -> Result<Self, ReportError> {
        let mut bytes = Vec::new();
        manifest
            .take(MAX_MANIFEST + 1)
            .read_to_end(&mut bytes)
            .map_err(|e| ReportError::not_a_bundle(path, format!("its manifest cannot be read: {e}")))?;
        if bytes.len() as u64 > MAX_MANIFEST {
            return Err(ReportError::not_a_bundle(path, "its manifest is too large"));
        }
        let manifest: Manifest = serde_json::from_slice(&bytes)
            .map_err(|e| ReportError::not_a_bundle(path, format!("its manifest cannot be read: {e}")))?;
        let total = manifest.files.iter().map(|f| f.size).fold(0, u64::saturating_add);
        if manifest.files.len() > MAX_FILES || total > MAX_BYTES {
            return Err(ReportError::not_a_bundle(path, "its manifest lists too much"));
        }
        let mut checking = Self {
            awaited: BTreeMap::new(),
            seen: Vec::new(),
            verified: Verified {
                run: manifest.run,
                sound: 0,
                missing_evidence: manifest.missing.iter().map(|line| harmless(line, 300)).collect(),
                problems: Vec::new(),
            },
        };
        for file in manifest.files {
            match check_name(&file.name) {
                Err(why) => checking.unsafe_file(&file.name, why),
                Ok(()) => drop(checking.awaited.insert(file.name.clone(), file)),
            }
        }
        Ok(checking)
    }

    fn unsafe_file(&mut self, name: &str, why: &str) {
        self.problem(Problem::Unsafe {
            name: harmless(name, 200),
            why: why.to_owned(),
        });
    }

    fn problem(&mut self, problem: Problem) {
        if self.verified.problems.len() < MAX_FILES {
            self.verified.problems.push(problem);
        }
    }

    /// Checks a file. Reads no more than one byte beyond what the manifest says.
    fn file(&mut self, name: &str, content: impl Read) -> io::Result<()> {
        let Some(said) = self.awaited.remove(name) else {
            let name = harmless(name, 200);
            self.problem(match self.seen.contains(&name) {
                true => Problem::Unsafe {
                    name,
                    why: "it is there twice".to_owned(),
                },
                false => Problem::Extra(name),
            });
            return Ok(());
        };
        self.seen.push(said.name.clone());
        let (sha256, size) = copy_hashed(&mut content.take(said.size + 1), &mut io::sink())?;
        if size == said.size && sha256.eq_ignore_ascii_case(&said.sha256) {
            self.verified.sound += 1;
        } else {
            self.problem(Problem::Changed(said.name));
        }
        Ok(())
    }

    fn finish(mut self) -> Verified {
        for name in std::mem::take(&mut self.awaited).into_keys() {
            self.problem(Problem::Missing(name));
        }
        self.verified
    }
}

fn verify_directory(dir: &Path) -> Result<Verified, ReportError> {
    let path = dir.join(MANIFEST);
    let plain = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file());
    if !plain {
        return Err(ReportError::not_a_bundle(dir, "it has no manifest.json"));
    }
    let manifest = File::open(&path).map_err(ReportError::doing("open", &path))?;
    let mut checking = Checking::new(dir, manifest)?;
    let mut folders = vec![String::new()];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        let at = dir.join(&folder);
        for entry in fs::read_dir(&at)
            .map_err(ReportError::doing("list", &at))?
            .flatten()
        {
            count += 1;
            if count > 2 * MAX_FILES {
                return Err(ReportError::not_a_bundle(dir, "it holds too many files"));
            }
            let name = format!("{folder}{}", entry.file_name().to_string_lossy());
            let path = entry.path();
            let kind = entry.file_type().map_err(ReportError::doing("look at", &path))?;
            if kind.is_dir() {
                folders.push(format!("{name}/"));
            } else if !kind.is_file() {
                checking.unsafe_file(&name, "it is a link or a device");
            } else if name != MANIFEST {
                let file = File::open(&path).map_err(ReportError::doing("open", &path))?;
                checking
                    .file(&name, file)
                    .map_err(ReportError::doing("read", &path))?;
            }
        }
    }
    Ok(checking.finish())
}

fn verify_archive(path: &Path) -> Result<Verified, ReportError> {
    let mut checking: Option<Checking> = None;
    each_file(path, |name, kind, content| {
        match &mut checking {
            None if name == MANIFEST && kind == Kind::Plain => checking = Some(Checking::new(path, content)?),
            None => {
                return Err(ReportError::not_a_bundle(
                    path,
                    "it does not begin with a manifest.json",
                ));
            }
            Some(checking) if kind == Kind::Other => checking.unsafe_file(name, "it is a link or a device"),
            Some(checking) => match check_name(name) {
                Err(why) => checking.unsafe_file(name, why),
                Ok(()) => checking.file(name, content).map_err(|e| broken(path, &e))?,
            },
        }
        Ok(())
    })?;
    checking
        .map(Checking::finish)
        .ok_or_else(|| ReportError::not_a_bundle(path, "it is empty"))
}

fn broken(path: &Path, why: &io::Error) -> ReportError {
    ReportError::not_a_bundle(path, format!("the archive is broken: {why}"))
}

/// What an entry of an archive is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A file.
    Plain,
    /// A link, a device or anything else that no bundle has.
    Other,
}

/// Gives every entry of an archive, by its name inside the archive's one folder. Bounds what is unpacked.
pub(super) fn each_file(
    path: &Path,
    mut take: impl FnMut(&str, Kind, &mut dyn Read) -> Result<(), ReportError>,
) -> Result<(), ReportError> {
    let broken = |e: io::Error| broken(path, &e);
    let file = File::open(path).map_err(ReportError::doing("open", path))?;
    let mut archive = tar::Archive::new(GzDecoder::new(file).take(MAX_BYTES + (64 << 20)));
    // Raw: long names and other extensions, which a reader would have to hold in memory, are in no bundle.
    for (count, entry) in archive.entries().map_err(broken)?.raw(true).enumerate() {
        let mut entry = entry.map_err(broken)?;
        if count > 2 * MAX_FILES {
            return Err(ReportError::not_a_bundle(path, "it holds too many files"));
        }
        let kind = match entry.header().entry_type() {
            tar::EntryType::Directory => continue,
            tar::EntryType::Regular | tar::EntryType::Continuous => Kind::Plain,
            _ => Kind::Other,
        };
        let whole = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        // A name that does not lie in a folder keeps its slash, and so cannot pass for one that does.
        let name = match whole.split_once('/') {
            Some((folder, name)) if !folder.is_empty() && folder != ".." => name,
            _ => &whole,
        };
        take(name, kind, &mut entry)?;
    }
    Ok(())
}
