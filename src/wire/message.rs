//! What is said on a keeper's socket, one JSON text a line, and the two plain words that are older than any version.

use serde::{Deserialize, Serialize};

use crate::model::{event::Event, ids::RunId, time::Span};

/// The longest line from a keeper, in bytes.
pub const MAX_FRAME: usize = 4 << 20;

/// The longest line to a keeper, in bytes.
pub const MAX_ASK: usize = 64 << 10;

/// A plain line that recovers the run, whoever sends it and whatever their version. Answered by [`STOPPING`].
pub const STOP: &str = "STOP";

/// A plain line that is answered by one line of JSON: the state of the run.
pub const SNAPSHOT: &str = "SNAPSHOT";

/// The answer to [`STOP`]: the keeper has been told.
pub const STOPPING: &str = "STOPPING";

/// The answer to [`STOP`] when there is nothing more to stop: the keeper is leaving.
pub const OVER: &str = "OVER";

/// What a console says to a keeper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToKeeper {
    /// The first frame: from now on tell me everything.
    Attach(Attach),
    /// Stop the faults and put everything back.
    Recover {
        /// Who asks.
        by: String,
    },
    /// Watch the baseline for longer.
    Extend {
        /// By how much.
        by: Span,
    },
    /// Write a note into the journal.
    Note {
        /// Who.
        by: String,
        /// What.
        text: String,
    },
}

/// Who attaches, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attach {
    /// Only look; everything but the plain words is refused.
    pub read_only: bool,
    /// A user name, for the journal.
    pub who: String,
}

/// What a keeper says to a console. `S` is the state of a run as the console shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromKeeper<S> {
    /// The answer to [`ToKeeper::Attach`].
    Hello(Hello),
    /// The state as it is now. Comes after the hello, and again whenever the console was too slow for the events.
    State(S),
    /// The next event after the state.
    Event(Box<Event>),
    /// Something asked for was not done.
    Refused {
        /// Why.
        why: String,
    },
    /// The keeper leaves; nothing more comes.
    Bye {
        /// Why.
        why: String,
    },
}

/// A state that can do without a part of itself.
pub trait Shorten {
    /// Leaves out what a console misses least, about half of it. False if there is nothing more of that.
    fn shorten(&mut self) -> bool;
}

/// Who answers. Its fields stay as they are in all versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The version of allclear.
    pub version: String,
    /// The run.
    pub run: RunId,
    /// The keeper's process id.
    pub pid: u32,
}

/// [`FromKeeper`] without owning what is sent.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Said<'a, S> {
    Hello(&'a Hello),
    State(&'a S),
    Event(&'a Event),
}

impl<S: Serialize> Said<'_, S> {
    /// As a line with its newline.
    pub(super) fn line(&self) -> String {
        as_line(serde_json::to_string(self))
    }
}

/// A state as a line, shortened until it fits in one.
pub(super) fn fitting<S: Shorten>(state: &mut S, json: impl Fn(&S) -> serde_json::Result<String>) -> String {
    loop {
        let text = json(state);
        let fits = text.as_ref().map_or(true, |text| text.len() < MAX_FRAME);
        if fits || !state.shorten() {
            return as_line(text);
        }
    }
}

/// A line with its newline. What JSON cannot say, or not in a line, becomes a refusal, so that the other side knows.
fn as_line(json: serde_json::Result<String>) -> String {
    match json {
        Ok(text) if text.len() < MAX_FRAME => text + "\n",
        Ok(text) => refusal(&format!("the state takes {} bytes, too many to send", text.len())),
        Err(e) => refusal(&format!("the state cannot be sent: {e}")),
    }
}

/// A refusal, as a line.
pub(super) fn refusal(why: &str) -> String {
    let why = serde_json::Value::from(why);
    format!("{{\"refused\":{{\"why\":{why}}}}}\n")
}

/// A goodbye, as a line.
pub(super) fn goodbye(why: &str) -> String {
    let why = serde_json::Value::from(why);
    format!("{{\"bye\":{{\"why\":{why}}}}}\n")
}
