//! Starting and ending a range: ports first, then the shop, then its traffic.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::call::Traffic;
use super::endpoints::{Endpoints, LAYOUT, REDIS_OFFSET, RUNTIME_OFFSET};
use super::error::RangeError;
use super::flags::{FlagStore, without_password};
use super::options::{Options, Ports};
use super::shop::Shop;
use super::traffic::{Kind, MAX_RATE, is_mark};
use super::{front, haproxy, resp};

/// How long a shutdown waits for answers in progress.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// A running range. Dropped, it ends as well, but nobody waits for it.
pub struct Range {
    endpoints: Endpoints,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Range {
    /// Starts the shop and its traffic, on 127.0.0.1 only.
    ///
    /// # Errors
    /// [`RangeError`] names the port that is taken, or the option that cannot be.
    pub async fn start(options: Options) -> Result<Self, RangeError> {
        check(&options)?;
        let listeners = Listeners::bind(options.ports).await?;
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let range = Self {
            endpoints: listeners.endpoints(&options),
            tasks,
            stop,
        };
        range.run(options, listeners).await?;
        Ok(range)
    }

    /// Where everything can be reached.
    pub fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// Ends everything and frees every port.
    pub async fn shutdown(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    async fn run(&self, options: Options, mut listeners: Listeners) -> Result<(), RangeError> {
        let (tasks, stop) = (&self.tasks, &self.stop);
        tasks.spawn(resp::serve(
            listeners.redis,
            resp::Databases::new(),
            tasks.clone(),
            stop.clone(),
        ));
        let own = format!("redis://{}/", listeners.redis_address);
        let flags = FlagStore::connect(options.redis.as_deref().unwrap_or(&own)).await?;
        let ports: BTreeMap<&str, u16> = listeners
            .http
            .iter()
            .map(|(name, (_, address))| (*name, address.port()))
            .collect();
        let shop = Arc::new(Shop::build(&options, &flags, |name| {
            ports.get(name).copied().unwrap_or_default()
        }));
        let backends = Arc::clone(&shop.gateway.backends);
        tasks.spawn(haproxy::serve(
            listeners.runtime,
            backends,
            tasks.clone(),
            stop.clone(),
        ));
        for instance in &shop.instances {
            let router = match instance.name {
                "gateway-0" => instance.router().merge(front::gateway(Arc::clone(&shop))),
                "retry-0" => instance.router().merge(front::retry(Arc::clone(&shop.retry))),
                _ => instance.router(),
            };
            if let Some((listener, _)) = listeners.http.remove(instance.name) {
                tasks.spawn(serve(listener, router, stop.clone()));
            }
        }
        self.keep_house(&shop);
        self.send(&shop);
        Ok(())
    }

    /// Runs until the range ends.
    fn until_stopped(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = work => {}
                () = stop.cancelled() => {}
            }
        });
    }

    fn keep_house(&self, shop: &Arc<Shop>) {
        self.until_stopped(Arc::clone(&shop.inventory).restock());
        self.until_stopped(Arc::clone(&shop.database).replicate());
        for order in &shop.gateway.orders {
            self.until_stopped(Arc::clone(order).housekeeping());
            self.until_stopped(Arc::clone(&order.heap).collect());
        }
        for payment in &shop.payments {
            self.until_stopped(Arc::clone(payment).housekeeping());
        }
        let orders = shop.gateway.orders.clone();
        self.until_stopped(
            Arc::clone(&shop.retry)
                .consume(move |message| Arc::clone(&orders[message.order]).retry(message.call)),
        );
    }

    fn send(&self, shop: &Arc<Shop>) {
        for traffic in Traffic::ALL {
            for kind in [Kind::Order, Kind::Cart] {
                let dice = shop.dice.branch(100 + 2 * traffic as u64 + kind as u64);
                let carts = *shop.carts_known.of(traffic);
                let (generator, gateway) = (Arc::clone(&shop.generator), Arc::clone(&shop.gateway));
                self.until_stopped(generator.send(gateway, self.stop.clone(), (traffic, kind), carts, dice));
            }
        }
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn check(options: &Options) -> Result<(), RangeError> {
    if let Some(rate) = [options.marked_rate, options.users_rate]
        .into_iter()
        .find(|rate| *rate > MAX_RATE)
    {
        return Err(RangeError::Rate(rate));
    }
    if is_mark(&options.mark) {
        Ok(())
    } else {
        Err(RangeError::Mark(options.mark.escape_debug().take(40).collect()))
    }
}

/// Every port of the range, bound before anything runs: a port that is taken leaves nothing behind.
struct Listeners {
    http: BTreeMap<&'static str, (TcpListener, SocketAddr)>,
    runtime: TcpListener,
    runtime_address: SocketAddr,
    redis: TcpListener,
    redis_address: SocketAddr,
}

impl Listeners {
    async fn bind(ports: Ports) -> Result<Self, RangeError> {
        let (runtime, runtime_address) = bind(ports, RUNTIME_OFFSET, "the gateway's runtime API").await?;
        let (redis, redis_address) = bind(ports, REDIS_OFFSET, "redis").await?;
        let mut http = BTreeMap::new();
        for (_, instance, offset) in LAYOUT {
            http.insert(instance, bind(ports, offset, instance).await?);
        }
        Ok(Self {
            http,
            runtime,
            runtime_address,
            redis,
            redis_address,
        })
    }

    fn endpoints(&self, options: &Options) -> Endpoints {
        let address = |name: &str, _| {
            self.http
                .get(name)
                .map(|(_, address)| address.to_string())
                .unwrap_or_default()
        };
        let redis = match &options.redis {
            Some(url) => without_password(url),
            None => format!("redis://{}/", self.redis_address),
        };
        Endpoints::of(address, self.runtime_address.to_string(), redis)
    }
}

async fn bind(ports: Ports, offset: u16, what: &str) -> Result<(TcpListener, SocketAddr), RangeError> {
    let port = match ports {
        Ports::From(base) => base.checked_add(offset).ok_or(RangeError::BasePort(base))?,
        Ports::Ephemeral => 0,
    };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let refused = |source| RangeError::Bind {
        what: what.to_owned(),
        address,
        source,
    };
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let bound = listener.local_addr().map_err(refused)?;
    Ok((listener, bound))
}

/// Serves HTTP until `stop`; connections that then stay open are dropped with the last answers' time.
async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
    let ending = stop.clone();
    let graceful = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned());
    let late = async {
        ending.cancelled().await;
        tokio::time::sleep(LAST_ANSWERS).await;
    };
    tokio::select! {
        // An accept error is retried inside; serving itself does not end before the stop.
        _ = graceful => {}
        () = late => {}
    }
}
