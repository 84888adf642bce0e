//! What is happening at each phase, and which key to try: for those who run a drill for the first time.

use crate::{
    model::{phase::Phase, text::Lang},
    view::{Ending, RunView},
};

/// What is happening, and which key to try on the screens.
pub(crate) struct Hint {
    /// Half a line at the most.
    pub(crate) what: &'static str,
    /// A few words.
    pub(crate) key: &'static str,
}

/// The hint for now.
pub(crate) fn hint(view: &RunView, lang: Lang) -> Hint {
    let (en, zh) = match view.phase.phase {
        _ if view.ending() == Some(Ending::AllClear) => (
            (
                "Every fault was read back as gone, and everything held.",
                "4 shows how.",
            ),
            ("每个故障均已回读确认清除, 且一切保持稳定.", "按 4 看每一步."),
        ),
        _ if view.outcome.is_some() => (
            ("Not everything is proved back.", "What may remain stands above."),
            ("未能证明一切复原.", "可能残留项见上."),
        ),
        Phase::Preflight => (
            (
                "Preflight reads and touches nothing: targets, rights, undo.",
                "Try 5.",
            ),
            ("预检只读, 不触碰任何东西: 目标, 权限, 撤销.", "按 5 看地图."),
        ),
        Phase::Baseline => (
            (
                "Nothing is injected yet: allclear learns what normal is.",
                "Try 2, 5, ?.",
            ),
            ("尚未注入: 先学会什么是正常.", "试试 2, 5, ?."),
        ),
        Phase::Armed => (
            (
                "A deadman stands by: if this process dies, it recovers.",
                "r cancels.",
            ),
            ("替补守护待命: 本进程若死, 由它恢复.", "按 r 取消."),
        ),
        Phase::Running => (
            (
                "The fault is live: what was declared against what is measured.",
                "r ends it.",
            ),
            ("故障已注入: 对比声明与实测.", "按 r 立即恢复."),
        ),
        Phase::Recovering => (
            (
                "Stopping the fault was step 1; the rest is put back now.",
                "3 shows it.",
            ),
            ("停故障只是第 1 步, 其余正在复原.", "按 3 查看."),
        ),
        Phase::Verifying => (
            (
                "Everything is put back; it must hold before ALL CLEAR is said.",
                "Try 3.",
            ),
            ("已全部放回; 保持稳定之后才能宣布全部恢复.", "按 3 查看."),
        ),
        Phase::Closed => (("The run is over.", "q leaves."), ("演练结束.", "按 q 离开.")),
    };
    let (what, key) = match lang {
        Lang::En => en,
        Lang::Zh => zh,
    };
    Hint { what, key }
}
