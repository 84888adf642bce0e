//! The gateway: flow control, then a server by weight, then the call.

use std::sync::Arc;

use tokio::time::Instant;

use super::balancer::Backend;
use super::call::{Call, PathMeters};
use super::cart::Cart;
use super::dice::Dice;
use super::flow::{Decision, FlowControl};
use super::instance::Instance;
use super::order::Order;

/// What happens to the mark between the gateway and order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Kept,
    /// The weakness `header-lost`.
    Lost,
}

pub(super) struct Gateway {
    pub(super) flow: FlowControl,
    /// `order`, then `cart`.
    pub(super) backends: Arc<Vec<Backend>>,
    pub(super) orders: Vec<Arc<Order>>,
    pub(super) carts: Vec<Arc<Cart>>,
    mark: Mark,
    dice: Dice,
    order_requests: PathMeters,
    cart_requests: PathMeters,
}

impl Gateway {
    pub(super) fn new(
        instance: &Instance,
        flow: FlowControl,
        backends: Arc<Vec<Backend>>,
        orders: Vec<Arc<Order>>,
        carts: Vec<Arc<Cart>>,
        mark: Mark,
        dice: Dice,
    ) -> Self {
        let order_requests = PathMeters::new(&instance.meters, "/order", &[200, 202, 429, 503, 500]);
        let cart_requests = PathMeters::new(&instance.meters, "/cart", &[200, 429, 503, 500]);
        Self {
            flow,
            backends,
            orders,
            carts,
            mark,
            dice,
            order_requests,
            cart_requests,
        }
    }

    /// Places an order and answers with its status.
    pub(super) async fn order(&self, call: &Call) -> u16 {
        let begun = Instant::now();
        let code = match self.flow.check(call).await {
            Decision::Reject => 429,
            Decision::Allow => match self.backends[0].choose(call.mark.is_some(), &self.dice) {
                Some(session) => match self.mark {
                    Mark::Kept => self.orders[session.index].place(call).await,
                    Mark::Lost => self.orders[session.index].place(&call.unmarked()).await,
                },
                None => 503,
            },
        };
        self.order_requests.observe(call.traffic(), code, begun.elapsed());
        code
    }

    /// Answers a request for a cart with its status.
    pub(super) async fn cart(&self, call: &Call, cart: u64) -> u16 {
        let begun = Instant::now();
        let code = match self.backends[1].choose(call.mark.is_some(), &self.dice) {
            Some(session) => self.carts[session.index].get(call, cart).await,
            None => 503,
        };
        self.cart_requests.observe(call.traffic(), code, begun.elapsed());
        code
    }
}
