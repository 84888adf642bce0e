//! The wire as the console sees it: one keeper, and the next one if that dies.

use std::{path::PathBuf, pin::Pin};

use tokio::time::{Instant, sleep};

use super::identity::who;
use crate::{
    console::{Ask, Incoming, Link},
    journal::{self, RunDir},
    keeper::{NEXT_KEEPER, TRY_AGAIN},
    model::{
        event::Body,
        said::{Said, said},
        time::Span,
    },
    view::RunView,
    wire::{Attach, Client, FromKeeper, ToKeeper, WireError},
};

/// A connection that is being made.
type Connecting = Pin<Box<dyn Future<Output = Result<Client<RunView>, WireError>> + Send>>;

/// A console's way to the keepers of one run.
pub struct KeeperLink {
    dir: RunDir,
    socket: PathBuf,
    attach: Attach,
    client: Option<Client<RunView>>,
    /// Kept while a console looks at its clock: begun anew each second it would never hear that a keeper hangs.
    connecting: Option<Connecting>,
    /// Whether this keeper has told how the run stands.
    shown: bool,
    lost_at: Option<Instant>,
    said_lost: bool,
    /// Whether a keeper has said how the run ended.
    told: bool,
    over: bool,
}

impl KeeperLink {
    /// A link to the run in `dir`, whose keepers listen at `socket`.
    pub fn new(dir: RunDir, socket: PathBuf, read_only: bool) -> Self {
        let attach = Attach {
            read_only,
            who: who(),
        };
        Self {
            dir,
            socket,
            attach,
            client: None,
            connecting: None,
            shown: false,
            lost_at: None,
            said_lost: false,
            told: false,
            over: false,
        }
    }

    /// The connection that is being made, begun if there is none. Whoever has the run now may listen elsewhere.
    fn connecting(&mut self) -> &mut Connecting {
        let Self {
            dir,
            socket,
            attach,
            connecting,
            ..
        } = self;
        connecting.get_or_insert_with(|| {
            *socket = dir.socket().unwrap_or_else(|| socket.clone());
            let (socket, attach) = (socket.clone(), attach.clone());
            Box::pin(async move { Client::connect(&socket, attach).await })
        })
    }

    /// The run as its files tell it, readings included, when no keeper is left to say so.
    fn told_by_files(&self) -> Option<Box<RunView>> {
        let history = journal::without_readings(&self.dir).ok()?;
        journal::facts(&history.events).closed.as_ref()?;
        let mut view = Box::<RunView>::default();
        for event in journal::stream(&self.dir).ok()?.flatten() {
            view.apply(&event);
        }
        Some(view)
    }

    fn lost(&mut self, error: &WireError) -> Option<Incoming> {
        self.client = None;
        self.lost_at.get_or_insert_with(Instant::now);
        if self.said_lost {
            return None;
        }
        self.said_lost = true;
        let how = said!("looking for the next one", "正在寻找继任者");
        Some(Incoming::Lost(how.and(&error.said())))
    }
}

impl Link for KeeperLink {
    async fn next(&mut self) -> Option<Incoming> {
        loop {
            if self.over {
                return None;
            }
            let Some(client) = &mut self.client else {
                self.lost_at.get_or_insert_with(Instant::now);
                let connected = self.connecting().as_mut().await;
                self.connecting = None;
                match connected {
                    Ok(client) => {
                        self.client = Some(client);
                        self.shown = false;
                        self.lost_at = None;
                        self.said_lost = false;
                    }
                    Err(_) if self.told => self.over = true,
                    Err(error) => {
                        // The run may have ended while nobody was connected: its files have the last word.
                        if let Some(view) = self.told_by_files() {
                            self.over = true;
                            return Some(Incoming::State(view));
                        }
                        let since = *self.lost_at.get_or_insert_with(Instant::now);
                        if Span::from(since.elapsed()) > NEXT_KEEPER {
                            self.over = true;
                            let how = said!(
                                "no keeper answers; `allclear recover` puts everything back",
                                "没有守护进程应答；`allclear recover` 恢复一切"
                            );
                            return Some(Incoming::Lost(how.and(&error.said())));
                        }
                        sleep(TRY_AGAIN.into()).await;
                    }
                }
                continue;
            };
            match client.incoming.next().await {
                Ok(FromKeeper::State(view)) => {
                    self.told = view.outcome.is_some();
                    self.shown = true;
                    return Some(Incoming::State(Box::new(view)));
                }
                Ok(FromKeeper::Event(event)) => {
                    self.told |= matches!(event.body, Body::Closed(_));
                    return Some(Incoming::Event(event));
                }
                Ok(FromKeeper::Hello(_)) => {}
                // It can be asked for a recovery all the same.
                Ok(FromKeeper::Refused { why }) if !self.shown => {
                    self.shown = true;
                    return Some(Incoming::Lost(said!(
                        "its state cannot be shown; {why}",
                        "无法显示演练状态；{why}"
                    )));
                }
                Ok(FromKeeper::Refused { why }) => tracing::debug!(%why, "refused"),
                Ok(FromKeeper::Bye { .. }) => self.client = None,
                Err(error) => {
                    if let Some(lost) = self.lost(&error) {
                        return Some(lost);
                    }
                }
            }
        }
    }

