//! `replay`: a run or a bundle, played back as it was seen.

use std::{path::Path, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::{
    context::Context,
    error::Failure,
    options::{Common, Replay},
    watch::{self, Look, Seen},
};
use crate::{
    console::{Ask, Incoming, Link},
    journal::{self, RunDir},
    model::{
        event::Event,
        exit::Exit,
        said::{Said, said},
        time::Moment,
    },
    report::OpenBundle,
};

pub fn replay(common: &Common, args: &Replay) -> Result<Exit, Failure> {
    if !(args.speed > 0.0 && args.speed.is_finite()) {
        return Err(Failure::usage(
            "--speed takes a number above 0: 20 is twenty times as fast",
        ));
    }
    let context = Context::open(common)?;
    let dir = record(&context, &args.run)?;
    let history = journal::read(dir.dir())?;
    let look = Look {
        read_only: true,
        ..Look::new(&context, common, args.looking.plain)
    };
    let link = Recording::new(history.events, args.speed);
    match watch::shown(&super::runtime()?, link, look) {
        // Whoever reads it has gone before its end, or its last lines could not be written.
        Ok(Seen::TornAway) => Ok(Exit::Undecided),
        // A record may end in mid-run: it was played to its end all the same.
        Ok(Seen::Over(_) | Seen::Left) | Err(Failure::Lost(_)) => Ok(Exit::Held),
        Err(failure) => Err(failure),
    }
}

/// A run's record: in the state directory, or in a bundle that is open for as long as it is looked at.
pub enum Record {
    /// A run of this machine.
    Kept(RunDir),
    /// A bundle.
    Bundle(OpenBundle),
}

impl Record {
    /// The directory.
    pub fn dir(&self) -> &RunDir {
        match self {
            Record::Kept(dir) => dir,
            Record::Bundle(bundle) => bundle.run(),
        }
    }
}

/// Finds a record by run id, or by the path of a bundle.
pub fn record(context: &Context, asked: &str) -> Result<Record, Failure> {
    let path = Path::new(asked);
    if path.exists() {
        return Ok(Record::Bundle(OpenBundle::open(path).map_err(Failure::usage)?));
    }
    let (_, dir) = context.state()?.find(asked)?;
    Ok(Record::Kept(dir))
}

/// A link that plays events back in their own time, from now on.
struct Recording {
    events: std::vec::IntoIter<Event>,
    speed: f64,
    began: Instant,
    first: Option<Moment>,
    shift: u64,
    waiting: Option<Event>,
    opened: bool,
}

impl Recording {
    fn new(events: Vec<Event>, speed: f64) -> Self {
        let first = events.first().map(|e| e.at);
        Self {
            events: events.into_iter(),
            speed,
            began: Instant::now(),
            first,
            shift: watch::now().0,
            waiting: None,
            opened: false,
        }
    }

    /// The event, as if it happened now: moments are those of another time, perhaps of another machine.
    fn due(&self, event: &Event) -> Duration {
        let passed = event.at.since(self.first.unwrap_or(event.at));
        Duration::from_secs_f64(passed.as_seconds() / self.speed)
    }
}

impl Link for Recording {
    async fn next(&mut self) -> Option<Incoming> {
        if !self.opened {
            self.opened = true;
            return Some(Incoming::State(Box::default()));
        }
        if self.waiting.is_none() {
            self.waiting = self.events.next();
        }
        let due = self.due(self.waiting.as_ref()?);
        sleep_until(self.began + due).await;
        let mut event = self.waiting.take()?;
        event.at = Moment(self.shift + due.as_millis() as u64);
        Some(Incoming::Event(Box::new(event)))
    }

    async fn send(&mut self, _: Ask) -> Result<(), Said> {
        Err(said!(
            "this is a replay: nothing can be asked of it",
            "这是回放：无法向它请求任何事"
        ))
    }
}
