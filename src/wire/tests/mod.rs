//! The wire over real sockets.

mod consoles;
mod overload;
mod place;
mod words;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
};

use super::*;
use crate::{journal::story, model::event::Body};

impl Shorten for String {
    fn shorten(&mut self) -> bool {
        false
    }
}

impl Shorten for () {
    fn shorten(&mut self) -> bool {
        false
    }
}

/// A keeper without a run: its state is the number of the last event, as text.
struct Keeper {
    _temp: TempDir,
    path: PathBuf,
    hub: Hub,
    seq: Arc<AtomicU64>,
    server: Server,
    asks: Asks,
}

fn hello() -> Hello {
    Hello {
        version: "0.1.0".to_owned(),
        run: story::run(),
        pid: 4242,
    }
}

async fn keeper() -> Keeper {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("sockets/7f3a01.sock");
    let hub = Hub::default();
    let seq = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&seq);
    let state = move || {
        let seq = seen.load(Ordering::SeqCst);
        StateAt {
            seq,
            state: format!("as of {seq}"),
        }
    };
    let (server, asks) = Server::bind(&path, hello(), hub.clone(), state).await.unwrap();
    Keeper {
        _temp: temp,
        path,
        hub,
        seq,
        server,
        asks,
    }
}

impl Keeper {
    fn publish(&self, text: &str) {
        let seq = self.seq.fetch_add(1, Ordering::SeqCst) + 1;
        self.hub.publish(&story::at(seq, 0, Body::Warning(text.into())));
    }

    async fn attach(&self, read_only: bool) -> Client<String> {
        let who = "commander".to_owned();
        Client::connect(&self.path, Attach { read_only, who })
            .await
            .unwrap()
    }

    async fn raw(&self, bytes: &[u8]) -> BufReader<UnixStream> {
        let mut stream = UnixStream::connect(&self.path).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        BufReader::new(stream)
    }

    async fn asked(&mut self) -> Asked {
        soon(self.asks.next()).await.unwrap()
    }
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what)
        .await
        .expect("it should have come by now")
}

async fn line(stream: &mut BufReader<UnixStream>) -> String {
    let mut line = String::new();
    soon(stream.read_line(&mut line)).await.unwrap();
    line
}

async fn next(client: &mut Client<String>) -> FromKeeper<String> {
    soon(client.incoming.next()).await.unwrap()
}

fn seq_of(said: FromKeeper<String>) -> u64 {
    match said {
        FromKeeper::Event(event) => event.seq,
        other => panic!("{other:?}"),
    }
}
