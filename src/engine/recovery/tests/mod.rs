//! Recovery against real and faithful systems.

use super::*;

#[test]
fn every_step_can_run_on_any_thread() {
    fn sendable<T: Send>(_: impl FnOnce(&'static Scene) -> T) {}
    sendable(|s| faults(s, &[]));
    sendable(|s| end_faults(s, &[]));
    sendable(injector);
    sendable(|s| drain(s, true));
    sendable(breakers_open);
    sendable(flags);
    sendable(hold_retry);
    sendable(pools);
    sendable(traffic);
    sendable(release_retry);
    sendable(left_behind);
    sendable(needs_repair);
    sendable(|s| read_snapshot(&s.plan, &s.drivers));
}
