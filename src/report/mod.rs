//! What leaves a run: a bundle of evidence that can be checked, a page to read, JUnit XML.
//!
//! A bundle is a directory or a `.tar.gz`: `manifest.json` with the size and SHA-256 of each file, `drill.yaml` as
//! written, `plan.json` as resolved, `journal.jsonl`, `samples.jsonl`, `sheet.json`, `findings.json` and `report.html`. All of it
//! blocks: call it where blocking is allowed.

mod bundle;
mod contents;
mod error;
mod evidence;
mod html;
mod junit;
mod manifest;
mod mask;
mod opened;
mod sheet;
#[cfg(test)]
mod tests;
mod verify;

pub use bundle::{Destination, export};
pub use error::ReportError;
pub use evidence::Evidence;
pub use junit::junit;
pub use manifest::{FileEntry, Manifest};
pub use opened::OpenBundle;
pub use sheet::{Finding, Sheet, findings, sheet};
pub use verify::{Problem, Verified, verify};
