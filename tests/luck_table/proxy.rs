//! What stands between allclear and a part: passes everything on, or is the bad luck.

use std::{io, os::fd::AsFd, sync::Arc, time::Duration};

use rustix::net::sockopt::set_socket_linger;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Mutex, watch},
    task::{JoinHandle, JoinSet},
};

pub use crate::nature::{Place, Tls};
use crate::{
    nature::{Nature, Stream, connect},
    part::until,
};

/// What a gateway answers to those who may only read.
const FORBIDDEN: &[u8] =
    b"HTTP/1.1 403 Forbidden\r\nContent-Length: 11\r\nConnection: close\r\n\r\nnot for you";
/// How long a slow answer takes.
const STALL: Duration = Duration::from_secs(30);

/// How it behaves now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Well,
    /// The port is closed.
    Down,
    /// Nothing passes until it is let go again.
    Held,
    /// Requests pass; answers wait.
    Slow,
    /// Requests pass; the connection is reset after half an answer.
    Cut,
    /// HTTP: reads pass; whatever would change something is forbidden.
    Forbids,
    /// The part is not asked: this is the answer to whatever comes.
    Says(&'static [u8]),
}

/// A port on loopback that leads to a part.
pub struct Proxy {
    port: u16,
    way: watch::Sender<Way>,
    place: Arc<Mutex<Place>>,
    task: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Proxy {
    pub fn to(port: u16, place: Place) -> Self {
        Self::of(Nature::default(), port, place)
    }

    pub fn over_tls(tls: Tls, port: u16, place: Place) -> Self {
        let tls = Some(tls);
        Self::of(
            Nature {
                tls,
                ..Nature::default()
            },
            port,
            place,
        )
    }

    /// Whoever asks here for a place is told of its proxy.
    pub fn that_tells_of(other: &Proxy, instead_of: u16, port: u16, place: Place) -> Self {
        let part = format!("127.0.0.1:{instead_of}");
        assert_eq!(part.len(), other.address().len());
        let exchanges = Some((part, other.address()));
        Self::of(
            Nature {
                exchanges,
                ..Nature::default()
            },
            port,
            place,
        )
    }

    fn of(nature: Nature, port: u16, place: Place) -> Self {
        let (way, ways) = watch::channel(Way::Well);
        let place = Arc::new(Mutex::new(place));
        let task = tokio::spawn(listen(nature, port, ways, place.clone()));
        Self {
            port,
            way,
            place,
            task,
        }
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn turn(&self, way: Way) {
        self.way.send_replace(way);
    }

    /// Until whoever comes is let in again.
    pub async fn is_open(&self) {
        let open = async || TcpStream::connect(("127.0.0.1", self.port)).await.is_ok();
        until("the port is open", open).await.expect("a proxy");
    }

    /// Whoever is connected is cut off, and comes there from now on.
    pub async fn moves_to(&self, place: Place) {
        self.turn(Way::Down);
        let closed = async || TcpStream::connect(("127.0.0.1", self.port)).await.is_err();
        until("the port is closed", closed).await.expect("a proxy");
        self.lead_to(place).await;
        self.turn(Way::Well);
    }

    /// New connections lead there.
    pub async fn lead_to(&self, place: Place) {
        *self.place.lock().await = place;
    }
}

async fn listen(nature: Nature, port: u16, mut way: watch::Receiver<Way>, place: Arc<Mutex<Place>>) {
    loop {
        is(&mut way, |w| w != Way::Down).await;
        let Ok(listener) = TcpListener::bind(("127.0.0.1", port)).await else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let mut open = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                () = is(&mut way, |w| w == Way::Down) => break,
                accepted = listener.accept() => {
                    if let Ok((client, _)) = accepted {
                        open.spawn(talk(client, nature.clone(), way.clone(), place.clone()));
                    }
                }
            }
        }
    }
}

