//! The lease of an environment: who may run a drill there now, seen from every machine. It ends by itself unless it is
//! renewed.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    ids::{Namespace, RunId, ServerName},
    said::{Said, said},
    text::harmless,
    time::Span,
};

/// How long a lease lasts that nobody renews.
pub const LASTS: Span = Span::seconds(60);

/// The longest name of a person or a machine that is shown.
const MAX_NAME: usize = 80;

/// Where an environment keeps its lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeasePlace {
    /// A key in this Redis of the environment.
    Redis(ServerName),
    /// A Lease in this namespace of the environment's Kubernetes.
    Kubernetes(Namespace),
}

impl LeasePlace {
    /// In a few words.
    pub fn said(&self) -> Said {
        match self {
            LeasePlace::Redis(name) => Said::as_it_is(format!("redis {name}")),
            LeasePlace::Kubernetes(namespace) => {
                said!(
                    "namespace {namespace} of Kubernetes",
                    "Kubernetes 命名空间 {namespace}"
                )
            }
        }
    }
}

/// Who holds a lease. What others wrote is only shown, so it may be any text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The run. Whoever keeps it, it is the run that holds the lease.
    pub run: String,
    /// Who started it.
    #[serde(default)]
    pub who: String,
    /// The machine of its keeper.
    #[serde(default)]
    pub host: String,
    /// Since when, by that machine's clock.
    #[serde(default)]
    pub since: Option<Timestamp>,
}

impl Holder {
    /// The holder that a run is.
    pub fn of(run: &RunId, who: &str, host: &str, since: Timestamp) -> Self {
        Self {
            run: run.to_string(),
            who: who.to_owned(),
            host: host.to_owned(),
            since: Some(since),
        }
        .harmless()
    }

    /// Reads what stands in a key: a JSON as [`Holder`] is written, or any other text, which is then taken for the
    /// run's name.
    pub fn read(text: &str) -> Self {
        let read = serde_json::from_str(text).unwrap_or_else(|_| Holder {
            run: text.to_owned(),
            who: String::new(),
            host: String::new(),
            since: None,
        });
        read.harmless()
    }

    /// Reads the identity of a Lease, `RUN/HOST/WHO`.
    pub fn of_identity(identity: &str, since: Option<Timestamp>) -> Self {
        let mut parts = identity.splitn(3, '/').map(str::to_owned);
        let mut next = || parts.next().unwrap_or_default();
        let (run, host, who) = (next(), next(), next());
        Holder {
            run,
            who,
            host,
            since,
        }
        .harmless()
    }

    /// Itself as the identity of a Lease.
    pub fn identity(&self) -> String {
        format!("{}/{}/{}", self.run, self.host.replace('/', "-"), self.who)
    }

    /// Whether both are the same run.
    pub fn is_same_run(&self, other: &Holder) -> bool {
        self.run == other.run
    }

    fn harmless(self) -> Self {
        let name = |text: &str| harmless(text.trim(), MAX_NAME);
        Holder {
            run: name(&self.run),
            who: name(&self.who),
            host: name(&self.host),
            since: self.since,
        }
    }

    /// `run 7f3a01 (ana on ops-1), since 2026-12-01 05:54:30Z`.
    pub fn said(&self) -> Said {
        let or_unknown = |text: &str| match text {
            "" => said!("unknown", "不明"),
            text => Said::as_it_is(text),
        };
        let run = or_unknown(&self.run);
        let by = match (self.who.as_str(), self.host.as_str()) {
            ("", "") => Said::new("", ""),
            (who, host) => said!(
                who = or_unknown(who), host = or_unknown(host);
                " ({who} on {host})",
                "（{who}，于 {host}）"
            ),
        };
        match self.since {
            Some(since) => {
                said!(run, by; "run {run}{by}, since {since:.0}", "演练 {run}{by}，始于 {since:.0}")
            }
            None => said!(run, by; "run {run}{by}", "演练 {run}{by}"),
        }
    }
}

/// A lease that somebody holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Who.
    pub by: Holder,
    /// How long it lasts unless it is renewed; `None`: it does not end by itself.
    pub left: Option<Span>,
}

impl Held {
    /// Who holds it, and for how long.
    pub fn said(&self) -> Said {
        let by = self.by.said();
        match self.left {
            Some(left) => {
                let left = Span::seconds(left.0.div_ceil(1000));
                said!(
                    by;
                    "held by {by}; it lasts {left} more unless it is renewed",
                    "持有者为{by}；不续约则 {left} 后到期"
                )
            }
            None => said!(
                by;
                "held by {by}; it does not end by itself",
                "持有者为{by}；不会自行到期"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::text::Lang;

    fn ana() -> Holder {
        let since = "2026-12-01T05:54:30.4Z".parse().unwrap();
        Holder::of(
            &RunId::new("7f3a01").unwrap(),
            "ana from 10.0.0.7",
            "ops-1",
            since,
        )
    }

    #[test]
    fn a_holder_is_known_again_from_both_places() {
        let ana = ana();
        assert_eq!(Holder::read(&serde_json::to_string(&ana).unwrap()), ana);
        assert_eq!(ana.identity(), "7f3a01/ops-1/ana from 10.0.0.7");
        assert_eq!(Holder::of_identity(&ana.identity(), ana.since), ana);
    }

    #[test]
    fn what_others_wrote_is_shown_without_escapes_and_cut() {
        let long = "x".repeat(200);
        for text in [
            format!("\u{1b}[2J{long}"),
            format!(r#"{{"run":"\u001b[2J{long}"}}"#),
        ] {
            let read = Holder::read(&text);
            assert!(
                read.run.starts_with("[2Jx") && read.run.chars().count() <= 81,
                "{read:?}"
            );
        }
        let foreign = Holder::of_identity("someone_else", None);
        assert_eq!(foreign.said().en(), "run someone_else");
    }

    #[test]
    fn who_holds_it_and_for_how_long_is_said_in_both_languages() {
        let held = Held {
            by: ana(),
            left: Some(Span::millis(41_200)),
        };
        assert_eq!(
            held.said().en(),
            "held by run 7f3a01 (ana from 10.0.0.7 on ops-1), since 2026-12-01T05:54:30Z; it lasts 42s more unless it is renewed"
        );
        assert_eq!(
            held.said().get(Lang::Zh),
            "持有者为演练 7f3a01（ana from 10.0.0.7，于 ops-1），始于 2026-12-01T05:54:30Z；不续约则 42s 后到期"
        );
        let for_ever = Held { left: None, ..held };
        assert!(for_ever.said().en().ends_with("it does not end by itself"));
    }
}
