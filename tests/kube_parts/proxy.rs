//! What stands between allclear and the API server, and can go wrong.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// Bytes are passed on.
pub const PASSES: u8 = 0;
/// Connections are accepted, and nothing ever comes back.
pub const STALLS: u8 = 1;
/// Connections are cut as soon as something is sent.
pub const CUTS: u8 = 2;
/// What is sent is kept, whoever hangs up meanwhile, and passed on only once it is let go.
pub const HOLDS: u8 = 3;

/// A TLS record shorter than this is no part of a request: it says goodbye.
const FAREWELL: usize = 32;

/// A TCP proxy.
pub struct Proxy {
    pub address: String,
    pub state: Arc<State>,
}

#[derive(Default)]
pub struct State {
    mode: AtomicU8,
    lets_go: AtomicBool,
    /// Connections with something that is kept.
    held: AtomicU32,
}

impl State {
    pub fn is(&self, mode: u8) {
        self.mode.store(mode, Relaxed);
    }

    fn mode(&self) -> u8 {
        self.mode.load(Relaxed)
    }
}

impl Proxy {
    pub async fn to(port: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::new(State::default());
        let now = state.clone();
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(pass(connection, port, now.clone()));
            }
        });
        Proxy { address, state }
    }

    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    pub fn is(&self, mode: u8) {
        self.state.is(mode);
    }

    /// Passes on what is kept, and waits until the server has answered it.
    pub async fn lets_go(&self) {
        self.state.lets_go.store(true, Relaxed);
        while self.state.held.load(Relaxed) > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.state.lets_go.store(false, Relaxed);
    }
}

/// Keeps what was sent until it is let go, and passes it on as if its sender were still there.
async fn hold(mut near: TcpStream, mut far: TcpStream, mut kept: Vec<u8>, state: &State) {
    let mut more = vec![0; 65_536];
    let mut is_open = true;
    while !state.lets_go.load(Relaxed) {
        tokio::select! {
            n = near.read(&mut more), if is_open => match n {
                Ok(n) if n > 0 => kept.extend(&more[..n]),
                _ => is_open = false,
            },
            () = tokio::time::sleep(Duration::from_millis(20)) => {}
        }
    }
    if far.write_all(&without_farewell(&kept)).await.is_ok() {
        // Its answer goes nowhere.
        let _ = tokio::time::timeout(Duration::from_secs(10), far.read(&mut more)).await;
    }
}

/// The TLS records without what says that the sender leaves: a server gives up what nobody waits for.
fn without_farewell(mut bytes: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    while bytes.len() >= 5 {
        let length = usize::from(u16::from_be_bytes([bytes[3], bytes[4]]));
        let (record, rest) = bytes.split_at((5 + length).min(bytes.len()));
        if length >= FAREWELL {
            kept.extend_from_slice(record);
        }
        bytes = rest;
    }
    kept
}

async fn pass(mut near: TcpStream, port: u16, state: Arc<State>) {
    let Ok(mut far) = TcpStream::connect(("127.0.0.1", port)).await else {
        return;
    };
    let (mut there, mut back) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        let passed = tokio::select! {
            n = near.read(&mut there) => match n {
                Ok(n) if n > 0 => match state.mode() {
                    CUTS => return,
                    STALLS => { tokio::time::sleep(Duration::from_secs(30)).await; return }
                    HOLDS => {
                        state.held.fetch_add(1, Relaxed);
                        hold(near, far, there[..n].to_vec(), &state).await;
                        state.held.fetch_sub(1, Relaxed);
                        return;
                    }
                    _ => far.write_all(&there[..n]).await,
                },
                _ => return,
            },
            n = far.read(&mut back) => match n {
                Ok(n) if n > 0 => match state.mode() {
                    CUTS => return,
                    STALLS => { tokio::time::sleep(Duration::from_secs(30)).await; return }
                    _ => near.write_all(&back[..n]).await,
                },
                _ => return,
            },
        };
        if passed.is_err() {
            return;
        }
    }
}

/// A server that answers everything with a page.
pub async fn page() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut asked = [0; 8192];
                while let Ok(n) = connection.read(&mut asked).await {
                    let body = "<html><body>Sign in</body></html>";
                    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length";
                    let answer = format!("{head}: {}\r\n\r\n{body}", body.len());
                    if n == 0 || connection.write_all(answer.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    format!("http://{address}")
}
