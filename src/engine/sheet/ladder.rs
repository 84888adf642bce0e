//! Why a fault without effect had none: injector, hits, requests, cache.

use crate::{
    engine::{Engine, faults::track::Track},
    model::{
        event::{Body, Hits},
        said::{Said, said},
        undo::UndoFault,
    },
};

impl Engine {
    /// Why the faults of a group without effect had none.
    pub(in crate::engine) fn ladder(&mut self, group: usize) {
        for step in self
            .schedule
            .members(group)
            .filter(|s| self.schedule.slots[*s].breaks)
            .collect::<Vec<_>>()
        {
            let name = self.plan.drill.steps[step].name.clone();
            let mine: Vec<_> = self.faults.values().filter(|t| t.intent.step == name).collect();
            let rungs = rungs(&mine);
            self.ledger.emit(Body::Ladder { step: name, rungs });
        }
    }
}

/// How far calls got, rung by rung.
fn rungs(mine: &[&Track]) -> Vec<(Said, Said)> {
    let read: Vec<Hits> = mine.iter().filter_map(|t| t.hits).collect();
    let sum = |f: fn(&Hits) -> u64| read.iter().map(f).sum::<u64>();
    let (hits, misses, capped) = (sum(|h| h.hits), sum(|h| h.misses), sum(|h| h.capped));
    let is_rule = mine
        .iter()
        .any(|t| matches!(t.intent.undo, UndoFault::Rule { .. }));
    let (seen, all) = (read.len(), mine.len());
    let at_injector = said!("{seen} of {all} were seen there", "{all} 个中见到 {seen} 个");
    let came_by = match (is_rule, misses, capped) {
        (false, ..) => said!("the load sent nothing", "压测未发出任何请求"),
        (true, 0, 0) => said!("no call came by the point at all", "没有任何调用经过注入点"),
        (true, m, 0) => said!(
            "{m} calls came by, and none matched header, instance and share",
            "经过 {m} 次调用，无一符合标记、实例与比例"
        ),
        (true, m, c) => said!(
            "{m} calls came by, and the cap let {c} of them pass",
            "经过 {m} 次调用，其中 {c} 次因上限放行"
        ),
    };
    let cache = match misses {
        0 => said!(
            "a cache may have answered before the point: look at its hit metric, and at the mark on the traffic",
            "缓存可能在注入点之前已应答：请看其命中指标与流量标记"
        ),
        _ => said!(
            "not the cause: calls reached the point",
            "不是原因：调用已到达注入点"
        ),
    };
    vec![
        (
            said!("fault state at the injector", "注入器处的故障状态"),
            at_injector,
        ),
        (said!("hits", "命中"), Said::as_it_is(hits.to_string())),
        (said!("did the request come by", "请求是否经过"), came_by),
        (said!("did a cache answer", "是否由缓存应答"), cache),
    ]
}
