//! What stands between allclear and the API server, and can go wrong.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering::Relaxed},
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

/// A TCP proxy.
pub struct Proxy {
    pub address: String,
    mode: Arc<AtomicU8>,
}

impl Proxy {
    pub async fn to(port: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let mode = Arc::new(AtomicU8::new(PASSES));
        let now = mode.clone();
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(pass(connection, port, now.clone()));
            }
        });
        Proxy { address, mode }
    }

    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    pub fn is(&self, mode: u8) {
        self.mode.store(mode, Relaxed);
    }
}

async fn pass(mut near: TcpStream, port: u16, mode: Arc<AtomicU8>) {
    let Ok(mut far) = TcpStream::connect(("127.0.0.1", port)).await else {
        return;
    };
    let (mut there, mut back) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        let passed = tokio::select! {
            n = near.read(&mut there) => match n {
                Ok(n) if n > 0 => match mode.load(Relaxed) {
                    CUTS => return,
                    STALLS => { tokio::time::sleep(Duration::from_secs(30)).await; return }
                    _ => far.write_all(&there[..n]).await,
                },
                _ => return,
            },
            n = far.read(&mut back) => match n {
                Ok(n) if n > 0 => match mode.load(Relaxed) {
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
