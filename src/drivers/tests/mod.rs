//! The drivers that need a server of some kind to be tested.

mod command;
mod http;
mod lease;
mod load;

use axum::Router;
use tokio::{net::TcpListener, task::JoinHandle};

/// A service on loopback; gone when dropped.
struct Service {
    address: String,
    task: JoinHandle<()>,
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(router: Router) -> Service {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    Service { address, task }
}
