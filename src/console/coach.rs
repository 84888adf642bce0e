//! One line at each phase that says what is happening and which key to try.

use super::{scene::Scene, screen::Screen};
use crate::{model::phase::Phase, view::Ending};

/// The line for now.
pub(crate) fn hint(scene: &Scene<'_>) -> &'static str {
    let lang = scene.lang();
    let (en, zh) = match scene.view.phase.phase {
        _ if scene.view.ending() == Some(Ending::AllClear) => (
            "Every fault was read back as gone and everything held: that is ALL CLEAR. 4 shows each step that led here, q leaves.",
            "每个故障均已回读确认清除, 且一切保持稳定: 这才是全部恢复. 4 看每一步, q 离开.",
        ),
        _ if scene.over() => (
            "The run is over but not everything is proved back: what may remain stands above, with the command to type.",
            "演练结束, 但未能证明一切复原: 可能残留项及手工命令见上.",
        ),
        Phase::Preflight => (
            "Preflight reads and asks, and touches nothing: targets, rights, undo, blast radius. 5 shows the map.",
            "预检只读只问, 不触碰任何东西: 目标, 权限, 撤销, 影响面. 按 5 看地图.",
        ),
        Phase::Baseline => (
            "Nothing is injected yet: allclear learns what normal looks like, so that noise is not taken for an effect. Try 2, 5, ?.",
            "尚未注入: 先学会什么是正常, 以免把噪声当作效果. 试试 2, 5, ?.",
        ),
        Phase::Armed => (
            "The snapshot is taken and a deadman stands by: if this process dies, another one recovers.",
            "快照已取, 替补守护待命: 本进程若死, 另一进程执行恢复.",
        ),
        Phase::Running if scene.ui.screen == Screen::Sheet => (
            "The fault is live. Each row compares what was declared with what is measured. r ends it all at once; try 2 for charts.",
            "故障已注入. 每行对比声明与实测. 按 r 立即全部恢复; 按 2 看曲线.",
        ),
        Phase::Running => (
            "The fault is live. 1 is the sheet; r stops the fault and puts everything back, from any screen.",
            "故障已注入. 1 是对账单; 任何画面按 r 即停止故障并恢复一切.",
        ),
        Phase::Recovering => (
            "Stopping the fault is only step 1: breakers, flags, queues, pools and traffic follow, each read back. 3 shows them.",
            "停故障只是第 1 步: 熔断器, 开关, 队列, 线程池, 流量依次恢复并回读. 按 3 查看.",
        ),
        Phase::Verifying => (
            "Everything is put back; now it has to hold before ALL CLEAR may be said.",
            "已全部放回; 保持稳定之后才能宣布全部恢复.",
        ),
        Phase::Closed => ("The run is over. q leaves.", "演练结束. 按 q 离开."),
    };
    lang.pick(en, zh)
}
