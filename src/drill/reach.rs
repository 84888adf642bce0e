//! The arithmetic of the blast radius: requests/s × percent × min(delay, timeout) = threads held, of the pool.
//!
//! Little's law (J. D. C. Little, "A Proof for the Queuing Formula L = λW", 1961): the mean number held is the arrival
//! rate times the mean time held.

use super::faults::{self, Aim};
use crate::model::{
    drill::{Effect, Fault},
    event::ReachLine,
    ids::{InstanceName, ServiceName},
    plan::Plan,
};

/// A line for each fault and instance of the drill. `rate` gives the requests a second that pass the envelope's gates
/// at an instance, if they are known.
pub fn lines(plan: &Plan, rate: impl Fn(&ServiceName, &InstanceName) -> Option<f64>) -> Vec<ReachLine> {
    faults::aims(plan)
        .map(|aim| line(plan, aim, rate(aim.service, aim.instance)))
        .collect()
}

fn line(plan: &Plan, aim: Aim<'_>, rate: Option<f64>) -> ReachLine {
    let Aim {
        fault,
        envelope,
        service,
        instance,
        ..
    } = aim;
    let node = plan
        .drill
        .dashboard
        .topology
        .iter()
        .find(|n| &n.service == service);
    let pool = node.and_then(|n| n.pool.as_ref());
    let Fault::Rule { effect, .. } = fault;
    let delay = match effect {
        Effect::Delay { mean, jitter } => (*mean + *jitter).as_seconds(),
        _ => 0.0,
    };
    let timeout = pool
        .and_then(|p| p.timeout)
        .map_or(f64::INFINITY, |t| t.as_seconds());
    let share = envelope.percent.map_or(1.0, |p| p.0);
    let holds = delay.min(timeout);
    let cap = envelope.max_concurrent.map_or(f64::INFINITY, f64::from);
    ReachLine {
        instance: instance.clone(),
        of: plan.environment.services.get(service).map_or(1, |all| all.len()),
        what: fault.describe(),
        rate,
        share,
        holds,
        threads: rate.map(|r| (r * share * holds).min(cap)),
        pool: pool.map(|p| p.threads),
    }
}

/// Whether the envelope's cap lies below what the fault would hold: the cap then eats hits, and the drill shows less
/// than it says.
pub fn cap_eats_hits(line: &ReachLine, cap: Option<u32>) -> bool {
    match (line.rate, cap) {
        (Some(rate), Some(cap)) => rate * line.share * line.holds > f64::from(cap),
        _ => false,
    }
}

/// Whether the fault alone would take the whole pool: then it is no longer one fault that is tested.
pub fn fills_the_pool(line: &ReachLine) -> bool {
    matches!((line.threads, line.pool), (Some(threads), Some(pool)) if threads >= f64::from(pool))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_line(rate: f64, share: f64, holds: f64) -> ReachLine {
        ReachLine {
            instance: InstanceName::new("order-0").unwrap(),
            of: 8,
            what: String::new(),
            rate: Some(rate),
            share,
            holds,
            threads: Some(rate * share * holds),
            pool: Some(50),
        }
    }

    #[test]
    fn the_accidents_numbers_come_out() {
        // 3,000 requests/s × 5 % × 0.5 s: "5 % of traffic" held 75 threads of a pool of 50.
        let line = a_line(3000.0, 0.05, 0.5);
        assert_eq!(line.threads, Some(75.0));
        assert!(fills_the_pool(&line));
        assert!(cap_eats_hits(&line, Some(20)));
        assert!(!cap_eats_hits(&line, Some(100)));
    }
}
