//! What stands between recovery and the servers, and can be in trouble.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering::Relaxed},
};

use allclear::model::environment::Rocketmq;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::{Duration, sleep},
};

use crate::part::{BROKERS, Part};

/// How a way to a server behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Way {
    Open,
    /// Nobody answers; what was asked arrives when the way opens again.
    Slow,
    /// Hangs up.
    Cut,
    /// Another protocol.
    Garbage,
}

/// A way to one server.
pub struct Proxy {
    pub port: u16,
    way: Arc<AtomicU8>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// With pairs of texts of one length that are exchanged in answers: addresses.
    async fn to(address: String, exchange: Vec<(String, String)>) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        // Addresses are exchanged in place: all ports have five digits.
        assert!(port >= 10_000);
        let way = Arc::new(AtomicU8::new(Way::Open as u8));
        let ways = way.clone();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, address.clone(), exchange.clone(), ways.clone()));
            }
        });
        Proxy { port, way, task }
    }

    pub fn set(&self, way: Way) {
        self.way.store(way as u8, Relaxed);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn carry(mut client: TcpStream, address: String, exchange: Vec<(String, String)>, way: Arc<AtomicU8>) {
    let Ok(mut server) = TcpStream::connect(&address).await else {
        return;
    };
    let is = |wanted: Way| way.load(Relaxed) == wanted as u8;
    let (mut asked, mut answered) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(read @ 1..) = read else { return };
                while is(Way::Slow) {
                    sleep(Duration::from_millis(20)).await;
                }
                if is(Way::Cut) {
                    return;
                }
                if is(Way::Garbage) {
                    let _ = client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
                    continue;
                }
                let _ = server.write_all(&asked[..read]).await;
            }
            read = server.read(&mut answered) => {
                let Ok(read @ 1..) = read else { return };
                let mut text = answered[..read].to_vec();
                for (from, to) in &exchange {
                    replace(&mut text, from.as_bytes(), to.as_bytes());
                }
                let _ = client.write_all(&text).await;
            }
        }
    }
}

fn replace(text: &mut [u8], from: &[u8], to: &[u8]) {
    for at in 0..text.len().saturating_sub(from.len() - 1) {
        if &text[at..at + from.len()] == from {
            text[at..at + to.len()].copy_from_slice(to);
        }
    }
}

/// Ways to the name server and to both brokers.
pub struct Ways {
    pub name_server: Proxy,
    _a: Proxy,
    pub b: Proxy,
}

impl Ways {
    pub async fn to(part: &Part) -> Ways {
        let [a, b] = BROKERS.map(|broker| part.broker(broker));
        let (to_a, to_b) = (
            Proxy::to(a.clone(), vec![]).await,
            Proxy::to(b.clone(), vec![]).await,
        );
        let here = |port: u16| format!("127.0.0.1:{port}");
        let exchange = vec![(a, here(to_a.port)), (b, here(to_b.port))];
        Ways {
            name_server: Proxy::to(part.name_server(), exchange).await,
            _a: to_a,
            b: to_b,
        }
    }

    pub fn open(&self) -> Rocketmq {
        Rocketmq {
            nameservers: vec![format!("127.0.0.1:{}", self.name_server.port)],
            login: None,
        }
    }
}
