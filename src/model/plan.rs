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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A drill with a commander.
    #[default]
    Drill,
    /// A small-fault run before a release.
    Smoke,
    /// The demo on the built-in range.
    Demo,
    /// All of a drill but its faults and loads: the playbook is carried out on a healthy system.
    Rehearsal,
    /// The playbook alone, in a real incident: there was no baseline and nothing to compare with but a healthy state.
    Restore,
}

impl Purpose {
    /// Whether anything is broken on purpose, so that there is a hypothesis to judge.
    pub fn injects(self) -> bool {
        matches!(self, Purpose::Drill | Purpose::Smoke | Purpose::Demo)
    }

    /// The word beside the drill's name, where a reader must not take the run for a drill.
    pub fn word(self, lang: Lang) -> Option<&'static str> {
        match self {
            Purpose::Drill | Purpose::Smoke | Purpose::Demo => None,
            Purpose::Rehearsal => Some(lang.pick("REHEARSAL", "预演")),
            Purpose::Restore => Some(lang.pick("RESTORE", "应急恢复")),
        }
    }
}
