//! A call as it travels through the shop, and how its handling is measured.

use std::sync::Arc;
use std::time::Duration;

use super::meters::{Counter, Histogram, Meters};
use crate::point::{Headers, Outcome};

/// The header that marks a drill's own traffic.
pub(super) const MARK: &str = "x-drill";

/// What a call carries from service to service.
#[derive(Debug, Clone, Default)]
pub(super) struct Call {
    /// Value of the header `x-drill`, if the call is marked.
    pub(super) mark: Option<Arc<str>>,
    /// Campaign that the order belongs to, if any.
    pub(super) campaign: Option<u64>,
}

/// Whose call it is, as far as the service that looks can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Traffic {
    Drill,
    Users,
}

impl Traffic {
    pub(super) const ALL: [Self; 2] = [Self::Drill, Self::Users];

    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Drill => "drill",
            Self::Users => "users",
        }
    }
}

impl Call {
    pub(super) fn traffic(&self) -> Traffic {
        if self.mark.is_some() {
            Traffic::Drill
        } else {
            Traffic::Users
        }
    }

    /// The same call after a hop that forgets the mark.
    pub(super) fn unmarked(&self) -> Self {
        Self {
            mark: None,
            campaign: self.campaign,
        }
    }
}

impl Headers for Call {
    fn header(&self, name: &str) -> Option<&str> {
        if name == MARK { self.mark.as_deref() } else { None }
    }
}

/// Why a call to another service did not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failed {
    Timeout,
    Refused,
    Answered,
}

/// What an injected outcome means for a call whose answer is only good or bad.
pub(super) fn passed(outcome: &Outcome) -> Result<(), Failed> {
    match outcome {
        Outcome::Proceed | Outcome::Tamper(_) | Outcome::Stale => Ok(()),
        Outcome::Status { code, .. } if *code < 400 => Ok(()),
        Outcome::Status { .. } | Outcome::Empty => Err(Failed::Answered),
        Outcome::Exception { .. } => Err(Failed::Refused),
    }
}

/// A pair of series, for the drill's traffic and the users'.
#[derive(Debug, Clone)]
pub(super) struct ByTraffic<T>([T; 2]);

impl<T> ByTraffic<T> {
    pub(super) fn new(make: impl FnMut(Traffic) -> T) -> Self {
        Self(Traffic::ALL.map(make))
    }

    pub(super) fn of(&self, traffic: Traffic) -> &T {
        &self.0[traffic as usize]
    }
}

/// Requests and their durations at one path of one instance.
#[derive(Debug)]
pub(super) struct PathMeters {
    codes: &'static [u16],
    requests: ByTraffic<Vec<Counter>>,
    seconds: ByTraffic<Histogram>,
}

impl PathMeters {
    /// `codes` are all that the path can answer; the last stands for any other.
    pub(super) fn new(meters: &Meters, path: &str, codes: &'static [u16]) -> Self {
        let requests = ByTraffic::new(|traffic| {
            let of_code = |code: &u16| {
                let labels = [
                    ("path", path),
                    ("code", &*code.to_string()),
                    ("traffic", traffic.label()),
                ];
                meters.counter("http_requests_total", "Requests answered.", &labels)
            };
            codes.iter().map(of_code).collect()
        });
        let seconds = ByTraffic::new(|traffic| {
            let labels = [("path", path), ("traffic", traffic.label())];
            meters.histogram("http_request_seconds", "Time to answer, seconds.", &labels)
        });
        Self {
            codes,
            requests,
            seconds,
        }
    }

    pub(super) fn observe(&self, traffic: Traffic, code: u16, took: Duration) {
        let counters = self.requests.of(traffic);
        let index = self
            .codes
            .iter()
            .position(|known| *known == code)
            .unwrap_or(self.codes.len() - 1);
        counters[index].inc();
        self.seconds.of(traffic).observe(took);
    }
}
