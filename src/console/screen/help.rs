//! Keys, from the one list of actions, and what the signs mean.

use super::{
    super::{
        action::BINDINGS,
        cells::{Strip, wrap},
        scene::Scene,
        theme::Role,
    },
    heading,
};

/// The whole body.
pub(super) fn lines(scene: &Scene<'_>, width: usize) -> Vec<Strip> {
    let mut lines = vec![heading(scene.t("KEYS", "按键"))];
    let keys = 16;
    for binding in BINDINGS.iter().filter(|b| !(b.asks && scene.options.read_only)) {
        let parts = wrap(binding.text(scene.lang()), width.saturating_sub(keys + 3));
        for (index, part) in parts.into_iter().enumerate() {
            let shown = if index == 0 { binding.keys } else { "" };
            lines.push(
                Strip::default()
                    .gap(2)
                    .col(Role::Key, shown, keys)
                    .text(Role::Plain, part),
            );
        }
    }
    if scene.options.read_only {
        let words = scene.t(
            "this console only looks (--read-only): it cannot recover, extend or note",
            "本终端只读 (--read-only): 不能恢复, 延长或写备注",
        );
        lines.push(Strip::default().gap(2).text(Role::Look, words));
    }
    lines.push(Strip::default());
    lines.push(heading(scene.t("SIGNS", "标记")));
    for (role, sign, en, zh) in [
        (
            Role::Alarm,
            "LIVE",
            "red: a live fault, or something left behind; nothing else is red",
            "红: 故障在身或有残留; 别无他用",
        ),
        (Role::Look, "!", "yellow: look here", "黄: 看这里"),
        (
            Role::Good,
            "ALL CLEAR",
            "green: it holds, or it is proved back",
            "绿: 成立, 或已证明复原",
        ),
        (
            Role::Plain,
            "--",
            "no value: never taken for 0, never for a pass",
            "无数值: 绝不当作 0, 也不算通过",
        ),
        (
            Role::Plain,
            "~",
            "after a verdict: an answer of the source was incomplete",
            "结论之后: 数据源的回答不完整",
        ),
        (
            Role::Plain,
            "age",
            "how old the newest sample behind a value is",
            "时龄: 数值背后最新样本有多旧",
        ),
    ] {
        let parts = wrap(scene.t(en, zh), width.saturating_sub(keys + 3));
        for (index, part) in parts.into_iter().enumerate() {
            let shown = if index == 0 { sign } else { "" };
            lines.push(
                Strip::default()
                    .gap(2)
                    .col(role, shown, keys)
                    .text(Role::Plain, part),
            );
        }
    }
    lines
}
