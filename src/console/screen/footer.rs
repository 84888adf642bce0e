//! The lines at the bottom that never drop: a rule that carries a message, the coach's line, what the keys do now.

use super::super::{
    action::{Action, BINDINGS},
    app::{ANSWER, EXTENSION, Message},
    cells::{Strip, cut, rule, width as cells},
    coach,
    scene::Scene,
    theme::Role,
};
use crate::model::phase::Phase;

/// A rule that carries the message, the coach's line if wanted, and the keys.
pub(crate) fn bottom(scene: &Scene<'_>, width: usize) -> Vec<Strip> {
    let mut lines = vec![message_rule(scene, width)];
    if scene.options.coach {
        lines.push(coached(scene, width));
    }
    lines.push(keys(scene, width));
    lines
}

/// The coach's line: what is happening, and which key to try. Always one, so that nothing moves.
fn coached(scene: &Scene<'_>, width: usize) -> Strip {
    let hint = coach::hint(scene.view, scene.lang());
    let key = format!(" {}", hint.key);
    let what = cut(hint.what, width.saturating_sub(cells(&key) + 4));
    Strip::of(Role::Key, " ▸ ")
        .text(Role::Plain, what)
        .text(Role::Key, key)
}

fn message_rule(scene: &Scene<'_>, width: usize) -> Strip {
    match message(scene) {
        None => rule(width),
        Some((role, text)) => {
            let text = cut(&text, width.saturating_sub(8));
            let rest = width.saturating_sub(cells(&text) + 5);
            rule(3).text(role, format!(" {text} ")).join(rule(rest))
        }
    }
}

/// What was just said to whoever sits here, if it stands still.
pub(super) fn message(scene: &Scene<'_>) -> Option<(Role, String)> {
    let unanswered = scene
        .ui
        .asked
        .filter(|_| scene.view.recovering.is_none() && !scene.over());
    if let Some(asked) = unanswered {
        let waited = scene.since(asked);
        if waited >= ANSWER || matches!(scene.ui.message, Some(Message::NotSent(_))) {
            let words = scene.t(
                "NO ANSWER from the keeper; type elsewhere:",
                "守护进程无应答; 请另开终端输入:",
            );
            return Some((Role::Look, format!("{words} allclear recover {}", scene.run())));
        }
        let words = scene.t("RECOVER SENT, waiting for the keeper", "已发出恢复, 等待守护进程");
        return Some((Role::Look, words.to_owned()));
    }
    let (en, zh) = match scene.ui.message.as_ref()? {
        Message::AlreadyRecovering => ("recovery is running already; see 3", "恢复已在进行; 见 3"),
        Message::Over => ("the run is over; nothing was changed", "演练已结束; 未作改动"),
        Message::ReadOnly => (
            "this console only looks (--read-only)",
            "本终端只读 (--read-only)",
        ),
        Message::PasteIgnored => (
            "paste ignored: it never presses keys",
            "粘贴已忽略: 粘贴不会触发按键",
        ),
        Message::NoteSent => ("note sent", "备注已发出"),
        Message::ExtensionAsked => ("asked for 5m more", "已请求延长 5m"),
        Message::NotInBaseline => ("only the baseline can be extended", "只有静默观察可以延长"),
        Message::NotSent(why) => {
            let words = scene.t("NOT SENT:", "未发出:");
            return Some((Role::Look, format!("{words} {}", why.get(scene.lang()))));
        }
    };
    Some((Role::Plain, scene.t(en, zh).to_owned()))
}

fn keys(scene: &Scene<'_>, width: usize) -> Strip {
    if let Some(note) = &scene.ui.note {
        return note_field(scene, note, width);
    }
    let all: Vec<Strip> = footer(scene)
        .into_iter()
        .map(|(key, words)| {
            Strip::default()
                .gap(1)
                .text(Role::Key, key)
                .gap(1)
                .text(Role::Plain, words)
                .gap(2)
        })
        .collect();
    let mut room = width;
    let mut fits = vec![false; all.len()];
    // The first keys matter most, then the last one: help.
    let order = (0..all.len().min(2))
        .chain(all.len().checked_sub(1))
        .chain(2..all.len());
    for index in order {
        if !fits[index] && all[index].width() <= room {
            room -= all[index].width();
            fits[index] = true;
        }
    }
    let shown = all.into_iter().zip(fits).filter(|(_, fits)| *fits);
    shown.fold(Strip::default(), |strip, (key, _)| strip.join(key))
}

fn note_field(scene: &Scene<'_>, note: &str, width: usize) -> Strip {
    let help = scene.t(
        "Enter send  Esc cancel  Ctrl-R RECOVER",
        "Enter 发送  Esc 取消  Ctrl-R 恢复",
    );
    let room = width.saturating_sub(cells(help) + 12);
    let field = Strip::of(Role::Key, scene.t(" note> ", " 备注> "))
        .text(Role::Plain, tail(note, room))
        .text(Role::Picked, " ");
    field.ending_in(Strip::of(Role::Dim, help).gap(1), width)
}

/// The end of a text, at most `room` cells of it: where one writes.
pub(super) fn tail(text: &str, room: usize) -> &str {
    let mut from = 0;
    for (start, _) in text.char_indices() {
        from = start;
        if cells(&text[start..]) <= room {
            break;
        }
    }
    &text[from..]
}

/// The footer's keys, the most important first. The words depend on what a key would do now.
pub(crate) fn footer(scene: &Scene<'_>) -> Vec<(&'static str, String)> {
    let allowed = |action: Action| {
        let asks = BINDINGS.iter().any(|b| b.action == action && b.asks);
        !(asks && (scene.options.read_only || scene.over()))
    };
    let phase = scene.view.phase.phase;
    let mut keys = Vec::new();
    if allowed(Action::Recover) {
        keys.push(("r", recover_words(scene).to_owned()));
    }
    let leave = if scene.over() {
        scene.t("leave", "离开")
    } else {
        scene.t("leave (run goes on)", "离开 (演练继续)")
    };
    keys.push(("q", leave.to_owned()));
    if allowed(Action::Extend) && matches!(phase, Phase::Preflight | Phase::Baseline) {
        keys.push(("e", format!("{} {EXTENSION}", scene.t("extend", "延长"))));
    }
    keys.push(("1-6", scene.t("screens", "画面").to_owned()));
    if allowed(Action::Note) {
        keys.push(("n", scene.t("note", "备注").to_owned()));
    }
    keys.push(("?", scene.t("help", "帮助").to_owned()));
    keys
}

fn recover_words(scene: &Scene<'_>) -> &'static str {
    let (en, zh) = match scene.view.phase.phase {
        _ if scene.view.recovering.is_some() => ("recovering already", "已在恢复"),
        _ if scene.header().is_none() => ("STOP+RECOVER", "停止并恢复"),
        _ if scene.view.faults.is_empty() => ("cancel (nothing to undo)", "取消 (无可撤销)"),
        _ => ("STOP+RECOVER", "停止并恢复"),
    };
    scene.lang().pick(en, zh)
}
