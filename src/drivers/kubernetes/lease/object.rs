//! The Lease itself: who holds it, for how long, and what is written into it.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    drivers::kubernetes::{Meta, doubt::Base},
    model::{lease::Holder, time::Span},
};

/// How far clocks may be apart.
const MARGIN: Span = Span::seconds(30);

#[derive(Debug, Deserialize)]
pub(super) struct Raw {
    pub(super) metadata: Meta,
    #[serde(default)]
    pub(super) spec: Spec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Spec {
    holder_identity: Option<String>,
    lease_duration_seconds: Option<u32>,
    acquire_time: Option<String>,
    renew_time: Option<String>,
    pub(super) lease_transitions: Option<i64>,
}

impl Raw {
    pub(super) fn base(&self) -> Base<'_> {
        Base {
            uid: &self.metadata.uid,
            version: &self.metadata.resource_version,
        }
    }

    /// Who holds it; nobody if it names nobody.
    pub(super) fn holder(&self) -> Option<Holder> {
        let identity = self.spec.holder_identity.as_deref()?;
        let since = self.spec.acquire_time.as_deref().and_then(|at| at.parse().ok());
        (!identity.trim().is_empty()).then(|| Holder::of_identity(identity, since))
    }
}

impl Spec {
    /// How long it lasts unless it is renewed, having been watched unchanged for so long.
    pub(super) fn left(&self, watched: Span, now: Timestamp) -> Span {
        let lasts = Span::seconds(self.lease_duration_seconds.unwrap_or(0).into());
        let watching = Span(lasts.0.saturating_sub(watched.0));
        let renewed: Option<Timestamp> = self.renew_time.as_deref().and_then(|at| at.parse().ok());
        let by_its_time = renewed.map(|renewed| {
            let age = now.as_millisecond().saturating_sub(renewed.as_millisecond());
            Span((lasts + MARGIN).0.saturating_sub(u64::try_from(age).unwrap_or(0)))
        });
        by_its_time.map_or(watching, |by_its_time| by_its_time.min(watching))
    }
}

/// A new while for a holder, as the API writes it.
pub(super) fn renewed(lasts: Span) -> Value {
    json!({
        "leaseDurationSeconds": lasts.0.div_ceil(1000),
        "renewTime": micros(Timestamp::now()),
    })
}

/// The first while of a new holder.
pub(super) fn taken(holder: &Holder, lasts: Span, transitions: i64) -> Value {
    let mut spec = renewed(lasts);
    spec["holderIdentity"] = json!(holder.identity());
    spec["acquireTime"] = json!(micros(holder.since.unwrap_or_else(Timestamp::now)));
    spec["leaseTransitions"] = json!(transitions);
    spec
}

/// The API's `MicroTime`.
fn micros(at: Timestamp) -> String {
    format!("{at:.6}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(renewed: &str) -> Spec {
        Spec {
            lease_duration_seconds: Some(60),
            renew_time: Some(renewed.into()),
            ..Spec::default()
        }
    }

    fn left(renewed: &str, watched: u64) -> u64 {
        let now = "2026-12-01T12:00:00Z".parse().unwrap();
        spec(renewed).left(Span::seconds(watched), now).0 / 1000
    }

    #[test]
    fn a_lease_is_over_once_it_was_watched_unchanged_for_its_time_or_is_older_by_far() {
        assert_eq!(left("2026-12-01T11:59:50.000000Z", 0), 60, "clocks may differ");
        assert_eq!(left("2026-12-01T11:59:50.000000Z", 59), 1);
        assert_eq!(left("2026-12-01T11:59:50.000000Z", 60), 0);
        assert_eq!(left("2026-12-01T11:58:31.000000Z", 0), 1);
        assert_eq!(left("2026-12-01T11:58:30.000000Z", 0), 0);
        assert_eq!(
            left("2026-12-01T13:00:00.000000Z", 0),
            60,
            "a clock that is ahead"
        );
        assert_eq!(left("2026-12-01T13:00:00.000000Z", 60), 0);
        assert_eq!(left("no time", 59), 1);
    }

    #[test]
    fn times_are_written_as_the_api_reads_them() {
        assert_eq!(
            micros("2026-12-01T12:00:00.25Z".parse().unwrap()),
            "2026-12-01T12:00:00.250000Z"
        );
    }
}