    async fn send(&mut self, ask: Ask) -> Result<(), Said> {
        let by = self.attach.who.clone();
        let ask = match ask {
            Ask::Recover => ToKeeper::Recover { by },
            Ask::Interrupt { signal } => ToKeeper::Recover {
                by: format!("{by}, by {signal}"),
            },
            Ask::Extend { by } => ToKeeper::Extend { by },
            Ask::Note(text) => ToKeeper::Note { by, text },
        };
        match &mut self.client {
            Some(client) => client.outgoing.send(&ask).await.map_err(|e| e.said()),
            None => Err(said!(
                "no keeper is connected; one is being looked for",
                "尚未连上守护进程；正在寻找"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        journal::{Journal, StateDir, story},
        model::{secret::Secrets, text::Lang},
    };

    #[tokio::test]
    async fn a_run_that_ended_unwatched_is_told_by_its_files_with_its_readings() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path().join("state")).unwrap();
        let dir = state.create_run(&story::plan(), &Secrets::none()).unwrap();
        let (mut journal, _) = Journal::open(&dir).unwrap();
        let events = story::events();
        for event in &events {
            journal.append(event).unwrap();
        }
        journal.flush();
        let mut link = KeeperLink::new(dir, folder.path().join("nobody"), false);
        let Some(Incoming::State(view)) = link.next().await else {
            panic!("no state");
        };
        assert_eq!(*view, RunView::of(&events), "hits and windows as well");
        assert!(view.faults.iter().any(|f| f.hits.is_some()));
        assert!(link.next().await.is_none(), "and then it is over");
    }

    /// A keeper's socket where nobody answers, and a link to it.
    fn hung() -> (tempfile::TempDir, std::os::unix::net::UnixListener, KeeperLink) {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path().join("state")).unwrap();
        let dir = state.create_run(&story::plan(), &Secrets::none()).unwrap();
        // Nobody else may enter the folder of a socket.
        let socket = state.path().join("hung.sock");
        let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        (folder, listener, KeeperLink::new(dir, socket, false))
    }

    #[tokio::test(start_paused = true)]
    async fn a_keeper_that_hangs_is_told_of_though_the_console_looks_at_its_clock_each_second() {
        let (_folder, _listener, mut link) = hung();
        for _ in 0..60 {
            let tick = std::time::Duration::from_secs(1);
            if let Ok(said) = tokio::time::timeout(tick, link.next()).await {
                let Some(Incoming::Lost(why)) = said else {
                    panic!("{said:?}");
                };
                assert!(why.get(Lang::En).starts_with("no keeper answers;"), "{why:?}");
                return;
            }
        }
        panic!("nothing was said within a minute");
    }

    #[tokio::test]
    async fn a_state_that_cannot_be_sent_is_no_empty_console() {
        use std::io::{BufRead, BufReader, Write};
        let (_folder, listener, mut link) = hung();
        let keeper = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asks = BufReader::new(stream.try_clone().unwrap()).lines();
            asks.next();
            let hello = r#"{"hello":{"version":"0","run":"7f3a01","pid":1}}"#;
            let refused = r#"{"refused":{"why":"too many bytes"}}"#;
            writeln!(stream, "{hello}\n{refused}").unwrap();
            asks.next().unwrap().unwrap()
        });
        let Some(Incoming::Lost(why)) = link.next().await else {
            panic!("nothing was said");
        };
        assert!(why.get(Lang::En).contains("too many bytes"), "{why:?}");
        link.send(Ask::Recover).await.unwrap();
        let heard = keeper.join().unwrap();
        assert!(heard.contains("recover"), "{heard}");
    }
}
