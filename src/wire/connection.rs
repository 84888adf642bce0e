//! One connection, from the keeper's side. Reading and writing go on apart, so that a console that does not read can
//! still say STOP.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use serde::Serialize;
use tokio::{
    io::AsyncWriteExt,
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{
        broadcast::{Receiver, error::RecvError},
        mpsc,
    },
};
use tokio_util::codec::FramedRead;

use super::{
    asks::Peer,
    frames::Lines,
    hub::{Published, Seat},
    message::{MAX_ASK, OVER, SNAPSHOT, STOP, STOPPING, Said, Shorten, ToKeeper, fitting, goodbye, refusal},
    server::{GOODBYE, Shared},
};
use crate::model::text::harmless;

/// Answers that wait for a console to read them; more are dropped.
const ANSWERS: usize = 16;

/// How long a connection may stay that says nothing and has not attached.
const SILENT: Duration = Duration::from_secs(30);

const LONGEST_NAME: usize = 64;
const LONGEST_NOTE: usize = 2_000;

/// What the reading half tells the writing half.
enum Answer {
    Line(String),
    State,
    Attach,
}

pub(super) async fn serve<S: Serialize + Shorten + Send + 'static>(
    stream: UnixStream,
    peer: Peer,
    shared: Arc<Shared<S>>,
) {
    let (read, write) = stream.into_split();
    let (answers, answers_end) = mpsc::channel(ANSWERS);
    let mut reader = Reader {
        shared: Arc::clone(&shared),
        peer,
        answers,
        attached: None,
    };
    let reading = async move {
        reader.read(read).await;
        // Dropped here, so that the writer knows that no more answers come.
        drop(reader);
    };
    tokio::join!(reading, Writer { shared, write }.write(answers_end));
}

struct Reader<S> {
    shared: Arc<Shared<S>>,
    peer: Peer,
    answers: mpsc::Sender<Answer>,
    attached: Option<Attached>,
}

struct Attached {
    read_only: bool,
    who: String,
}

impl<S: Serialize> Reader<S> {
    async fn read(&mut self, read: OwnedReadHalf) {
        let mut lines = FramedRead::new(read, Lines::new(MAX_ASK));
        loop {
            let silence = async {
                match self.attached {
                    Some(_) => std::future::pending().await,
                    None => tokio::time::sleep(SILENT).await,
                }
            };
            // What has come is read first: a RECOVER counts though its console has gone by now.
            let line = tokio::select! {
                biased;
                line = lines.next() => line,
                () = self.answers.closed() => return,
                () = silence => return,
            };
            match line {
                Some(Ok(line)) => self.take(&line),
                Some(Err(e)) => return self.refuse(&e.to_string()),
                None => return,
            }
        }
    }

    fn take(&mut self, line: &str) {
        match line.trim() {
            "" => {}
            STOP => {
                let told = self.shared.asker.recover(self.name(), self.peer.clone());
                let answer = if told { STOPPING } else { OVER };
                self.answer(Answer::Line(format!("{answer}\n")));
            }
            SNAPSHOT => self.answer(Answer::State),
            json => match serde_json::from_str(json) {
                Ok(ask) => self.ask(ask),
                Err(e) => self.refuse(&format!("this keeper does not understand that: {e}")),
            },
        }
    }

    fn ask(&mut self, ask: ToKeeper) {
        let ask = match ask {
            ToKeeper::Attach(attach) => return self.attach(attach.read_only, &attach.who),
            _ if self.attached.as_ref().is_some_and(|a| a.read_only) => {
                return self.refuse("this console was started with --read-only");
            }
            ToKeeper::Recover { by } => {
                let by = harmless(&by, LONGEST_NAME);
                if !self.shared.asker.recover(by, self.peer.clone()) {
                    self.refuse("the run is over");
                }
                return;
            }
            ToKeeper::Note { by, text } => ToKeeper::Note {
                by: harmless(&by, LONGEST_NAME),
                text: harmless(&text, LONGEST_NOTE),
            },
            ToKeeper::Extend { by } => ToKeeper::Extend { by },
        };
        if let Err(why) = self.shared.asker.ask(ask, self.peer.clone()) {
            self.refuse(why);
        }
    }

    fn attach(&mut self, read_only: bool, who: &str) {
        if self.attached.is_some() {
            return self.refuse("attached already");
        }
        self.attached = Some(Attached {
            read_only,
            who: harmless(who, LONGEST_NAME),
        });
        self.answer(Answer::Attach);
    }

    fn name(&self) -> String {
        match (&self.attached, self.peer.pid) {
            (Some(attached), _) => attached.who.clone(),
            (None, Some(pid)) => format!("uid {} (pid {pid})", self.peer.uid),
            (None, None) => format!("uid {}", self.peer.uid),
        }
    }

