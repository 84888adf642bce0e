//! Why a template does not lead to an address.

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

fn meant(name: &Option<String>) -> String {
    match name {
        Some(name) => format!("did you mean `{{{name}}}`?"),
        None => "write `{instance}`, `{run}` or the name of an instance".to_owned(),
    }
}
