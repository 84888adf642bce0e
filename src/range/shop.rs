//! The shop, wired: each weakness becomes one choice here.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::balancer::Backend;
use super::breaker::Tuning;
use super::call::{ByTraffic, Traffic};
use super::cart::{Cart, OnMiss};
use super::coupon::Coupon;
use super::database::Database;
use super::dice::Dice;
use super::flags::{FlagStore, Flags};
use super::flow::{FlowControl, NoNodes};
use super::gateway::{Gateway, Mark};
use super::instance::Instance;
use super::inventory::{Inventory, NegativeStock};
use super::options::{Options, Weakness};
use super::order::{Downstream, FlagsAfter, Order, OrderConfig, WithoutCoupon};
use super::payment::Payment;
use super::pool::Drain;
use super::retry::{Republishing, RetryQueue};
use super::traffic::{Generator, cart_count, marked_carts, users_carts};

/// Order instances; the first is the isolated target.
pub(super) const ORDERS: [&str; 8] = [
    "order-0", "order-1", "order-2", "order-3", "order-4", "order-5", "order-6", "order-7",
];
const CARTS: [&str; 2] = ["cart-0", "cart-1"];
const PAYMENTS: [&str; 2] = ["payment-0", "payment-1"];

const ORDER_POINTS: [&str; 5] = [
    "coupon.query",
    "inventory.query",
    "inventory.reserve",
    "order.heap",
    "order.db",
];
const FLOW_POINTS: [&str; 3] = ["flow.redis-a", "flow.redis-b", "flow.redis-c"];

/// Every service of the shop.
pub(super) struct Shop {
    pub(super) gateway: Arc<Gateway>,
    pub(super) retry: Arc<RetryQueue>,
    pub(super) generator: Arc<Generator>,
    pub(super) instances: Vec<Arc<Instance>>,
    pub(super) inventory: Arc<Inventory>,
    pub(super) database: Arc<Database>,
    pub(super) carts_known: ByTraffic<u64>,
    pub(super) payments: Vec<Arc<Payment>>,
    pub(super) weaknesses: Vec<Weakness>,
    pub(super) started: Instant,
    pub(super) dice: Dice,
}

/// One of two mechanisms, by whether the weakness is switched on.
fn choose<T>(options: &Options, weakness: Weakness, sound: T, weak: T) -> T {
    if options.weak(weakness) { weak } else { sound }
}

