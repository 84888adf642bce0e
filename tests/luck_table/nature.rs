//! What is behind a proxy, and how that is spoken to.

use std::{io, path::PathBuf};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Where the part is.
#[derive(Debug, Clone)]
pub enum Place {
    Tcp(u16),
    Unix(PathBuf),
}

/// Both ends of its connections are encrypted: what is cut, or said instead, is what the client reads.
#[derive(Clone)]
pub struct Tls {
    pub accepts: TlsAcceptor,
    pub connects: TlsConnector,
}

/// What it does with all that passes.
#[derive(Clone, Default)]
pub struct Nature {
    pub tls: Option<Tls>,
    /// In answers this text is exchanged for that one, which is as long: a part tells where it is, and not where its proxy is.
    pub exchanges: Option<(String, String)>,
}

impl Nature {
    pub fn told(&self, answer: &mut [u8]) {
        let Some((one, other)) = &self.exchanges else {
            return;
        };
        let (one, other) = (one.as_bytes(), other.as_bytes());
        for at in 0..(answer.len() + 1).saturating_sub(one.len()) {
            if answer[at..].starts_with(one) {
                answer[at..at + one.len()].copy_from_slice(other);
            }
        }
    }
}

pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

pub async fn connect(place: Place, tls: Option<&Tls>) -> io::Result<Box<dyn Stream>> {
    let port = match place {
        Place::Unix(path) => return Ok(Box::new(UnixStream::connect(path).await?)),
        Place::Tcp(port) => port,
    };
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    match tls {
        None => Ok(Box::new(stream)),
        Some(tls) => {
            let name = "127.0.0.1".try_into().map_err(io::Error::other)?;
            Ok(Box::new(tls.connects.connect(name, stream).await?))
        }
    }
}
