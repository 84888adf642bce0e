//! What a person can do. One list gives the keys, the footer, the help and the docs.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::screen::Screen;
use crate::model::text::Lang;

/// Something a person can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Stop all faults and put everything back.
    Recover,
    /// The same by Ctrl-C; a second one leaves.
    Interrupt,
    /// Leave; the run goes on.
    Leave,
    /// Show a screen.
    Show(Screen),
    /// Write a note into the journal.
    Note,
    /// Watch the baseline for longer.
    Extend,
    /// Up by one.
    Up,
    /// Down by one.
    Down,
    /// Up by a page.
    PageUp,
    /// Down by a page.
    PageDown,
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// Details of the picked row.
    Details,
    /// Close what is open.
    Back,
    /// The other language.
    Language,
}

/// An action, its keys, and what it says of itself.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// The action.
    pub action: Action,
    /// Its keys as people read them.
    pub keys: &'static str,
    /// What it does, in English.
    pub en: &'static str,
    /// The same in Chinese.
    pub zh: &'static str,
    /// Absent from a console that only looks.
    pub asks: bool,
}

impl Binding {
    /// What it does.
    pub fn text(&self, lang: Lang) -> &'static str {
        lang.pick(self.en, self.zh)
    }
}

const fn binding(action: Action, keys: &'static str, en: &'static str, zh: &'static str) -> Binding {
    Binding {
        action,
        keys,
        en,
        zh,
        asks: matches!(action, Action::Recover | Action::Note | Action::Extend),
    }
}

/// Every action, in the order of the help screen.
pub const BINDINGS: &[Binding] = &[
    binding(
        Action::Recover,
        "r R Ctrl-R",
        "stop all faults and put everything back, at once, without asking; Ctrl-R also while writing",
        "停止全部故障并恢复一切, 立即执行, 不再询问; 输入文字时用 Ctrl-R",
    ),
    binding(
        Action::Interrupt,
        "Ctrl-C",
        "the same; a second Ctrl-C leaves the console",
        "同上; 再按一次 Ctrl-C 离开",
    ),
    binding(Action::Leave, "q", "leave; the run goes on", "离开; 演练继续"),
    binding(Action::Show(Screen::Sheet), "1", "sheet", "对账单"),
    binding(Action::Show(Screen::Charts), "2", "charts", "曲线"),
    binding(Action::Show(Screen::Recovery), "3", "recovery", "恢复"),
    binding(Action::Show(Screen::Journal), "4", "journal", "日志"),
    binding(
        Action::Show(Screen::Map),
        "5",
        "map: the blast radius",
        "地图: 影响面",
    ),
    binding(Action::Show(Screen::Findings), "6", "findings", "缺陷"),
    binding(Action::Show(Screen::Help), "?", "help", "帮助"),
    binding(Action::Note, "n", "write a note into the journal", "写备注到日志"),
    binding(
        Action::Extend,
        "e",
        "watch the baseline for 5m longer",
        "静默观察延长 5m",
    ),
    binding(Action::Up, "Up k", "up", "上"),
    binding(Action::Down, "Down j", "down", "下"),
    binding(Action::PageUp, "PageUp", "a page up", "上一页"),
    binding(Action::PageDown, "PageDown Space", "a page down", "下一页"),
    binding(Action::Home, "Home g", "to the beginning", "到开头"),
    binding(Action::End, "End G", "to the end", "到末尾"),
    binding(
        Action::Details,
        "Enter",
        "details of the picked row",
        "所选行的详情",
    ),
    binding(Action::Back, "Esc", "close what is open", "关闭"),
    binding(Action::Language, "l", "English / 中文", "中文 / English"),
];

/// What a key means outside of text fields.
pub(crate) fn meant(key: &KeyEvent) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if let Some(action) = anywhere(key) {
        return Some(action);
    }
    if key
        .modifiers
        .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
    {
        return None;
    }
    Some(match key.code {
        KeyCode::Char('r' | 'R') => Action::Recover,
        KeyCode::Char('q') => Action::Leave,
        KeyCode::Char('1') => Action::Show(Screen::Sheet),
        KeyCode::Char('2') => Action::Show(Screen::Charts),
        KeyCode::Char('3') => Action::Show(Screen::Recovery),
        KeyCode::Char('4') => Action::Show(Screen::Journal),
        KeyCode::Char('5') => Action::Show(Screen::Map),
        KeyCode::Char('6') => Action::Show(Screen::Findings),
        KeyCode::Char('?' | '？') => Action::Show(Screen::Help),
        KeyCode::Char('n') => Action::Note,
        KeyCode::Char('e') => Action::Extend,
        KeyCode::Char('l') => Action::Language,
        KeyCode::Up | KeyCode::Char('k') => Action::Up,
        KeyCode::Down | KeyCode::Char('j') => Action::Down,
        KeyCode::PageUp => Action::PageUp,
        KeyCode::PageDown | KeyCode::Char(' ') => Action::PageDown,
        KeyCode::Home | KeyCode::Char('g') => Action::Home,
        KeyCode::End | KeyCode::Char('G') => Action::End,
        KeyCode::Enter => Action::Details,
        KeyCode::Esc => Action::Back,
        _ => return None,
    })
}

/// The key behind an Esc, if it is one that recovers. An Esc and a key that come in one packet, as over a slow line, are read as
/// that key with Alt; every other key with Alt means nothing.
pub(crate) fn after_esc(key: &KeyEvent) -> Option<KeyEvent> {
    let alone = KeyEvent {
        modifiers: key.modifiers.difference(KeyModifiers::ALT),
        ..*key
    };
    let recovers = matches!(meant(&alone), Some(Action::Recover | Action::Interrupt));
    (key.modifiers.contains(KeyModifiers::ALT) && recovers).then_some(alone)
}

/// What a key means everywhere, in text fields too.
pub(crate) fn anywhere(key: &KeyEvent) -> Option<Action> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL) && !key.modifiers.contains(KeyModifiers::ALT);
    match key.code {
        _ if key.kind == KeyEventKind::Release || !control => None,
        KeyCode::Char('r' | 'R') => Some(Action::Recover),
        KeyCode::Char('c' | 'C') => Some(Action::Interrupt),
        _ => None,
    }
}
