//! A real consumer in few lines: it fetches as its quota lets it, commits what it has read, and begins again where its group is.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::{sync::Mutex, task::JoinHandle, time::sleep};

use crate::{
    kafka_wire::{Fetcher, commit, committed},
    part::until,
};

/// Consumes the topic of this name in the group of this name, with this client id, until it is dropped.
pub struct Consumer {
    port: u16,
    name: &'static str,
    /// Offsets are set by one at a time.
    turn: Arc<Mutex<()>>,
    is_running: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Consumer {
    pub fn start(port: u16, name: &'static str) -> Self {
        let turn = Arc::new(Mutex::new(()));
        let is_running = Arc::new(AtomicBool::new(true));
        let task = tokio::spawn(consume(port, name, turn.clone(), is_running.clone()));
        Self {
            port,
            name,
            turn,
            is_running,
            task,
        }
    }

    /// Its process is there, or it is not.
    pub fn switch(&self) -> Arc<AtomicBool> {
        self.is_running.clone()
    }

    /// The group is here from now on.
    pub async fn put(&self, at: i64) {
        let _turn = self.turn.lock().await;
        let put = async || commit(self.port, self.name, at).await.is_some();
        until("the offset is set", put).await.expect("an offset");
    }
}

async fn consume(port: u16, name: &'static str, turn: Arc<Mutex<()>>, is_running: Arc<AtomicBool>) {
    let mut fetcher = Fetcher::of(port, name);
    loop {
        sleep(Duration::from_millis(100)).await;
        if !is_running.load(Relaxed) {
            fetcher = Fetcher::of(port, name);
            continue;
        }
        let Some(from) = committed(port, name).await else {
            continue;
        };
        let Some(end) = fetcher.fetch(from).await else {
            continue;
        };
        let _turn = turn.lock().await;
        // Somebody may have put the group elsewhere meanwhile.
        if is_running.load(Relaxed) && committed(port, name).await == Some(from) {
            let _ = commit(port, name, end).await;
        }
    }
}
