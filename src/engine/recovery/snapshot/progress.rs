//! How far preflight's reading is: a hundred instances that answer slowly take their time, and nobody shall wonder.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::time::{MissedTickBehavior, interval};

/// How often it is told.
const EVERY: Duration = Duration::from_secs(2);

/// What was asked for, and what of it has ended. A thing that is asked for in parts counts as one, and its parts as well.
#[derive(Debug, Default)]
pub(in crate::engine::recovery) struct Count {
    asked: AtomicUsize,
    ended: AtomicUsize,
}

impl Count {
    pub(in crate::engine::recovery) fn asked(&self, things: usize) {
        self.asked.fetch_add(things, Relaxed);
    }

    pub(in crate::engine::recovery) fn ended(&self) {
        self.ended.fetch_add(1, Relaxed);
    }
}

tokio::task_local! {
    static COUNT: Arc<Count>;
}

/// Where this task's reading is counted, if anybody wants to know.
pub(in crate::engine::recovery) fn count() -> Option<Arc<Count>> {
    COUNT.try_with(Arc::clone).ok()
}

/// Does it, and tells every two seconds how many of the things that were asked for have ended, and how many there are.
pub(super) async fn told<T>(work: impl Future<Output = T>, tell: impl Fn(usize, usize)) -> T {
    let count = Arc::new(Count::default());
    let watched = COUNT.scope(count.clone(), work);
    tokio::pin!(watched);
    let mut clock = interval(EVERY);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first tick comes at once.
    clock.tick().await;
    loop {
        tokio::select! {
            done = &mut watched => return done,
            _ = clock.tick() => tell(count.ended.load(Relaxed), count.asked.load(Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::engine::recovery::gently;

    #[tokio::test(start_paused = true)]
    async fn slow_instances_are_told_while_they_are_read() {
        let said = RefCell::new(Vec::new());
        let slow = (0..100).map(async |_| tokio::time::sleep(Duration::from_millis(3300)).await);
        let tell = |ended, asked| said.borrow_mut().push((ended, asked));
        // Only what is asked while it is watched counts.
        let read = async { gently(slow).await };
        assert_eq!(told(read, tell).await.len(), 100);
        let said = said.into_inner();
        // 32 at once, three seconds and a bit each.
        assert_eq!(
            said,
            [(0, 100), (32, 100), (32, 100), (64, 100), (96, 100), (96, 100)]
        );
    }
}
