//! Exporting a run: a directory or a `.tar.gz` that can be checked later. The same run gives the same bytes.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, BufWriter, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use flate2::{Compression, GzBuilder, write::GzEncoder};

use crate::{
    journal::RunDir,
    model::{ids::RunId, secret::Secrets, text::Lang},
};

use super::{
    contents::{Entry, contents},
    error::ReportError,
    evidence::Evidence,
    manifest::{FileEntry, MANIFEST, Manifest, copy_hashed},
};

/// Where a bundle goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A new directory.
    Directory(PathBuf),
    /// A new archive.
    TarGz(PathBuf),
}

impl Destination {
    /// An archive if the name says so, else a directory.
    pub fn of(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let name = path.as_os_str().to_string_lossy();
        if name.ends_with(".tar.gz") || name.ends_with(".tgz") {
            Self::TarGz(path)
        } else {
            Self::Directory(path)
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Directory(path) | Self::TarGz(path) => path,
        }
    }
}

/// Exports a run. `secrets` are those that the caller can still look up; none of them, nor of the run's own, is in the
/// bundle. What is missing from the evidence is said in the manifest, which is returned.
///
/// # Errors
/// [`ReportError::Exists`]; a file that cannot be read or written. Nothing is left half done.
pub fn export(
    run: &RunDir,
    to: &Destination,
    lang: Lang,
    secrets: &Secrets,
) -> Result<Manifest, ReportError> {
    let path = to.path();
    if fs::symlink_metadata(path).is_ok() {
        return Err(ReportError::Exists {
            path: path.to_owned(),
        });
    }
    let mut evidence = Evidence::of(run)?;
    let entries = contents(run, &mut evidence, lang, secrets)?;
    let manifest = manifest(evidence, &entries)?;
    let aside = beside(path);
    let written = match to {
        Destination::Directory(_) => write_directory(&aside, &manifest, &entries),
        Destination::TarGz(_) => write_archive(&aside, &manifest, &entries),
    };
    let done = written.and_then(|()| fs::rename(&aside, path).map_err(ReportError::doing("write", path)));
    if done.is_err() {
        let _ = fs::remove_dir_all(&aside).or_else(|_| fs::remove_file(&aside));
    }
    done.map(|()| manifest)
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".part-{}", std::process::id()));
    path.with_file_name(name)
}

fn manifest(evidence: Evidence, entries: &[Entry]) -> Result<Manifest, ReportError> {
    let mut files = Vec::new();
    for entry in entries {
        let name = entry.name.clone();
        let (sha256, size) = copy_hashed(&mut entry.open()?, &mut io::sink())
            .map_err(ReportError::doing("read", Path::new(&name)))?;
        files.push(FileEntry { name, size, sha256 });
    }
    let from_journal = evidence.header().map(|h| h.run.clone());
    Ok(Manifest {
        allclear: env!("CARGO_PKG_VERSION").to_owned(),
        run: from_journal.or_else(|| evidence.plan.map(|p| p.run)),
        files,
        missing: evidence.missing,
    })
}

fn manifest_bytes(manifest: &Manifest) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(manifest).expect("a manifest has no keys but strings");
    bytes.push(b'\n');
    bytes
}

/// A file that changed between hashing and copying would make a bundle that fails its own check.
fn copy(entry: &Entry, said: &FileEntry, to: &mut impl Write) -> Result<(), ReportError> {
    let path = Path::new(&entry.name);
    let (sha256, size) = copy_hashed(&mut entry.open()?, to).map_err(ReportError::doing("copy", path))?;
    if (sha256, size) == (said.sha256.clone(), said.size) {
        return Ok(());
    }
    let changed = io::Error::other("it changed while it was read: export again");
    Err(ReportError::doing("copy", path)(changed))
}

fn new_file(path: &Path) -> Result<File, ReportError> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(ReportError::doing("create", path))
}

fn write_directory(dir: &Path, manifest: &Manifest, entries: &[Entry]) -> Result<(), ReportError> {
    let private = |path: &Path| {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(ReportError::doing("create", path))
    };
    private(dir)?;
    let path = dir.join(MANIFEST);
    new_file(&path)?
        .write_all(&manifest_bytes(manifest))
        .map_err(ReportError::doing("write", &path))?;
    for (entry, said) in entries.iter().zip(&manifest.files) {
        let path = dir.join(&entry.name);
        path.parent().map_or(Ok(()), private)?;
        copy(entry, said, &mut new_file(&path)?)?;
    }
    Ok(())
}

/// The name of the archive's one folder.
fn folder(run: Option<&RunId>) -> String {
    run.map_or_else(|| "allclear".to_owned(), |run| format!("allclear-{run}"))
}

fn write_archive(path: &Path, manifest: &Manifest, entries: &[Entry]) -> Result<(), ReportError> {
    let gz: GzEncoder<_> = GzBuilder::new()
        .mtime(0)
        .operating_system(255)
        .write(BufWriter::new(new_file(path)?), Compression::default());
    let mut archive = tar::Builder::new(gz);
    let folder = folder(manifest.run.as_ref());
    let bytes = manifest_bytes(manifest);
    let name = format!("{folder}/{MANIFEST}");
    append(&mut archive, &name, bytes.len() as u64, &mut bytes.as_slice())?;
    for (entry, said) in entries.iter().zip(&manifest.files) {
        append(
            &mut archive,
            &format!("{folder}/{}", said.name),
            said.size,
            &mut entry.open()?,
        )?;
    }
    archive
        .into_inner()
        .and_then(GzEncoder::finish)
        .and_then(|writer| writer.into_inner().map_err(io::IntoInnerError::into_error))
        .and_then(|file| file.sync_all())
        .map_err(ReportError::doing("finish", path))
}

fn append(
    archive: &mut tar::Builder<impl Write>,
    name: &str,
    size: u64,
    content: &mut dyn io::Read,
) -> Result<(), ReportError> {
    let mut header = tar::Header::new_ustar();
    header.set_size(size);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    archive
        .append_data(&mut header, name, content)
        .map_err(ReportError::doing("archive", Path::new(name)))
}
