//! Reports as those who get them see them.

mod bundle;
mod evidence;
mod junit;
mod page;
mod tampering;

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;
use crate::{
    journal::{Journal, RunDir, StateDir, story},
    model::{
        environment::SecretRef,
        event::Event,
        secret::{SecretText, Secrets},
        text::Lang,
    },
};

const SECRET: &str = "hunter\"22";

fn secrets() -> Secrets {
    let mut secrets = Secrets::none();
    secrets.insert(SecretRef::Env("TOKEN".to_owned()), SecretText::new(SECRET));
    secrets
}

fn run_of(temp: &TempDir, events: &[Event], secrets: &Secrets) -> RunDir {
    let state = StateDir::open(temp.path().join("state")).unwrap();
    let run = state.create_run(&story::plan(), secrets).unwrap();
    let (mut journal, _) = Journal::open(&run).unwrap();
    for event in events {
        journal.append(event).unwrap();
    }
    run
}

fn told() -> (TempDir, RunDir) {
    let temp = TempDir::new().unwrap();
    let run = run_of(&temp, &story::events(), &Secrets::none());
    (temp, run)
}

fn export_to(run: &RunDir, path: &Path) -> Manifest {
    export(run, &Destination::of(path), Lang::En, &Secrets::none()).unwrap()
}

fn bundle() -> (TempDir, PathBuf) {
    let (temp, run) = told();
    let path = temp.path().join("bundle");
    export_to(&run, &path);
    (temp, path)
}

fn problems(path: &Path) -> Vec<String> {
    verify(path)
        .unwrap()
        .problems
        .iter()
        .map(ToString::to_string)
        .collect()
}
