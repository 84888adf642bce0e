//! The loop of the TUI over a scripted terminal, keyboard and keeper.

use std::{
    io,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use allclear::{
    console::{App, Ask, End, Incoming, Link, Options, buffer_text, drive},
    model::{said::Said, time::Moment},
    view::RunView,
};
use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyModifiers};
use futures::{Stream, StreamExt, stream};
use ratatui::{Terminal, backend::TestBackend};
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use crate::{keys::options, story::Story};

/// A keeper that says what it is told to and answers asks.
struct Scripted {
    says: mpsc::UnboundedReceiver<Incoming>,
    asked: mpsc::UnboundedSender<Ask>,
    hangs: bool,
}

impl Link for Scripted {
    async fn next(&mut self) -> Option<Incoming> {
        self.says.recv().await
    }

    async fn send(&mut self, ask: Ask) -> Result<(), Said> {
        if self.hangs {
            std::future::pending::<()>().await;
        }
        self.asked.send(ask).map_err(|e| Said::as_it_is(e.to_string()))
    }
}

struct Stage {
    say: mpsc::UnboundedSender<Incoming>,
    asks: mpsc::UnboundedReceiver<Ask>,
    link: Scripted,
}

fn stage(story: &Story) -> Stage {
    let (say, says) = mpsc::unbounded_channel();
    let (asked, asks) = mpsc::unbounded_channel();
    say.send(Incoming::State(Box::new(story.view()))).unwrap();
    let link = Scripted {
        says,
        asked,
        hangs: false,
    };
    Stage { say, asks, link }
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> io::Result<Input> {
    Ok(Input::Key(KeyEvent::new(code, modifiers)))
}

fn typed(keys: &str) -> Vec<io::Result<Input>> {
    keys.chars()
        .map(|c| key(KeyCode::Char(c), KeyModifiers::NONE))
        .collect()
}

/// The keys, a second apart, and then silence.
fn slowly(keys: Vec<io::Result<Input>>) -> impl Stream<Item = io::Result<Input>> + Unpin {
    let apart = stream::iter(keys).then(|k| async {
        sleep(Duration::from_secs(1)).await;
        k
    });
    Box::pin(apart.chain(stream::pending()))
}

async fn run(
    link: Scripted,
    keys: impl Stream<Item = io::Result<Input>> + Unpin,
    signals: impl Future<Output = ()>,
) -> (End, String) {
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    let app = App::new(RunView::default(), options());
    let driven = drive(&mut terminal, keys, signals, link, app);
    let end = timeout(Duration::from_secs(600), driven).await.unwrap().unwrap();
    (end, buffer_text(terminal.backend().buffer()))
}

#[tokio::test(start_paused = true)]
async fn one_key_asks_the_keeper_and_q_leaves_while_the_run_goes_on() {
    let mut stage = stage(&Story::running());
    let (end, screen) = run(stage.link, slowly(typed("rq")), std::future::pending()).await;
    assert_eq!(end, End::Left);
    assert_eq!(stage.asks.try_recv(), Ok(Ask::Recover));
    assert!(screen.contains("RECOVER SENT"), "{screen}");
}

#[tokio::test(start_paused = true)]
async fn a_key_is_heard_while_the_keeper_floods_the_console() {
    let mut stage = stage(&Story::running());
    let view = Story::running().view();
    for _ in 0..2_000 {
        stage.say.send(Incoming::State(Box::new(view.clone()))).unwrap();
    }
    let keys = stream::iter(typed("r")).chain(stream::pending());
    let asks = async {
        let first = stage.asks.recv().await;
        assert_eq!(first, Some(Ask::Recover));
        assert!(!stage.say.is_closed());
    };
    run(stage.link, keys.boxed(), asks).await;
}

#[tokio::test(start_paused = true)]
async fn a_keeper_that_hangs_does_not_hang_the_keys() {
    let mut stage = stage(&Story::running());
    stage.link.hangs = true;
    let keys = vec![
        key(KeyCode::Char('c'), KeyModifiers::CONTROL),
        key(KeyCode::Char('c'), KeyModifiers::CONTROL),
    ];
    let (end, screen) = run(stage.link, slowly(keys), std::future::pending()).await;
    assert_eq!(end, End::Left);
    assert!(screen.contains("allclear recover 7f3a21"), "{screen}");
}

#[tokio::test(start_paused = true)]
async fn a_signal_leaves_and_asks_for_nothing() {
    let mut stage = stage(&Story::running());
    let (end, _) = run(stage.link, slowly(vec![]), sleep(Duration::from_secs(5))).await;
    assert_eq!(end, End::TornAway);
    assert!(stage.asks.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_keyboard_that_is_gone_is_nobodys_wish_to_leave() {
    let stage = stage(&Story::running());
    let gone = stream::empty::<io::Result<Input>>();
    let (end, _) = run(stage.link, gone, std::future::pending()).await;
    assert_eq!(end, End::TornAway);
}

#[tokio::test(start_paused = true)]
async fn the_last_screen_stays_until_one_leaves_and_the_end_is_told() {
    let stage = stage(&Story::closed_held());
    drop(stage.say);
    let (end, screen) = run(stage.link, slowly(typed("2134561q")), std::future::pending()).await;
    assert!(matches!(end, End::Ended(outcome) if outcome.all_clear()));
    assert!(screen.contains("HELD   ALL CLEAR"), "{screen}");
    assert!(!screen.contains("NO KEEPER"), "{screen}");
}

#[tokio::test(start_paused = true)]
async fn a_keeper_that_goes_away_in_mid_run_is_not_taken_for_an_end() {
    let stage = stage(&Story::running());
    drop(stage.say);
    let (end, screen) = run(stage.link, slowly(typed("14q")), std::future::pending()).await;
    assert!(matches!(end, End::Lost(_)), "{end:?}");
    assert!(screen.contains("NO KEEPER"), "{screen}");
}

#[tokio::test(start_paused = true)]
async fn why_a_keeper_is_lost_is_still_said_when_no_other_comes() {
    let stage = stage(&Story::running());
    stage
        .say
        .send(Incoming::Lost(Said::as_it_is("no keeper answers; recover it")))
        .unwrap();
    drop(stage.say);
    let (end, screen) = run(stage.link, slowly(typed("14q")), std::future::pending()).await;
    assert_eq!(end, End::Lost(Said::as_it_is("no keeper answers; recover it")));
    assert!(screen.contains("NO KEEPER: no keeper answers"), "{screen}");
    assert!(!screen.contains("answers;"), "the first clause alone: {screen}");
}

#[tokio::test(start_paused = true)]
async fn an_idle_console_draws_once_a_second() {
    static DRAWN: AtomicUsize = AtomicUsize::new(0);
    let stage = stage(&Story::running());
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    let counted = Options {
        now: || {
            DRAWN.fetch_add(1, Ordering::SeqCst);
            Moment(0)
        },
        ..options()
    };
    let app = App::new(RunView::default(), counted);
    let silent = stream::pending();
    drive(
        &mut terminal,
        silent,
        sleep(Duration::from_secs(60)),
        stage.link,
        app,
    )
    .await
    .unwrap();
    let drawn = DRAWN.load(Ordering::SeqCst);
    assert!((55..=65).contains(&drawn), "{drawn} frames in a minute");
}

#[tokio::test(start_paused = true)]
async fn a_busy_console_draws_at_most_twenty_times_a_second() {
    static DRAWN: AtomicUsize = AtomicUsize::new(0);
    let stage = stage(&Story::running());
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    let counted = Options {
        now: || {
            DRAWN.fetch_add(1, Ordering::SeqCst);
            Moment(0)
        },
        ..options()
    };
    let app = App::new(RunView::default(), counted);
    let (say, view) = (stage.say.clone(), Story::running().view());
    let busy = async move {
        for _ in 0..1_000 {
            sleep(Duration::from_millis(10)).await;
            say.send(Incoming::State(Box::new(view.clone()))).unwrap();
        }
    };
    drive(&mut terminal, stream::pending(), busy, stage.link, app)
        .await
        .unwrap();
    let drawn = DRAWN.load(Ordering::SeqCst);
    assert!((100..=205).contains(&drawn), "{drawn} frames in ten seconds");
}
