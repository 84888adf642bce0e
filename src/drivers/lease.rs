//! The lease of an environment, wherever it is kept: taken if it is free, renewed and given back only while it is this
//! run's.
//!
//! It keeps people from colliding, and is no fence: a Redis that fails over may forget it, and a holder that is cut off
//! goes on until it knows. So nothing that puts a system back ever waits for it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use jiff::Timestamp;

use super::{Drivers, error::DriverError, kubernetes::KubernetesLease, redis::RedisLease};
use crate::model::{
    lease::{Held, Holder, LASTS, LeasePlace},
    plan::Plan,
    said::Said,
    time::Span,
};

/// The longest that one look at it takes: it is looked at again soon enough.
const LOOK: Span = Span::seconds(8);

/// What came of a wish to hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// It was free, and is this run's now.
    Taken,
    /// It was this run's, and is for another while.
    Renewed,
    /// It is another run's.
    Other(Held),
}

/// The lease of a run's environment.
#[derive(Debug)]
pub struct Lease {
    home: Home,
    holder: Holder,
    lasts: Span,
    asked_for: AskedFor,
}

#[derive(Debug)]
enum Home {
    Redis(Box<RedisLease>),
    Kubernetes(Box<KubernetesLease>),
}

/// Whether this process has ever asked for it: only then it may be this run's.
#[derive(Debug, Clone, Default)]
pub(super) struct AskedFor(Arc<AtomicBool>);

/// The holder that a run is, on this machine.
pub(super) fn holder(plan: &Plan) -> Holder {
    let machine = rustix::system::uname();
    let host = machine.nodename().to_string_lossy();
    Holder::of(&plan.run, &plan.started_by, &host, Timestamp::now())
}

impl Drivers {
    /// The environment's lease, if it has one.
    ///
    /// # Errors
    /// [`DriverError`] if what it is kept in cannot be set up.
    pub fn lease(&self) -> Result<Option<Lease>, DriverError> {
        self.lease_lasting(LASTS)
    }

    /// The same, lasting for so long unless it is renewed.
    ///
    /// # Errors
    /// As [`Drivers::lease`].
    pub fn lease_lasting(&self, lasts: Span) -> Result<Option<Lease>, DriverError> {
        let environment = &self.environment.name;
        let home = match &self.environment.lease {
            None => return Ok(None),
            Some(LeasePlace::Redis(name)) => {
                Home::Redis(Box::new(RedisLease::new(self.redis(name)?, environment)))
            }
            Some(LeasePlace::Kubernetes(namespace)) => {
                let cluster = self.kubernetes()?.clone();
                Home::Kubernetes(Box::new(KubernetesLease::new(cluster, namespace, environment)))
            }
        };
        Ok(Some(Lease {
            home,
            holder: self.holder.clone(),
            lasts,
            asked_for: self.lease_asked_for.clone(),
        }))
    }
}

impl Lease {
    /// Takes it if it is free, and renews it if it is this run's.
    ///
    /// # Errors
    /// [`DriverError`]. It may be this run's all the same.
    pub async fn hold(&self) -> Result<Hold, DriverError> {
        self.asked_for.0.store(true, Relaxed);
        let Lease { holder, lasts, .. } = self;
        self.in_time(async {
            match &self.home {
                Home::Redis(key) => key.hold(holder, *lasts).await,
                Home::Kubernetes(object) => object.hold(holder, *lasts).await,
            }
        })
        .await
    }

    /// Takes it as [`Lease::hold`] does, and proves the rights to renew it and to give it back.
    ///
    /// # Errors
    /// [`DriverError::Unauthorized`] if one is missing; others as they come. It may be this run's all the same.
    pub async fn take(&self) -> Result<Hold, DriverError> {
        let taken = self.hold().await?;
        if matches!(taken, Hold::Other(_)) {
            return Ok(taken);
        }
        if let Home::Kubernetes(object) = &self.home {
            self.in_time(object.may_be_given_back()).await?;
        }
        // Redis deletes by the command that renews.
        self.hold().await
    }

    /// Gives it back if it is this run's. That it is not, or is gone, is no error.
    ///
    /// # Errors
    /// [`DriverError`]. It ends by itself then.
    pub async fn give_back(&self) -> Result<(), DriverError> {
        let holder = &self.holder;
        self.in_time(async {
            match &self.home {
                Home::Redis(key) => key.give_back(holder).await,
                Home::Kubernetes(object) => object.give_back(holder).await,
            }
        })
        .await
    }

    /// Whether it may be this run's: this process has asked for it.
    pub fn may_be_ours(&self) -> bool {
        self.asked_for.0.load(Relaxed)
    }

    /// What to permit where a right is missing.
    pub fn rights(&self) -> Said {
        match &self.home {
            Home::Redis(key) => key.rights(),
            Home::Kubernetes(object) => object.rights(),
        }
    }

    /// How a person who knows that its holder is gone frees it by hand.
    pub fn freed_by(&self) -> String {
        match &self.home {
            Home::Redis(key) => key.freed_by(),
            Home::Kubernetes(object) => object.freed_by(),
        }
    }

    async fn in_time<T>(
        &self,
        asking: impl Future<Output = Result<T, DriverError>>,
    ) -> Result<T, DriverError> {
        let answered = tokio::time::timeout(LOOK.into(), asking).await;
        answered.unwrap_or_else(|_| {
            Err(DriverError::TimedOut {
                what: match &self.home {
                    Home::Redis(key) => key.what(),
                    Home::Kubernetes(object) => object.what(),
                },
                after: LOOK,
            })
        })
    }
}
