//! A group that stands still: muted, or down. Nobody can tell which from outside.

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    drivers::kafka::Position,
    model::{
        said::{Said, said},
        time::Span,
    },
};

use super::{COMMIT, WINDOW, pace::MUTED};

/// For how long this run's own quotas can mute a consumer, and the commit that shows that it is back. A broker mutes for (what passed
/// in its window + what is asked for) ÷ quota, less the window: a window that may be a sample short. A release never sets its quota
/// below what passed ÷ (window + [`MUTED`]), nor below a batch ÷ the same.
///
/// A quota of somebody else has no such bound: `ClientQuotaManager` of Kafka caps the mute of a request quota at a second, and that of
/// a byte rate not at all. A megabyte in the window and then 20 kB/s is a mute of 39 s; no call tells how long, and no later quota
/// shortens it.
pub(super) const OWN: Duration =
    Duration::from_secs((2.0 * (WINDOW + MUTED) - (WINDOW - 1.0)) as u64 + COMMIT.as_secs());

/// Since when a group has not moved.
pub(super) struct Still {
    since: Instant,
    from: Position,
}

impl Still {
    pub(super) fn from(now: &Position) -> Self {
        Self {
            since: Instant::now(),
            from: now.clone(),
        }
    }

    pub(super) fn sees(&mut self, now: &Position) {
        if now.moved_since(&self.from) > 0 {
            *self = Self::from(now);
        }
    }

    /// The same, and that nothing moves, once it is for longer than this run's own quotas explain.
    pub(super) fn told(&self, detail: Said) -> Said {
        if self.since.elapsed() < OWN {
            return detail;
        }
        let long = Span::seconds(self.since.elapsed().as_secs());
        said!(
            detail;
            "{detail}; nothing has moved for {long}: its consumers are down, or a broker keeps them muted for what they had fetched before; restart them, that ends either",
            "{detail}；{long} 无进展：消费者未运行，或因此前的拉取仍被 broker 静默；重启消费者即可"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(offset: i64) -> Position {
        super::super::tests::at(offset, 1000)
    }

    #[tokio::test(start_paused = true)]
    async fn a_standstill_is_told_once_no_quota_of_this_run_explains_it() {
        let mut still = Still::from(&at(7));
        let told = |still: &Still| still.told(Said::as_it_is("backlog 993")).en().to_owned();
        tokio::time::advance(OWN - Duration::from_secs(1)).await;
        still.sees(&at(7));
        assert_eq!(told(&still), "backlog 993");
        tokio::time::advance(Duration::from_secs(1)).await;
        let all = told(&still);
        assert!(all.starts_with("backlog 993; nothing has moved for 34s"), "{all}");
        assert!(all.contains("restart them"), "{all}");
        still.sees(&at(8));
        assert_eq!(told(&still), "backlog 993");
    }
}
