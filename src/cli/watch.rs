//! Looking at a run: by screens on a terminal, by lines elsewhere.

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use jiff::tz::TimeZone;
use tokio::{
    runtime::Runtime,
    time::{Instant, sleep},
};

use super::{context::Context, error::Failure, link::KeeperLink, options::Common, say, start::Started};
use crate::{
    console::{
        self, Colour, End, Link, Options,
        plain::{self, PlainEnd, PlainOptions},
    },
    journal::{Clock, KeeperLock, RunDir},
    keeper,
    model::{event::Outcome, exit::Exit, ids::RunId, said::Said, text::Lang, time::Moment},
};

/// How a run is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Lines instead of screens.
    pub plain: bool,
    /// No key changes anything.
    pub read_only: bool,
    /// The run is this console's own: a signal recovers it.
    pub owns: bool,
    /// Explain each phase.
    pub coach: bool,
    pub lang: Lang,
    pub coloured: bool,
}

impl Look {
    /// How this call looks at a run.
    pub fn new(context: &Context, common: &Common, plain: bool) -> Self {
        Self {
            plain: plain || !has_terminal(),
            read_only: false,
            owns: false,
            coach: false,
            lang: context.lang,
            coloured: common.coloured(),
        }
    }
}

/// Whether screens can be shown and keys read.
pub fn has_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// The clock that counts suspend, the keeper's own.
pub fn now() -> Moment {
    Clock.now()
}

/// How looking ended.
pub enum Seen {
    /// The run is over.
    Over(Outcome),
    /// The person has left by a key; the run goes on.
    Left,
    /// Looking was ended by something else: a signal, a terminal or a reader that is gone. The run goes on.
    TornAway,
}

/// The longest wait for a keeper to tidy up after its last word.
const TIDYING: Duration = Duration::from_secs(5);

/// Looks at a run that this command has started until it is over or we leave, and says how that ended.
pub fn to_the_end(
    context: &Context,
    started: &Started,
    look: Look,
    allow_undecided: bool,
) -> Result<Exit, Failure> {
    let dir = context.state()?.run_dir(&started.run);
    let seen = watch(&dir, &started.run, look)?;
    Ok(code(&seen, &started.run, look, allow_undecided))
}

/// Looks at a run until it is over or we leave. A run that is over has given its environment back: the next command
/// of a script can begin another.
pub fn watch(dir: &RunDir, run: &RunId, look: Look) -> Result<Seen, Failure> {
    let runtime = super::runtime()?;
    let seen = look_at(&runtime, dir, run, look)?;
    if matches!(seen, Seen::Over(_)) {
        runtime.block_on(keeper_gone(dir));
    }
    Ok(seen)
}

async fn keeper_gone(dir: &RunDir) {
    let deadline = Instant::now() + TIDYING;
    while Instant::now() < deadline && matches!(KeeperLock::holder(dir), Ok(Some(_))) {
        sleep(Duration::from_millis(20)).await;
    }
}

fn look_at(runtime: &Runtime, dir: &RunDir, run: &RunId, look: Look) -> Result<Seen, Failure> {
    let socket = dir.socket().unwrap_or_else(|| keeper::socket_of(run));
    let link = KeeperLink::new(dir.clone(), socket, look.read_only);
    shown(runtime, link, look)
}

/// Shows what comes over `link`, by screens or by lines.
pub fn shown(runtime: &Runtime, link: impl Link, look: Look) -> Result<Seen, Failure> {
    if look.plain {
        let options = PlainOptions {
            lang: look.lang,
            now,
            owns: look.owns,
            coach: look.coach,
        };
        return match runtime.block_on(plain::run(link, io::stdout(), options))? {
            PlainEnd::Ended { outcome, .. } => Ok(Seen::Over(outcome)),
            // There is no key here.
            PlainEnd::Left => Ok(Seen::TornAway),
            PlainEnd::Lost(why) => Err(lost(&why, look.lang)),
        };
    }
    let options = Options {
        lang: look.lang,
        colour: if look.coloured {
            Colour::Ansi16
        } else {
            Colour::None
        },
        read_only: look.read_only,
        coach: look.coach,
        now,
        zone: TimeZone::system(),
    };
    match runtime.block_on(console::run(link, options)) {
        Ok(End::Ended(outcome)) => Ok(Seen::Over(outcome)),
        Ok(End::Left) => Ok(Seen::Left),
        Ok(End::TornAway) => Ok(Seen::TornAway),
        Ok(End::Lost(why)) => Err(lost(&why, look.lang)),
        Err(error) => {
            say::err(format_args!("allclear: the terminal cannot be used: {error}"));
            Ok(Seen::TornAway)
        }
    }
}

fn lost(why: &Said, lang: Lang) -> Failure {
    Failure::Lost(why.get(lang).to_owned())
}

/// The exit code of what was seen, with a word about where the run goes on. Undecided rows are forgiven if that was asked.
pub fn code(seen: &Seen, run: &RunId, look: Look, allow_undecided: bool) -> Exit {
    match seen {
        Seen::Over(outcome) if outcome.exit == Exit::Undecided && allow_undecided => Exit::Held,
        Seen::Over(outcome) => outcome.exit,
        // Whoever owns a run and leaves before its end cannot say that all is well.
        Seen::Left | Seen::TornAway if look.owns => {
            is_not_over(run);
            Exit::Remains
        }
        Seen::Left | Seen::TornAway => {
            say::err(format_args!(
                "run {run} goes on: `allclear attach {run}` looks at it, `allclear recover {run}` ends it"
            ));
            match seen {
                Seen::Left => Exit::Held,
                // Nobody has said that what was seen is enough.
                _ => Exit::Undecided,
            }
        }
    }
}

/// Says so, and where it is looked at.
pub fn is_not_over(run: &RunId) {
    say::err(format_args!(
        "run {run} is not over: `allclear attach {run}` looks at it"
    ));
}
