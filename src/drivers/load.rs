//! Requests at a steady rate whatever the answers (open loop): a slow system gets no fewer of them.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use reqwest::{Client, Method, header::HeaderMap};
use tokio::{
    sync::{Mutex, Semaphore},
    time::{Instant, MissedTickBehavior},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::model::{
    drill::{Load, LoadMethod},
    ids::FaultId,
};

use super::{error::DriverError, place::Places};

/// The fastest the generator ticks; above that each tick sends several.
const TICK: Duration = Duration::from_millis(5);

/// What a load has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoadCounters {
    /// Requests sent.
    pub sent: u64,
    /// Answered with 2xx or 3xx.
    pub good: u64,
    /// Answered otherwise.
    pub bad: u64,
    /// Not answered: refused, broken, timed out.
    pub failed: u64,
    /// Not sent, because as many as allowed were in flight.
    pub dropped: u64,
    /// In flight now.
    pub in_flight: u64,
}

#[derive(Debug, Default)]
struct Counters {
    sent: AtomicU64,
    good: AtomicU64,
    bad: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
    in_flight: AtomicU64,
}

#[derive(Debug)]
struct Running {
    stop: CancellationToken,
    tasks: TaskTracker,
    counters: Arc<Counters>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The loads of this process. A load ends with its process: another keeper finds none.
#[derive(Debug, Default)]
pub struct Loads {
    running: Mutex<BTreeMap<FaultId, Running>>,
    /// Those that were stopped: a start that comes later than its stop starts nothing.
    stopped: Mutex<BTreeSet<FaultId>>,
}

impl Loads {
    /// Starts a load. A load of that id that already runs is left as it is.
    ///
    /// # Errors
    /// [`DriverError`] if the URL, the method or a header makes no request.
    pub async fn start(
        &self,
        client: &Client,
        places: Places<'_>,
        id: &FaultId,
        load: &Load,
    ) -> Result<(), DriverError> {
        let shot = Shot::new(client, places, load)?;
        let mut running = self.running.lock().await;
        if running.contains_key(id) || self.stopped.lock().await.contains(id) {
            return Ok(());
        }
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let counters = shot.counters.clone();
        tasks.spawn(generate(
            shot,
            load.rate,
            load.max_concurrent,
            stop.clone(),
            tasks.clone(),
        ));
        running.insert(
            id.clone(),
            Running {
                stop,
                tasks,
                counters,
            },
        );
        Ok(())
    }

    /// Stops a load at once, requests in flight included, and waits until nothing of it runs.
    pub async fn stop(&self, id: &FaultId) {
        let taken = {
            // Both at once: no start slips in between.
            let mut running = self.running.lock().await;
            self.stopped.lock().await.insert(id.clone());
            running.remove(id)
        };
        if let Some(running) = taken {
            running.stop.cancel();
            running.tasks.close();
            running.tasks.wait().await;
        }
    }

    /// Whether a load of that id runs here.
    pub async fn runs(&self, id: &FaultId) -> bool {
        self.running.lock().await.contains_key(id)
    }

    /// The loads that run here.
    pub async fn all(&self) -> Vec<FaultId> {
        self.running.lock().await.keys().cloned().collect()
    }

    /// What a load has done so far.
    pub async fn counters(&self, id: &FaultId) -> Option<LoadCounters> {
        let running = self.running.lock().await;
        let c = &running.get(id)?.counters;
        Some(LoadCounters {
            sent: c.sent.load(Relaxed),
            good: c.good.load(Relaxed),
            bad: c.bad.load(Relaxed),
            failed: c.failed.load(Relaxed),
            dropped: c.dropped.load(Relaxed),
            in_flight: c.in_flight.load(Relaxed),
        })
    }
}

/// One request, ready to be sent many times.
struct Shot {
    client: Client,
    method: Method,
    url: reqwest::Url,
    headers: HeaderMap,
    timeout: Duration,
    counters: Arc<Counters>,
}

impl Shot {
    fn new(client: &Client, places: Places<'_>, load: &Load) -> Result<Self, DriverError> {
        let setup = |why: String| DriverError::Setup {
            what: format!("load on {}", super::http::shown_url(&load.url)),
            why,
        };
        let url = places.fill(&load.url, super::place::Fill::default())?;
        if !(load.rate.is_finite() && load.rate > 0.0) {
            return Err(setup(format!("a rate of {} a second sends nothing", load.rate)));
        }
        let headers: HashMap<String, String> = load.headers.clone().into_iter().collect();
        Ok(Self {
            client: client.clone(),
            method: match load.method {
                LoadMethod::Get => Method::GET,
                LoadMethod::Post => Method::POST,
            },
            url: url.parse().map_err(|e| setup(format!("not a URL: {e}")))?,
            headers: HeaderMap::try_from(&headers).map_err(|e| setup(e.to_string()))?,
            timeout: load.timeout.into(),
            counters: Arc::default(),
        })
    }

    async fn fire(&self) {
        let request = self
            .client
            .request(self.method.clone(), self.url.clone())
            .headers(self.headers.clone())
            .timeout(self.timeout);
        let outcome = match request.send().await {
            Ok(answer) => {
                let good = answer.status().as_u16() < 400;
                match (read_through(answer).await, good) {
                    (false, _) => &self.counters.failed,
                    (true, true) => &self.counters.good,
                    (true, false) => &self.counters.bad,
                }
            }
            Err(_) => &self.counters.failed,
        };
        outcome.fetch_add(1, Relaxed);
    }
}

/// The most that is read of an answer, to use its connection again.
const MAX_BODY: usize = 1024 * 1024;

/// Reads an answer to its end or to its bound; whether that worked.
async fn read_through(mut answer: reqwest::Response) -> bool {
    let mut read = 0;
    loop {
        match answer.chunk().await {
            Ok(Some(chunk)) if read + chunk.len() <= MAX_BODY => read += chunk.len(),
            Ok(_) => return true,
            Err(_) => return false,
        }
    }
}

/// Counts a request in flight, also one that is cancelled.
struct InFlight(Arc<Counters>);

impl InFlight {
    fn new(counters: Arc<Counters>) -> Self {
        counters.in_flight.fetch_add(1, Relaxed);
        Self(counters)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Relaxed);
    }
}

async fn generate(shot: Shot, rate: f64, max_concurrent: u32, stop: CancellationToken, tasks: TaskTracker) {
    let shot = Arc::new(shot);
    let slots = Arc::new(Semaphore::new(max_concurrent as usize));
    let mut tick = tokio::time::interval(Duration::from_secs_f64(1.0 / rate).max(TICK));
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let (begin, mut due) = (Instant::now(), 0_u64);
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        let target = (begin.elapsed().as_secs_f64() * rate) as u64 + 1;
        // A machine that slept or stalled does not send in one burst what it missed.
        let burst = (target - due).min((rate as u64).max(1));
        due = target;
        for _ in 0..burst {
            let Ok(slot) = slots.clone().try_acquire_owned() else {
                shot.counters.dropped.fetch_add(1, Relaxed);
                continue;
            };
            shot.counters.sent.fetch_add(1, Relaxed);
            let (shot, stop) = (shot.clone(), stop.clone());
            let in_flight = InFlight::new(shot.counters.clone());
            tasks.spawn(async move {
                let _held = (slot, in_flight);
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = shot.fire() => {}
                }
            });
        }
    }
}
