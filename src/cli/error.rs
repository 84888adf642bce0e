//! What went wrong with a command, and the exit code that says so.

use std::io::{self, ErrorKind};

use miette::{GraphicalReportHandler, GraphicalTheme};

use super::{print, say};
use crate::{journal::StateError, model::exit::Exit, spec::Diagnostics};

/// A command that did not do what it was asked.
#[derive(Debug)]
pub enum Failure {
    /// A wrong file, with every place in it.
    Files(Box<Diagnostics>),
    /// A wrong argument, or something that is not there.
    Usage(String),
    /// It was refused; nothing was touched.
    Refused(String),
    /// Nobody knows how it ended.
    Lost(String),
    /// What it was asked to print could not be written.
    Unwritten(io::Error),
}

impl Failure {
    /// A wrong argument, or something that is not there.
    pub fn usage(text: impl ToString) -> Self {
        Failure::Usage(text.to_string())
    }

    /// Says what went wrong, on standard error, and gives the exit code.
    pub fn report(&self) -> Exit {
        let (text, code) = match self {
            Failure::Files(all) => {
                print::diagnostics(&shown(all));
                return Exit::Usage;
            }
            Failure::Usage(text) => (text, Exit::Usage),
            Failure::Refused(text) => (text, Exit::Refused),
            Failure::Lost(text) => (text, Exit::Remains),
            // Whoever read it has read enough, and knows.
            Failure::Unwritten(error) if error.kind() == ErrorKind::BrokenPipe => return Exit::Undecided,
            Failure::Unwritten(error) => {
                say::err(format_args!(
                    "allclear: standard output cannot be written: {error}; what is there is not the whole"
                ));
                return Exit::Undecided;
            }
        };
        say::err(format_args!("allclear: {text}"));
        code
    }
}

/// Diagnostics as a person reads them: colours only on a terminal that wants them.
pub fn shown(all: &Diagnostics) -> String {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty())
        || !io::IsTerminal::is_terminal(&io::stderr());
    let theme = if plain {
        GraphicalTheme::unicode_nocolor()
    } else {
        GraphicalTheme::unicode()
    };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(100);
    let mut out = String::new();
    for one in &all.all {
        // Writing into a string cannot fail.
        let _ = handler.render_report(&mut out, one);
        out.push('\n');
    }
    out
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Usage(error.to_string())
    }
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        match error {
            // The name was wrong, not the directory.
            StateError::NoSuchRun { .. } | StateError::Ambiguous { .. } => Failure::Usage(error.to_string()),
            _ => Failure::Refused(error.to_string()),
        }
    }
}
