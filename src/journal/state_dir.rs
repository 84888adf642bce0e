//! The state directory: where the runs of one person on one machine lie.

use std::{
    ffi::OsStr,
    fs,
    io::Write,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use jiff::Timestamp;

use crate::model::{
    event::{Body, Outcome},
    ids::{DrillName, EnvironmentName, RunId},
    phase::Phase,
    plan::Plan,
    secret::Secrets,
    time::Span,
};

use super::{
    durable::{check_ours, new_private_file, private_dir, sync_dir},
    error::StateError,
    head,
    lock::{EnvironmentLock, Holder, KeeperLock, LockError, patiently},
    run_dir::RunDir,
    tail,
};

/// As much of a journal's end as a listing reads, in bytes.
const LISTED_TAIL: u64 = 64 * 1024;

/// The state directory.
#[derive(Debug, Clone)]
pub struct StateDir(PathBuf);

/// A run in a listing.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// The run.
    pub run: RunId,
    /// When it was opened, or when its directory was last changed if the journal does not say.
    pub started: Timestamp,
    /// Its drill, if that is known.
    pub drill: Option<DrillName>,
    /// Its environment, if that is known.
    pub environment: Option<EnvironmentName>,
    /// The last phase it entered.
    pub phase: Option<Phase>,
    /// How it ended, if it did.
    pub outcome: Option<Outcome>,
    /// Its keeper, if one is alive.
    pub keeper: Option<Holder>,
    /// Why little is known, if so.
    pub damaged: Option<String>,
}

impl StateDir {
    /// Where the state directory is, unless someone names another: `$XDG_STATE_HOME/allclear`, else
    /// `$HOME/.local/state/allclear`. Relative values do not count, as the XDG base directory specification says.
    ///
    /// # Errors
    /// [`StateError::NoHome`].
    pub fn default_path(xdg_state_home: Option<&OsStr>, home: Option<&OsStr>) -> Result<PathBuf, StateError> {
        let absolute = |text: Option<&OsStr>| text.map(PathBuf::from).filter(|p| p.is_absolute());
        absolute(xdg_state_home)
            .or_else(|| absolute(home).map(|home| home.join(".local/state")))
            .map(|state| state.join("allclear"))
            .ok_or(StateError::NoHome)
    }