async fn is(way: &mut watch::Receiver<Way>, wanted: impl Fn(Way) -> bool) {
    if way.wait_for(|w| wanted(*w)).await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn would_change_something(request: &[u8]) -> bool {
    let methods: [&[u8]; 3] = [b"PUT ", b"POST ", b"DELETE "];
    methods.iter().any(|method| request.starts_with(method))
}

/// One connection.
async fn talk(client: TcpStream, nature: Nature, mut way: watch::Receiver<Way>, place: Arc<Mutex<Place>>) {
    let Ok(socket) = client.as_fd().try_clone_to_owned() else {
        return;
    };
    let ended = converse(client, &nature, &mut way, place).await;
    if ended.is_err_and(|e| e.kind() == io::ErrorKind::ConnectionReset) {
        // A reset instead of an orderly end.
        let _ = set_socket_linger(&socket, Some(Duration::ZERO));
    }
}

async fn converse(
    client: TcpStream,
    nature: &Nature,
    way: &mut watch::Receiver<Way>,
    place: Arc<Mutex<Place>>,
) -> io::Result<()> {
    is(way, |w| w != Way::Held).await;
    let mut client: Box<dyn Stream> = match &nature.tls {
        None => Box::new(client),
        Some(tls) => Box::new(tls.accepts.accept(client).await?),
    };
    let now = *way.borrow();
    if let Way::Says(answer) = now {
        let mut asked = [0; 4096];
        if client.read(&mut asked).await? > 0 {
            client.write_all(answer).await?;
            client.shutdown().await?;
            // What still comes is read, so that the end is an orderly one.
            while client.read(&mut asked).await? > 0 {}
        }
        return Ok(());
    }
    let to = place.lock().await.clone();
    let part = connect(to, nature.tls.as_ref()).await;
    let part = part.map_err(|_| io::ErrorKind::ConnectionReset)?;
    let (mut from_client, to_client) = tokio::io::split(client);
    let to_client = Mutex::new(to_client);
    let (mut from_part, mut to_part) = tokio::io::split(part);
    let (mut asking, mut answering) = (way.clone(), way.clone());
    let asks = async {
        let mut chunk = vec![0; 64 * 1024];
        loop {
            let n = from_client.read(&mut chunk).await?;
            if n == 0 {
                return to_part.shutdown().await;
            }
            is(&mut asking, |w| w != Way::Held).await;
            let now = *asking.borrow();
            if matches!(now, Way::Says(_) | Way::Down) {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            if now == Way::Forbids && would_change_something(&chunk[..n]) {
                let mut to_client = to_client.lock().await;
                to_client.write_all(FORBIDDEN).await?;
                to_client.flush().await?;
                // Its body may still be on its way: unread it would make a reset of the end.
                let _ = tokio::time::timeout(Duration::from_millis(50), from_client.read(&mut chunk)).await;
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            to_part.write_all(&chunk[..n]).await?;
            to_part.flush().await?;
        }
    };
    let answers = async {
        let mut chunk = vec![0; 64 * 1024];
        loop {
            let n = from_part.read(&mut chunk).await?;
            if n == 0 {
                return to_client.lock().await.shutdown().await;
            }
            nature.told(&mut chunk[..n]);
            is(&mut answering, |w| w != Way::Held).await;
            let now = *answering.borrow();
            match now {
                Way::Slow => tokio::time::sleep(STALL).await,
                Way::Cut => {
                    let mut to_client = to_client.lock().await;
                    to_client.write_all(&chunk[..n / 2]).await?;
                    to_client.flush().await?;
                    return Err(io::ErrorKind::ConnectionReset.into());
                }
                Way::Says(_) | Way::Down => return Err(io::ErrorKind::ConnectionReset.into()),
                Way::Well | Way::Held | Way::Forbids => {}
            }
            let mut to_client = to_client.lock().await;
            to_client.write_all(&chunk[..n]).await?;
            to_client.flush().await?;
        }
    };
    tokio::select! {
        both = async { tokio::try_join!(asks, answers) } => both.map(drop),
        () = is(way, |w| w == Way::Down) => Err(io::ErrorKind::ConnectionReset.into()),
    }
}