impl Shop {
    /// Wires the shop. `port` is where an instance will be found.
    pub(super) fn build(options: &Options, flags: &FlagStore, port: impl Fn(&str) -> u16) -> Self {
        let dice = Dice::new(options.seed);
        let tuning = choose(options, Weakness::BreakerStaysOpen, Tuning::Sound, Tuning::Sticky);
        let instance = |service, name, points: &[&str]| Instance::new(service, name, points, tuning);

        let coupon = instance("coupon", "coupon-0", &["coupon.query"]);
        let stock = instance("inventory", "inventory-0", &["stock.read"]);
        let retry_instance = instance("retry", "retry-0", &[]);
        let carts = CARTS.map(|name| instance("cart", name, &["redis.get", "db.query"]));
        let payments = PAYMENTS.map(|name| instance("payment", name, &["callback.handle"]));
        let orders = ORDERS.map(|name| instance("order", name, &ORDER_POINTS));
        let front = instance("gateway", "gateway-0", &FLOW_POINTS);
        let instances: Vec<Arc<Instance>> = [&front, &coupon, &stock, &retry_instance]
            .into_iter()
            .chain(&orders)
            .chain(&carts)
            .chain(&payments)
            .map(Arc::clone)
            .collect();

        let negative = choose(
            options,
            Weakness::NegativeStockAccepted,
            NegativeStock::ReadAgain,
            NegativeStock::Sold,
        );
        let inventory = Arc::new(Inventory::new(stock, dice.branch(10), negative));
        let database = Arc::new(Database::new(&front, dice.branch(11)));
        let republishing = choose(
            options,
            Weakness::RetryStorm,
            Republishing::Bounded,
            Republishing::Storm,
        );
        let retry = Arc::new(RetryQueue::new(&retry_instance, republishing));
        let drain = choose(options, Weakness::SlowDrain, Drain::AtOnce, Drain::Slow);
        let by_traffic = ByTraffic::new(|traffic| {
            let index = traffic as usize;
            Payment::new(
                Arc::clone(&payments[index]),
                dice.branch(20 + index as u64),
                drain,
            )
        });
        let payment = Traffic::ALL
            .map(|traffic| Arc::clone(by_traffic.of(traffic)))
            .to_vec();
        let down = Downstream {
            coupon: Arc::new(Coupon::new(coupon, dice.branch(12))),
            inventory: Arc::clone(&inventory),
            database: Arc::clone(&database),
            retry: Arc::clone(&retry),
            payment: by_traffic,
        };
        let orders = orders
            .iter()
            .enumerate()
            .map(|(index, instance)| {
                let flags = Flags::new(flags.clone(), instance.name);
                let config = order_config(options, index, drain);
                Order::new(
                    Arc::clone(instance),
                    dice.branch(30 + index as u64),
                    config,
                    flags,
                    down.clone(),
                )
                .expect("a fresh instance has room for its first breaker")
            })
            .collect();

        let on_miss = choose(
            options,
            Weakness::CartEnrich,
            OnMiss::RedisThenDatabase,
            OnMiss::EnrichHoldingConnection,
        );
        let carts_known = ByTraffic::new(|traffic| {
            let rates = [marked_carts(options.marked_rate), users_carts(options.users_rate)];
            cart_count(rates[traffic as usize])
        });
        let cart_services = Traffic::ALL.map(|traffic| {
            let index = traffic as usize;
            let own = Arc::clone(&carts[index]);
            Arc::new(Cart::new(
                own,
                dice.branch(40 + index as u64),
                on_miss,
                *carts_known.of(traffic),
            ))
        });

        let no_nodes = choose(
            options,
            Weakness::FlowControlConnects,
            NoNodes::CountLocally,
            NoNodes::Connect,
        );
        let limit = [options.marked_rate, options.users_rate].map(|rate| u64::from(rate) * 3 / 2);
        let flow = FlowControl::new(Arc::clone(&front), dice.branch(50), no_nodes, limit);
        let mark = choose(options, Weakness::HeaderLost, Mark::Kept, Mark::Lost);
        let at = |name: &'static str| (name, port(name));
        let backends = Arc::new(vec![
            Backend::new(3, "order", &ORDERS.map(at), mark == Mark::Lost),
            Backend::new(4, "cart", &CARTS.map(at), false),
        ]);
        let gateway = Gateway::new(
            &front,
            flow,
            backends,
            orders,
            cart_services.into(),
            mark,
            dice.branch(51),
        );
        Self {
            gateway: Arc::new(gateway),
            retry,
            generator: Arc::new(Generator::new(options)),
            instances,
            inventory,
            database,
            carts_known,
            payments: payment,
            weaknesses: options.weaknesses.iter().copied().collect(),
            started: Instant::now(),
            dice,
        }
    }
}

/// The isolated target has a quarter of the threads and a third of the timeout.
fn order_config(options: &Options, index: usize, drain: Drain) -> OrderConfig {
    let (threads, timeout) = match index {
        0 => (50, Duration::from_secs(1)),
        _ => (200, Duration::from_secs(3)),
    };
    OrderConfig {
        index,
        threads,
        timeout,
        without_coupon: choose(
            options,
            Weakness::NoCouponFallback,
            WithoutCoupon::Degrade,
            WithoutCoupon::Fail,
        ),
        flags_after: choose(options, Weakness::FlagsStay, FlagsAfter::Lifted, FlagsAfter::Left),
        drain,
    }
}
