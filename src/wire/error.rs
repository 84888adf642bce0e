//! What can go wrong between a console and a keeper.

use std::{io, path::PathBuf};

use crate::model::said::Said;

/// Why the wire failed.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// Nobody listens there.
    #[error(
        "no keeper listens at {path}: the run is over, or its keeper died (`allclear recover RUN` goes on with it)"
    )]
    NobodyThere {
        /// The socket.
        path: PathBuf,
    },
    /// Another keeper listens there.
    #[error("another keeper listens at {path} already: attach to its run, or recover it, first")]
    InUse {
        /// The socket.
        path: PathBuf,
    },
    /// Someone else could listen in or pretend to be the keeper.
    #[error("{path} cannot be trusted: {why}; remove it, or set XDG_RUNTIME_DIR to a directory of your own")]
    NotOurs {
        /// The directory.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The other end belongs to another user.
    #[error(
        "the other end belongs to uid {uid}, not to you, and is not spoken to: attach as the user who started the run"
    )]
    Stranger {
        /// Its user.
        uid: u32,
    },
    /// A unix socket's path has room for 107 bytes.
    #[error("{path} is too long for a socket: set XDG_RUNTIME_DIR to a shorter path")]
    PathTooLong {
        /// The path.
        path: PathBuf,
    },
    /// A line over the limit.
    #[error(
        "a line is longer than {max} bytes: the other end is no allclear, or of another version; use the one that started the run"
    )]
    TooLong {
        /// The limit.
        max: usize,
    },
    /// A line that means nothing. The next one may.
    #[error("a line cannot be understood: {why}; if the other end is of another version, use that one")]
    Unreadable {
        /// What is wrong.
        why: String,
    },
    /// The other end has gone without a word.
    #[error(
        "the connection to the keeper is lost: it died, or its machine does; `allclear attach` finds its successor"
    )]
    Lost,
    /// It took too long.
    #[error(
        "the keeper at {path} did not answer within {seconds} s: it hangs, and its deadman will take over"
    )]
    Silent {
        /// The socket.
        path: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// Anything else.
    #[error(
        "cannot {doing} {path}: {source}; check the directory, or set XDG_RUNTIME_DIR to one of your own"
    )]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Reading from or writing to a connection failed.
    #[error("the connection broke: {0}; `allclear attach` connects again")]
    Broken(#[from] io::Error),
}

impl WireError {
    /// The same in both languages: a console tells it to whoever sits before it.
    pub fn said(&self) -> Said {
        Said::new(self.to_string(), self.zh())
    }

    fn zh(&self) -> String {
        match self {
            WireError::NobodyThere { path } => format!(
                "{} 上没有守护进程：演练已结束，或守护进程已死 (`allclear recover RUN` 接着恢复)",
                path.display()
            ),
            WireError::InUse { path } => {
                format!("{} 上已有另一守护进程：请先连接或恢复它的演练", path.display())
            }
            WireError::NotOurs { path, why } => format!(
                "{} 不可信：{why}；请删除它，或把 XDG_RUNTIME_DIR 设为您自己的目录",
                path.display()
            ),
            WireError::Stranger { uid } => {
                format!("对端属于 uid {uid}，不是您，不与其通信：请以启动演练的用户连接")
            }
            WireError::PathTooLong { path } => format!(
                "{} 作为套接字路径过长：请把 XDG_RUNTIME_DIR 设为较短的路径",
                path.display()
            ),
            WireError::TooLong { max } => {
                format!("一行超过 {max} 字节：对端不是 allclear 或版本不同；请用启动演练的那个版本")
            }
            WireError::Unreadable { why } => format!("有一行无法理解：{why}；若对端版本不同，请用该版本"),
            WireError::Lost => {
                "与守护进程的连接已断：它已死，或其机器将死；`allclear attach` 可找到继任者".to_owned()
            }
            WireError::Silent { path, seconds } => format!(
                "{} 上的守护进程 {seconds} s 内未应答：它已挂起，将由替补守护接管",
                path.display()
            ),
            WireError::Io { doing, path, source } => format!(
                "无法 {doing} {}：{source}；请检查目录，或把 XDG_RUNTIME_DIR 设为您自己的目录",
                path.display()
            ),
            WireError::Broken(why) => format!("连接断开：{why}；`allclear attach` 重新连接"),
        }
    }
}
