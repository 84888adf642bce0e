//! The loop of the TUI: input first, then signals, then the keeper; a frame only when something has changed.

use std::{future::Future, io, time::Duration};

use crossterm::event::{Event as Input, EventStream};
use futures::{Stream, StreamExt};
use ratatui::{Terminal, backend::Backend};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::{Instant, MissedTickBehavior, interval, sleep_until, timeout},
};

use super::{App, Ask, Effect, End, Incoming, Link, Options, terminal::Screen};
use crate::{model::said::said, view::RunView};

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_millis(50);
/// How often clocks and ages move on.
const TICK: Duration = Duration::from_secs(1);
/// The longest wait for the keeper to take a message.
const SEND: Duration = Duration::from_secs(1);

/// Shows the run on the terminal until the person leaves. SIGTERM, SIGHUP and SIGINT leave too: a TUI only looks. The
/// terminal is given back on every way out, a panic among them.
///
/// # Errors
/// If the terminal cannot be taken, read or written.
pub async fn run<L: Link>(link: L, options: Options) -> io::Result<End> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let signals = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = hang_up.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    let mut screen = Screen::take()?;
    let app = App::new(RunView::default(), options);
    drive(&mut screen.terminal, EventStream::new(), signals, link, app).await
}

/// The loop itself, over any terminal, input, signals and link.
///
/// # Errors
/// If the terminal cannot be written or its input cannot be read.
pub async fn drive<B, I, S, L>(
    terminal: &mut Terminal<B>,
    mut input: I,
    signals: S,
    mut link: L,
    mut app: App,
) -> io::Result<End>
where
    B: Backend,
    B::Error: Send + Sync + 'static,
    I: Stream<Item = io::Result<Input>> + Unpin,
    S: Future<Output = ()>,
    L: Link,
{
    tokio::pin!(signals);
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut due = Some(Instant::now());
    let mut open = true;
    loop {
        if due.is_some_and(|at| at <= Instant::now()) {
            draw(terminal, &mut app)?;
            due = None;
        }
        let soon = Instant::now() + FRAME;
        let at = due.unwrap_or(soon);
        let changed = tokio::select! {
            biased;
            key = input.next() => match key {
                Some(key) => match effect(&mut app, &key?) {
                    Some(Effect::Leave) => return Ok(end(&app, End::Left)),
                    Some(Effect::Ask(ask)) => {
                        ask_keeper(&mut link, &mut app, ask).await;
                        true
                    }
                    None => true,
                },
                None => return Ok(end(&app, End::TornAway)),
            },
            () = &mut signals => return Ok(end(&app, End::TornAway)),
            () = sleep_until(at), if due.is_some() => continue,
            incoming = link.next(), if open => {
                open = incoming.is_some();
                match incoming {
                    Some(incoming) => app.receive(incoming),
                    // Why it went away is worth more than that it did.
                    None if app.lost().is_some() => {}
                    None => app.receive(Incoming::Lost(said!("gone", "已离开"))),
                }
                true
            }
            _ = tick.tick() => true,
        };
        if changed {
            due = due.or(Some(soon));
        }
    }
}

fn effect(app: &mut App, input: &Input) -> Option<Effect> {
    let now = (app.options().now)();
    app.input(input, now)
}

async fn ask_keeper<L: Link>(link: &mut L, app: &mut App, ask: Ask) {
    match timeout(SEND, link.send(ask)).await {
        Ok(Ok(())) => {}
        Ok(Err(why)) => app.not_sent(&why),
        Err(_) => app.not_sent(&said!(
            "the keeper did not take it within 1s",
            "守护进程 1s 内未接收"
        )),
    }
}

fn draw<B>(terminal: &mut Terminal<B>, app: &mut App) -> io::Result<()>
where
    B: Backend,
    B::Error: Send + Sync + 'static,
{
    let now = (app.options().now)();
    terminal
        .draw(|frame| app.draw(frame.buffer_mut(), now))
        .map_err(io::Error::other)?;
    Ok(())
}

/// How it ended; `goes_on` if the run does.
fn end(app: &App, goes_on: End) -> End {
    match (&app.view().outcome, app.lost()) {
        (Some(outcome), _) => End::Ended(outcome.clone()),
        (None, Some(why)) => End::Lost(why.clone()),
        (None, None) => goes_on,
    }
}
