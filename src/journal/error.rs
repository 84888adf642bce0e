//! What can go wrong with the state directory and with a run's files. Each error says what to do next.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::model::{ids::RunId, said::Said};

/// Why the state directory, or a run in it, cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Nobody said where it is.
    #[error(
        "no place for the state directory: neither XDG_STATE_HOME nor HOME is set; name one with --state-dir"
    )]
    NoHome,
    /// It belongs to someone else, whose runs it may hold.
    #[error(
        "{path} belongs to uid {owner}, and you are uid {me}: name a directory of your own with --state-dir"
    )]
    NotOurs {
        /// The directory.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// Us.
        me: u32,
    },
    /// Others could change what recovery relies on.
    #[error(
        "{path} can be written by others (mode {mode:03o}): run `chmod go-w {path}`, or name another with --state-dir"
    )]
    OpenToOthers {
        /// The directory.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Something else stands there.
    #[error("{path} is not a directory: name another with --state-dir")]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// The file system takes no writes.
    #[error("{path} is on a read-only file system: name a directory that can be written with --state-dir")]
    ReadOnly {
        /// The path.
        path: PathBuf,
    },
    /// No room for a journal.
    #[error(
        "the disk that holds {path} is full: free some space there, or name another directory with --state-dir"
    )]
    Full {
        /// The path.
        path: PathBuf,
    },
    /// The id is taken.
    #[error("run {run} exists already: start again, a new id is chosen")]
    RunExists {
        /// The id.
        run: RunId,
    },
    /// No run is meant by that.
    #[error("no run `{asked}` in this state directory: `allclear runs` lists those there are")]
    NoSuchRun {
        /// What was asked for.
        asked: String,
    },
    /// Several runs begin like that.
    #[error("`{asked}` fits several runs ({}): write more of the id", list(.fits))]
    Ambiguous {
        /// What was asked for.
        asked: String,
        /// The runs that fit.
        fits: Vec<RunId>,
    },
    /// A file is not what it should be.
    #[error("{path} is damaged: {why}; the rest of the run can still be read with `allclear show`")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Anything else.
    #[error("cannot {doing} {path}: {source}; check its rights, or name another directory with --state-dir")]
    Io {
        /// What was tried: `read`, `create` …
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

fn list(runs: &[RunId]) -> String {
    let ids: Vec<&str> = runs.iter().map(RunId::as_str).collect();
    ids.join(", ")
}

/// Whether there is no room, by disk or by quota.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

impl StateError {
    /// Sorts an error of the system by what a person can do about it.
    pub(super) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            _ if is_full(&source) => Self::Full { path },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path },
            _ => Self::Io { doing, path, source },
        }
    }

    /// For `map_err`.
    pub(super) fn doing(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::io(doing, &path, source)
    }
}

/// Why an event is not durably in the journal. The writer stays usable: a later append tries again.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// No room, and the ballast is spent.
    #[error("the disk that holds {path} is full: no new fault is made; recovery goes on from memory")]
    Full {
        /// The journal.
        path: PathBuf,
    },
    /// Written, but the system would not promise that it lasts.
    #[error(
        "{path} was written but not synced: {source}; event {seq} may be lost if the machine fails now: look at the disk"
    )]
    NotSynced {
        /// The journal.
        path: PathBuf,
        /// The event.
        seq: u64,
        /// What the system said.
        source: io::Error,
    },
    /// The event is longer than a reader accepts.
    #[error(
        "event {seq} takes {bytes} bytes, more than the {} that a journal line may have",
        super::line::MAX_LINE
    )]
    TooLong {
        /// The event.
        seq: u64,
        /// Its length as a line.
        bytes: usize,
    },
    /// The event cannot be read back as it is, so that recovery could not rely on it.
    #[error("event {seq} cannot be read back from JSON: {why}; it was not written")]
    NotReadable {
        /// The event.
        seq: u64,
        /// What a reader says.
        why: String,
    },
    /// Anything else.
    #[error("cannot {doing} {path}: {source}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl JournalError {
    /// The same in both languages; what the system said stands inside as it came.
    pub fn said(&self) -> Said {
        let zh = match self {
            JournalError::Full { path } => {
                format!("{} 所在磁盘已满：不再注入新故障；恢复凭内存继续", path.display())
            }
            JournalError::NotSynced { path, seq, source } => format!(
                "{} 已写入但未同步（{source}）：若机器此刻故障，事件 {seq} 可能丢失；请检查磁盘",
                path.display()
            ),
            JournalError::TooLong { seq, bytes } => {
                format!(
                    "事件 {seq} 占 {bytes} 字节，超过日志单行上限 {}",
                    super::line::MAX_LINE
                )
            }
            JournalError::NotReadable { seq, why } => {
                format!("事件 {seq} 无法从 JSON 读回（{why}）；未写入")
            }
            JournalError::Io { doing, path, source } => {
                format!("文件操作失败（{doing} {}）：{source}", path.display())
            }
        };
        Said::new(self.to_string(), zh)
    }
}
