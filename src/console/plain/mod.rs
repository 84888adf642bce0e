//! The plain reporter, for logs and pipes: one line for each event that means something, no escape codes, and the two
//! words that count at the end.

mod lines;
mod outlet;

use std::{
    io::{self, Write},
    time::Duration,
};

use futures::{Stream, StreamExt, stream};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::{Instant, MissedTickBehavior, interval, sleep_until, timeout},
};

pub use self::lines::Plain;
use self::outlet::Outlet;
use super::{Ask, Incoming, Link};
use crate::model::{
    event::Outcome,
    said::{Said, said},
    text::Lang,
    time::Moment,
};

/// How often a line says how far the run is.
const PROGRESS: Duration = Duration::from_secs(10);
/// The longest wait for the keeper to take a message, and to act on it.
const ANSWER: Duration = Duration::from_secs(3);
/// The longest command that is shown.
const MAX_COMMAND: usize = 2_000;

/// How the plain reporter reports.
#[derive(Debug, Clone, Copy)]
pub struct PlainOptions {
    /// The language. Verdicts and the last two words stay English, for tools.
    pub lang: Lang,
    /// The clock that counts suspend, the keeper's own.
    pub now: fn() -> Moment,
    /// Whether the run is this console's own: then a signal means recover. Otherwise it means leave.
    pub owns: bool,
    /// One more line at each phase says what is happening.
    pub coach: bool,
}

/// How plain reporting has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlainEnd {
    /// The run is over.
    Ended {
        /// How.
        outcome: Outcome,
        /// Whether a signal to this console ended it.
        interrupted: bool,
    },
    /// The console was left, by a signal or by whoever read it; the run goes on, or goes on recovering.
    Left,
    /// The keeper went away for good without an outcome, and why.
    Lost(Said),
}

/// Reports the run to `out` until it is over. SIGINT, SIGTERM and SIGHUP mean recover if the run is this console's own,
/// a second one leaves; otherwise they leave. If nobody reads `out` any more, a console that owns its run goes on
/// without it, so that a signal still recovers. If somebody has it and does not read, lines are left out, and a signal is
/// heard all the same.
///
/// # Errors
/// If signals cannot be listened to.
pub async fn run<L, W>(link: L, out: W, options: PlainOptions) -> io::Result<PlainEnd>
where
    L: Link,
    W: Write + Send + 'static,
{
    let listen = |kind: SignalKind, name: &'static str| -> io::Result<_> {
        let listener = signal(kind)?;
        Ok(stream::unfold(listener, move |mut listener| async move {
            listener.recv().await.map(|()| (name, listener))
        })
        .boxed())
    };
    let signals = stream::select_all([
        listen(SignalKind::interrupt(), "SIGINT")?,
        listen(SignalKind::terminate(), "SIGTERM")?,
        listen(SignalKind::hangup(), "SIGHUP")?,
    ]);
    Ok(report(link, out, options, signals).await)
}

/// The loop itself, over any signals.
pub async fn report<L, W, S>(link: L, out: W, options: PlainOptions, signals: S) -> PlainEnd
where
    L: Link,
    W: Write + Send + 'static,
    S: Stream<Item = &'static str> + Unpin,
{
    let mut plain = Plain::new(Outlet::open(out, options.lang), options);
    let end = follow(link, &mut plain, options, signals).await;
    plain.into_inner().close().await;
    end
}

async fn follow<L, S>(
    mut link: L,
    plain: &mut Plain<Outlet>,
    options: PlainOptions,
    mut signals: S,
) -> PlainEnd
where
    L: Link,
    S: Stream<Item = &'static str> + Unpin,
{
    let mut tick = interval(PROGRESS);
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    tick.reset();
    let mut interrupted = false;
    let mut answer_due: Option<Instant> = None;
    let mut lost = None;
    let mut readable = true;
    loop {
        let due = answer_due.unwrap_or_else(Instant::now);
        let written = tokio::select! {
            biased;
            Some(name) = signals.next() => {
                if !options.owns || interrupted {
                    return PlainEnd::Left;
                }
                interrupted = true;
                answer_due = Some(Instant::now() + ANSWER);
                let asked = timeout(ANSWER, link.send(Ask::Interrupt { signal: name })).await;
                let what = plain.t("recovering; a second signal leaves", "开始恢复; 再次收到信号则离开");
                match asked {
                    Ok(Ok(())) => plain.say(&format!("{name}: {what}")),
                    Ok(Err(why)) => plain.say(&format!("{name}: {}", why.get(options.lang))),
                    Err(_) => Ok(()),
                }
            }
            () = sleep_until(due), if answer_due.is_some() => {
                answer_due = None;
                plain.unanswered()
            }
            incoming = link.next() => match incoming {
                None => {
                    let closed = || said!("the keeper closed the connection", "守护进程关闭了连接");
                    return PlainEnd::Lost(lost.unwrap_or_else(closed));
                }
                Some(incoming) => {
                    lost = match &incoming {
                        Incoming::Lost(why) => Some(why.clone()),
                        Incoming::State(_) => None,
                        Incoming::Event(_) => lost,
                    };
                    plain.receive(incoming)
                }
            },
            _ = tick.tick() => match plain.out().is_behind() {
                true => {
                    plain.out().leave_out();
                    Ok(())
                }
                false => plain.progress(),
            },
            () = plain.out().broken(), if readable => Err(io::ErrorKind::BrokenPipe.into()),
        };
        let written = written.and_then(|()| plain.out().flush());
        if let Some(outcome) = plain.view().outcome.clone() {
            return PlainEnd::Ended { outcome, interrupted };
        }
        if plain.view().recovering.is_some() {
            answer_due = None;
        }
        if written.is_err() && readable {
            if !options.owns {
                return PlainEnd::Left;
            }
            readable = false;
        }
    }
}