    /// Opens the state directory; makes it if it is not there.
    ///
    /// # Errors
    /// If it is not ours, not a directory, or can be written by others.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StateError> {
        let state = Self(path.into());
        if state.0.exists() {
            check_ours(&state.0)?;
        }
        for dir in [state.runs_dir(), state.environments_dir()] {
            if !dir.exists() {
                private_dir(&dir)?;
            }
            check_ours(&dir)?;
        }
        check_ours(&state.0)?;
        Ok(state)
    }

    /// Opens the state directory if it is there, and makes nothing: for commands that only look.
    ///
    /// # Errors
    /// As for [`StateDir::open`].
    pub fn existing(path: impl Into<PathBuf>) -> Result<Option<Self>, StateError> {
        let path = path.into();
        if !path.join("runs").exists() {
            return Ok(None);
        }
        Self::open(path).map(Some)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    fn runs_dir(&self) -> PathBuf {
        self.0.join("runs")
    }

    fn environments_dir(&self) -> PathBuf {
        self.0.join("environments")
    }

    /// Proves that a file can be written here and lasts.
    ///
    /// # Errors
    /// [`StateError::Full`], [`StateError::ReadOnly`] or what else is wrong.
    pub fn probe(&self) -> Result<(), StateError> {
        let path = self.0.join(format!(".probe-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        let written = new_private_file(&path).and_then(|mut file| {
            file.write_all(&[0; 4096])?;
            file.sync_all()
        });
        let _ = fs::remove_file(&path);
        written.map_err(StateError::doing("write into", &self.0))?;
        sync_dir(&self.0)
    }

    /// Makes the directory of a new run. Its plan is on the disk when this returns.
    ///
    /// # Errors
    /// [`StateError::RunExists`]; a disk that is full or read-only.
    pub fn create_run(&self, plan: &Plan, secrets: &Secrets) -> Result<RunDir, StateError> {
        self.probe()?;
        RunDir::create(self.runs_dir().join(plan.run.as_str()), plan, secrets)
    }

    /// The directory of a run, whether or not it is there.
    pub fn run_dir(&self, run: &RunId) -> RunDir {
        RunDir::at(self.runs_dir().join(run.as_str()))
    }

    /// The ids of all runs, in no order.
    pub(super) fn ids(&self) -> Result<Vec<RunId>, StateError> {
        let dir = self.runs_dir();
        let entries = fs::read_dir(&dir).map_err(StateError::doing("list", &dir))?;
        Ok(entries
            .filter_map(Result::ok)
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter_map(|entry| RunId::new(entry.file_name().to_str()?).ok())
            .collect())
    }

    /// All runs, newest first. Reads only the ends of each journal, and lists damaged runs too.
    ///
    /// # Errors
    /// If the directory itself cannot be listed.
    pub fn runs(&self) -> Result<Vec<RunSummary>, StateError> {
        let mut runs: Vec<RunSummary> = self.ids()?.into_iter().map(|id| self.summary(id)).collect();
        runs.sort_by(|a, b| b.started.cmp(&a.started).then_with(|| a.run.cmp(&b.run)));
        Ok(runs)
    }

    /// The run that `asked` means: `latest`, a whole id, or the beginning of only one.
    ///
    /// # Errors
    /// [`StateError::NoSuchRun`], [`StateError::Ambiguous`].
    pub fn find(&self, asked: &str) -> Result<(RunId, RunDir), StateError> {
        let no_such_run = || StateError::NoSuchRun {
            asked: crate::model::text::harmless(asked, crate::model::ids::MAX_NAME),
        };
        let found = if asked == "latest" {
            self.runs()?.into_iter().next().map(|r| r.run)
        } else {
            self.by_prefix(asked)?
        };
        let id = found.ok_or_else(no_such_run)?;
        let dir = self.run_dir(&id);
        Ok((id, dir))
    }

    fn by_prefix(&self, asked: &str) -> Result<Option<RunId>, StateError> {
        let mut fits = self.ids()?;
        fits.retain(|id| !asked.is_empty() && id.as_str().starts_with(asked));
        fits.sort();
        if let Some(exact) = fits.iter().position(|id| id.as_str() == asked) {
            return Ok(Some(fits.swap_remove(exact)));
        }
        if fits.len() > 1 {
            return Err(StateError::Ambiguous {
                asked: asked.to_owned(),
                fits,
            });
        }
        Ok(fits.pop())
    }

    /// Takes the right to run on an environment, at once or not at all.
    ///
    /// # Errors
    /// [`LockError::HeldBy`] names the other run and its keeper; [`LockError::Owed`] a run that never ended.
    pub fn lock_environment(
        &self,
        environment: &EnvironmentName,
        run: &RunId,
        pid: u32,
    ) -> Result<EnvironmentLock, LockError> {
        let path = self.environments_dir().join(format!("{environment}.lock"));
        EnvironmentLock::try_take(path, environment, run, pid, |before| {
            let summary = self.summary(before.clone());
            self.run_dir(before).path().is_dir() && summary.outcome.is_none()
        })
    }

    /// The same, as soon as a holder that is dying is gone, but within `patience`. Blocks the thread.
    ///
    /// # Errors
    /// As for [`StateDir::lock_environment`], once the time is up.
    pub fn lock_environment_within(
        &self,
        environment: &EnvironmentName,
        run: &RunId,
        pid: u32,
        patience: Span,
    ) -> Result<EnvironmentLock, LockError> {
        patiently(patience, || self.lock_environment(environment, run, pid))
    }

    fn summary(&self, run: RunId) -> RunSummary {
        let dir = self.run_dir(&run);
        let changed = fs::metadata(dir.path()).map_or(0, |meta| meta.mtime());
        let mut summary = RunSummary {
            run,
            started: Timestamp::from_second(changed).unwrap_or(Timestamp::UNIX_EPOCH),
            drill: None,
            environment: None,
            phase: None,
            outcome: None,
            keeper: KeeperLock::holder(&dir).ok().flatten(),
            damaged: None,
        };
        match head::first_event(&dir.journal_file()).map(|e| (e.wall, e.body)) {
            Some((wall, Body::Opened(header))) => {
                summary.started = wall;
                summary.drill = Some(header.drill);
                summary.environment = Some(header.environment);
            }
            _ => match dir.plan() {
                Ok(plan) => {
                    summary.drill = Some(plan.drill.name);
                    summary.environment = Some(plan.environment.name);
                }
                Err(e) => summary.damaged = Some(e.to_string()),
            },
        }
        let end = tail::last_events(&dir.journal_file(), LISTED_TAIL).unwrap_or_default();
        summary.phase = end.iter().rev().find_map(|e| match &e.body {
            Body::Closed(_) => Some(Phase::Closed),
            Body::Phase { phase, .. } => Some(*phase),
            _ => None,
        });
        summary.outcome = end.into_iter().rev().find_map(|e| match e.body {
            Body::Closed(outcome) => Some(outcome),
            _ => None,
        });
        summary
    }
}
