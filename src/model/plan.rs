//! A plan: everything a keeper needs to run a drill or to recover one, with no other file and no environment variable.

use serde::{Deserialize, Serialize};

use super::{drill::Drill, environment::Environment, ids::RunId, text::Lang};

/// Written to the run's directory before anything else happens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The run.
    pub run: RunId,
    /// The drill, resolved.
    pub drill: Drill,
    /// The drill file as written.
    pub drill_source: String,
    /// The folder of the drill file; commands run there.
    pub drill_folder: String,
    /// The environment, without secrets.
    pub environment: Environment,
    /// Who started it.
    pub started_by: String,
    /// What the run is for.
    pub purpose: Purpose,
    /// Whether a commander sits at the console and can extend a baseline; otherwise an unfit one refuses the run.
    pub attended: bool,
    /// The language of notes that the keeper itself writes.
    pub lang: Lang,
    /// The version that wrote it.
    pub allclear_version: String,
}

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A drill with a commander.
    Drill,
    /// A small-fault run before a release.
    Smoke,
    /// The demo on the built-in range.
    Demo,
}
