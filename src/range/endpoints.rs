//! Where everything of a range can be reached.

use serde::{Deserialize, Serialize};

use super::options::BASE_PORT;

/// Instances of the shop, with their port's distance from the base port.
pub(super) const LAYOUT: [(&str, &str, u16); 16] = [
    ("gateway", "gateway-0", 0),
    ("order", "order-0", 10),
    ("order", "order-1", 11),
    ("order", "order-2", 12),
    ("order", "order-3", 13),
    ("order", "order-4", 14),
    ("order", "order-5", 15),
    ("order", "order-6", 16),
    ("order", "order-7", 17),
    ("coupon", "coupon-0", 20),
    ("inventory", "inventory-0", 30),
    ("cart", "cart-0", 40),
    ("cart", "cart-1", 41),
    ("payment", "payment-0", 50),
    ("payment", "payment-1", 51),
    ("retry", "retry-0", 60),
];
/// Distance of HAProxy's runtime API from the base port.
pub(super) const RUNTIME_OFFSET: u16 = 1;
/// Distance of the range's own Redis from the base port.
pub(super) const REDIS_OFFSET: u16 = 2;

/// One instance of a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceEndpoint {
    /// The service.
    pub service: String,
    /// The instance's name.
    pub instance: String,
    /// `127.0.0.1:port`: `/metrics`, `/health`, `/chaos/…`, `/actuator/…`, `/app/…`.
    pub address: String,
}

/// Where everything of a range can be reached. All addresses are `127.0.0.1:port`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoints {
    /// The shop's front: `POST /order`, `GET /cart/{id}`, `/range/traffic`, `/range/status`.
    pub gateway_http: String,
    /// HAProxy's runtime API (TCP).
    pub gateway_runtime: String,
    /// URL of the Redis with the degrade flags, without its password.
    pub redis: String,
    /// `GET`, `PUT /app/retry`.
    pub retry: String,
    /// Every instance.
    pub instances: Vec<InstanceEndpoint>,
}

impl Endpoints {
    pub(super) fn of(address: impl Fn(&str, u16) -> String, runtime: String, redis: String) -> Self {
        let instances: Vec<_> = LAYOUT
            .iter()
            .map(|(service, instance, offset)| InstanceEndpoint {
                service: (*service).to_owned(),
                instance: (*instance).to_owned(),
                address: address(instance, *offset),
            })
            .collect();
        let first = |service: &str| {
            instances
                .iter()
                .find(|one| one.service == service)
                .map(|one| one.address.clone())
                .unwrap_or_default()
        };
        Self {
            gateway_http: first("gateway"),
            gateway_runtime: runtime,
            redis,
            retry: first("retry"),
            instances,
        }
    }

    /// The address of one instance.
    pub fn instance(&self, name: &str) -> Option<&str> {
        self.instances
            .iter()
            .find(|one| one.instance == name)
            .map(|one| one.address.as_str())
    }
}

/// The endpoints of a range with the default options.
pub fn default_endpoints() -> Endpoints {
    let at = |offset: u16| format!("127.0.0.1:{}", BASE_PORT + offset);
    Endpoints::of(
        |_, offset| at(offset),
        at(RUNTIME_OFFSET),
        format!("redis://{}/", at(REDIS_OFFSET)),
    )
}