    fn refuse(&self, why: &str) {
        self.answer(Answer::Line(refusal(why)));
    }

    /// A console that leaves its answers unread does without them: waiting for it would keep its STOP unread.
    fn answer(&self, answer: Answer) {
        let _ = self.answers.try_send(answer);
    }
}

struct Writer<S> {
    shared: Arc<Shared<S>>,
    write: OwnedWriteHalf,
}

/// What an attached console still has to get.
struct Feed {
    events: Receiver<Arc<Published>>,
    /// The last event in the state that was sent.
    seen: u64,
    _seat: Seat,
}

impl<S: Serialize + Shorten> Writer<S> {
    /// Ends when the reading half has gone, the other end has, or the server closes.
    async fn write(mut self, mut answers: mpsc::Receiver<Answer>) {
        let closing = self.shared.closing.clone();
        let mut feed: Option<Feed> = None;
        loop {
            let event = async {
                match &mut feed {
                    Some(feed) => feed.events.recv().await,
                    None => std::future::pending().await,
                }
            };
            let written = tokio::select! {
                biased;
                answer = answers.recv() => match answer {
                    Some(Answer::Line(line)) => self.send(&line).await,
                    Some(Answer::State) => self.send_bare_state().await,
                    Some(Answer::Attach) => self.greet(&mut feed).await,
                    None => return,
                },
                event = event => match (event, &mut feed) {
                    (Ok(event), Some(feed)) if event.seq > feed.seen => self.send(&event.line).await,
                    (Err(RecvError::Lagged(missed)), Some(feed)) => {
                        self.shared.hub.count_dropped(missed);
                        self.catch_up(feed).await
                    }
                    (Err(RecvError::Closed), _) => return,
                    _ => Ok(()),
                },
                () = closing.cancelled() => {
                    let _ = self.send(&goodbye("the keeper leaves")).await;
                    return;
                }
            };
            if written.is_err() {
                return;
            }
        }
    }

    async fn greet(&mut self, feed: &mut Option<Feed>) -> std::io::Result<()> {
        let hello = Said::<()>::Hello(&self.shared.hello).line();
        self.send(&hello).await?;
        let feed = feed.insert(Feed {
            events: self.shared.hub.subscribe(),
            seen: 0,
            _seat: self.shared.hub.seat(),
        });
        self.catch_up(feed).await
    }

    /// Listens afresh before the state is taken, so that no event falls between the two.
    async fn catch_up(&mut self, feed: &mut Feed) -> std::io::Result<()> {
        feed.events = self.shared.hub.subscribe();
        let (seq, line) = {
            let mut now = (self.shared.state)();
            let line = fitting(&mut now.state, |s| serde_json::to_string(&Said::State(s)));
            (now.seq, line)
        };
        feed.seen = seq;
        self.send(&line).await
    }

    async fn send_bare_state(&mut self) -> std::io::Result<()> {
        let line = fitting(&mut (self.shared.state)().state, serde_json::to_string);
        self.send(&line).await
    }

    async fn send(&mut self, line: &str) -> std::io::Result<()> {
        let patience = async {
            self.shared.closing.cancelled().await;
            tokio::time::sleep(GOODBYE).await;
        };
        tokio::select! {
            written = self.write.write_all(line.as_bytes()) => written,
            () = patience => Err(std::io::ErrorKind::TimedOut.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{
        journal::story,
        wire::{Hub, StateAt, asks::channel, message::Hello},
    };

    #[tokio::test]
    async fn a_stop_that_has_come_is_read_though_nothing_can_be_written_any_more() {
        for _ in 0..64 {
            let (asker, mut asks) = channel();
            let shared = Arc::new(Shared {
                hello: Hello {
                    version: "0".to_owned(),
                    run: story::run(),
                    pid: 1,
                },
                hub: Hub::default(),
                state: Box::new(|| StateAt { seq: 0, state: () }),
                asker,
                closing: CancellationToken::new(),
            });
            let (mut console, keeper) = UnixStream::pair().unwrap();
            let (read, _write) = keeper.into_split();
            console.write_all(b"STOP\n").await.unwrap();
            read.readable().await.unwrap();
            let (answers, writer) = mpsc::channel(ANSWERS);
            drop(writer);
            let mut reader = Reader {
                shared,
                peer: Peer { uid: 0, pid: None },
                answers,
                attached: None,
            };
            reader.read(read).await;
            drop(reader);
            assert!(asks.next().await.is_some(), "the stop was not read");
        }
    }
}
