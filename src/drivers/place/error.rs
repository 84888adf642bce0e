//! Why a template does not lead to an address.

use crate::model::said::Said;

/// Why a template does not lead to an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// A placeholder that nothing fills.
    #[error("`{{{name}}}` in `{template}` is unknown here; {}", meant(.nearest))]
    Unknown {
        /// The placeholder.
        name: String,
        /// Where it stands.
        template: String,
        /// The nearest name that exists.
        nearest: Option<String>,
    },
    /// A brace without its partner.
    #[error("a `{{` without `}}` in `{template}`; close it")]
    Unclosed {
        /// Where it stands.
        template: String,
    },
    /// A service with several instances where one address is meant.
    #[error("`{{{service}}}` in `{template}` has {count} instances; name one of them")]
    Several {
        /// The service.
        service: String,
        /// How many instances it has.
        count: usize,
        /// Where it stands.
        template: String,
    },
    /// An instance or a server without an address.
    #[error("`{name}` has no address in environment `{environment}`; add it to allclear.yaml")]
    NoAddress {
        /// What has none.
        name: String,
        /// The environment.
        environment: String,
    },
    /// A text that is neither an address, nor a path, nor the name of a server.
    #[error(
        "`{text}` is not host:port, not an absolute socket path, not a name under `gateways` of environment `{environment}`; write one of \
         these"
    )]
    NotASocket {
        /// The text.
        text: String,
        /// The environment.
        environment: String,
    },
    /// A pattern without a literal character.
    #[error(
        "the pattern `{pattern}` would match other people's keys; begin it with what all of these flags share"
    )]
    TooWide {
        /// The pattern.
        pattern: String,
    },
    /// A name with characters that would change the meaning of a command.
    #[error("`{text}` cannot be a name of this system; use letters, digits, `-`, `_`, `.` and `:`")]
    NotAName {
        /// The text.
        text: String,
    },
}

impl PlaceError {
    /// The same in both languages.
    pub fn said(&self) -> Said {
        let zh = match self {
            PlaceError::Unknown {
                name,
                template,
                nearest,
            } => {
                let meant = match nearest {
                    Some(name) => format!("是否指 `{{{name}}}`？"),
                    None => "请写 `{instance}`、`{run}` 或某个实例名".to_owned(),
                };
                format!("`{template}` 中的 `{{{name}}}` 在此未知；{meant}")
            }
            PlaceError::Unclosed { template } => format!("`{template}` 中的 `{{` 缺少 `}}`；请补上"),
            PlaceError::Several {
                service,
                count,
                template,
            } => format!("`{template}` 中的 `{{{service}}}` 有 {count} 个实例；请写明其一"),
            PlaceError::NoAddress { name, environment } => {
                format!("环境 `{environment}` 中 `{name}` 没有地址；请补进 allclear.yaml")
            }
            PlaceError::NotASocket { text, environment } => format!(
                "`{text}` 既非 host:port，也非绝对 socket 路径，也不是环境 `{environment}` 的 `gateways` 中的名称；请写其中之一"
            ),
            PlaceError::TooWide { pattern } => {
                format!("模式 `{pattern}` 会匹配他人的键；请以这些开关共有的前缀开头")
            }
            PlaceError::NotAName { text } => {
                format!("`{text}` 不能作本系统的名称；请用字母、数字、`-`、`_`、`.`、`:`")
            }
        };
        Said::new(self.to_string(), zh)
    }
}

fn meant(name: &Option<String>) -> String {
    match name {
        Some(name) => format!("did you mean `{{{name}}}`?"),
        None => "write `{instance}`, `{run}` or the name of an instance".to_owned(),
    }
}
