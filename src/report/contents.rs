//! What lies in a bundle.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::{
    journal::RunDir,
    model::{secret::Secrets, text::Lang},
};

use super::{error::ReportError, evidence::Evidence, html, mask::Mask, sheet};

/// One file of a bundle.
pub(super) struct Entry {
    pub(super) name: String,
    content: Content,
}

enum Content {
    Bytes(Vec<u8>),
    /// A file as long as it was when the export began: the run may still go on.
    File(PathBuf, u64),
    Masked(NamedTempFile),
}

impl Entry {
    fn bytes(name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            name: name.to_owned(),
            content: Content::Bytes(bytes.into()),
        }
    }

    /// Opens it. It reads the same each time.
    pub(super) fn open(&self) -> Result<Box<dyn Read + '_>, ReportError> {
        match &self.content {
            Content::Bytes(bytes) => Ok(Box::new(bytes.as_slice())),
            Content::File(path, len) => {
                let file = File::open(path).map_err(ReportError::doing("open", path))?;
                Ok(Box::new(file.take(*len)))
            }
            Content::Masked(copy) => {
                let file = copy.reopen().map_err(ReportError::doing("open", copy.path()))?;
                Ok(Box::new(file))
            }
        }
    }
}

/// The files of a bundle by name, and what is missing from it.
pub(super) fn contents(
    run: &RunDir,
    evidence: &mut Evidence,
    lang: Lang,
    secrets: &Secrets,
) -> Result<Vec<Entry>, ReportError> {
    let mask = Mask::new([secrets, &run.secrets()?]);
    let mut entries = Vec::new();
    for (name, path) in [
        ("journal.jsonl", run.journal_file()),
        ("samples.jsonl", run.samples_file()),
    ] {
        match events(name, &path, &mask)? {
            Some(entry) => entries.push(entry),
            None => evidence.missing.push(format!("there is no {name}")),
        }
    }
    if let Some(plan) = &evidence.plan {
        entries.push(Entry::bytes("plan.json", mask.text(&json(plan))));
        entries.push(Entry::bytes("drill.yaml", mask.text(&plan.drill_source)));
    }
    let told = [
        ("sheet.json", json(&sheet::sheet(evidence))),
        ("findings.json", json(&sheet::findings(&evidence.view, lang))),
        ("report.html", html::page(evidence, lang)),
    ];
    entries.extend(told.map(|(name, text)| Entry::bytes(name, mask.text(&text))));
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    for line in &mut evidence.missing {
        *line = mask.text(line);
    }
    Ok(entries)
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).expect("reports have no keys but strings") + "\n"
}

fn events(name: &str, path: &Path, mask: &Mask) -> Result<Option<Entry>, ReportError> {
    let len = match fs::metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(ReportError::doing("look at", path))?.len(),
    };
    let found = mask
        .occurs_in(path, len)
        .map_err(ReportError::doing("read", path))?;
    let content = if found {
        Content::Masked(mask.events(path, len).map_err(ReportError::doing("mask", path))?)
    } else {
        Content::File(path.to_owned(), len)
    };
    Ok(Some(Entry {
        name: name.to_owned(),
        content,
    }))
}
