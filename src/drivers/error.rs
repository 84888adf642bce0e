//! What can go wrong with an outside system: what was asked, where, why it failed, what to do next.

use crate::model::{said::Said, time::Span};

use super::place::PlaceError;

/// Why a driver could not do what it was asked. `what` names the request and the place, without secrets.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DriverError {
    /// No connection could be made: nothing was sent.
    #[error("{what}: cannot be reached ({why}); check the address and that it is running")]
    Unreachable {
        /// The request and the place.
        what: String,
        /// What the connection attempt said.
        why: String,
    },
    /// No answer in time. What was asked may still happen.
    #[error("{what}: no answer within {after}; it may still take effect, look again")]
    TimedOut {
        /// The request and the place.
        what: String,
        /// The time limit.
        after: Span,
    },
    /// The connection broke after the request was sent. What was asked may have happened.
    #[error("{what}: the connection broke before the answer ({why}); it may have taken effect, look again")]
    Lost {
        /// The request and the place.
        what: String,
        /// What the connection said.
        why: String,
    },
    /// The right to do it is missing.
    #[error("{what}: not permitted ({answer}); check the user, its rights and the secret")]
    Unauthorized {
        /// The request and the place.
        what: String,
        /// What was answered.
        answer: String,
    },
    /// The system understood and said no.
    #[error("{what}: refused ({answer}); its own log says more")]
    Refused {
        /// The request and the place.
        what: String,
        /// The HTTP status, where the system has one.
        status: Option<u16>,
        /// What was answered.
        answer: String,
    },
    /// The answer is not what this system answers.
    #[error("{what}: not an answer of this system ({why}); check that the address is the right one")]
    Garbage {
        /// The request and the place.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// The thing asked for does not exist there.
    #[error("{what}: not there ({answer}); correct its name in the file, or create it")]
    NotThere {
        /// The request and the place.
        what: String,
        /// What was answered, or which names there are.
        answer: String,
    },
    /// The thing is in another state than the request needs.
    #[error("{what}: in another state ({answer}); look at it again")]
    Conflict {
        /// The request and the place.
        what: String,
        /// What was answered.
        answer: String,
    },
    /// More matched than was allowed: nothing was done.
    #[error(
        "{what}: {count} match, more than at_most {at_most}; the pattern is too wide, or at_most too small"
    )]
    TooMany {
        /// The request and the place.
        what: String,
        /// How many, at least.
        count: usize,
        /// The bound.
        at_most: u32,
    },
    /// A template or a name of the files does not lead anywhere.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A secret that the environment names was not looked up.
    #[error("{what}: the secret {secret} is not known; set it where the run is started")]
    NoSecret {
        /// The system that needs it.
        what: String,
        /// Where the secret should be found.
        secret: String,
    },
    /// This process could not set itself up for the request.
    #[error("{what}: {why}; correct that where allclear runs")]
    Setup {
        /// What was being set up.
        what: String,
        /// Why it failed.
        why: String,
    },
}

/// Whether a failed request may have taken effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landing {
    /// It surely did not happen.
    NotDone,
    /// It may have happened, or may still happen.
    Unknown,
}

impl DriverError {
    /// Whether what was asked may have taken effect all the same.
    pub fn landing(&self) -> Landing {
        match self {
            DriverError::TimedOut { .. } | DriverError::Lost { .. } | DriverError::Garbage { .. } => {
                Landing::Unknown
            }
            DriverError::Refused {
                status: Some(500..), ..
            } => Landing::Unknown,
            _ => Landing::NotDone,
        }
    }

    /// What an HTTP status other than a 2xx means; `answer` is what came with it, as it may be shown.
    pub(super) fn of_status(what: &str, status: u16, answer: String) -> Option<Self> {
        let what = what.to_owned();
        Some(match status {
            200..=299 => return None,
            300..=399 => DriverError::Garbage {
                what,
                why: format!("HTTP {status}: a redirect, perhaps to a login page"),
            },
            401 | 403 | 407 => DriverError::Unauthorized { what, answer },
            404 | 410 => DriverError::NotThere { what, answer },
            409 => DriverError::Conflict { what, answer },
            status => DriverError::Refused {
                what,
                status: Some(status),
                answer,
            },
        })
    }

    /// An answer of more than `most` bytes.
    pub(super) fn too_long(what: &str, most: usize) -> Self {
        DriverError::Garbage {
            what: what.to_owned(),
            why: format!("more than {} MiB of answer", most / 1024 / 1024),
        }
    }

    /// The same error about `other`: for places whose URL may not be shown.
    pub fn about(mut self, other: &str) -> Self {
        match &mut self {
            DriverError::Unreachable { what, .. }
            | DriverError::TimedOut { what, .. }
            | DriverError::Lost { what, .. }
            | DriverError::Unauthorized { what, .. }
            | DriverError::Refused { what, .. }
            | DriverError::Garbage { what, .. }
            | DriverError::NotThere { what, .. }
            | DriverError::Conflict { what, .. }
            | DriverError::TooMany { what, .. }
            | DriverError::NoSecret { what, .. }
            | DriverError::Setup { what, .. } => other.clone_into(what),
            DriverError::Place(_) => {}
        }
        self
    }

    /// The same in both languages; what was answered stands inside as it came. In Chinese the reason stands before the place: a
    /// narrow screen cuts what comes last.
    pub fn said(&self) -> Said {
        let zh = match self {
            DriverError::Unreachable { what, why } => {
                format!("连接不上（{why}）：{what}；请检查地址，以及它是否在运行")
            }
            DriverError::TimedOut { what, after } => {
                format!("{after} 内无应答：{what}；请求可能仍会生效，请再看一次")
            }
            DriverError::Lost { what, why } => {
                format!("应答前连接断开（{why}）：{what}；请求可能已生效，请再看一次")
            }
            DriverError::Unauthorized { what, answer } => {
                format!("无权限（{answer}）：{what}；请检查用户、权限和密钥")
            }
            DriverError::Refused { what, answer, .. } => {
                format!("被拒绝（{answer}）：{what}；详见其自身日志")
            }
            DriverError::Garbage { what, why } => {
                format!("不是该系统的应答（{why}）：{what}；请检查地址是否正确")
            }
            DriverError::NotThere { what, answer } => {
                format!("不存在（{answer}）：{what}；请改正文件中的名称，或创建它")
            }
            DriverError::Conflict { what, answer } => format!("状态不符（{answer}）：{what}；请再看一次"),
            DriverError::TooMany { what, count, at_most } => {
                format!("匹配 {count} 个，超过 at_most {at_most}：{what}；模式太宽，或 at_most 太小")
            }
            DriverError::Place(error) => return error.said(),
            DriverError::NoSecret { what, secret } => {
                format!("密钥 {secret} 未知：{what}；请在启动演练处设置")
            }
            DriverError::Setup { what, why } => format!("{what}：{why}；请在运行 allclear 处改正"),
        };
        Said::new(self.to_string(), zh)
    }

    /// Whether the same request may succeed a moment later: restarts, overload, lost connections.
    pub fn may_pass(&self) -> bool {
        match self {
            DriverError::Unreachable { .. } | DriverError::TimedOut { .. } | DriverError::Lost { .. } => true,
            DriverError::Refused { status, .. } => matches!(status, Some(429 | 500..)),
            _ => false,
        }
    }
}
