//! Roles and their colours: the terminal's own 16, or none.

use ratatui::style::{Color, Modifier, Style};

use super::Colour;

/// What a piece of text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Text.
    Plain,
    /// Less important.
    Dim,
    /// Headings and names.
    Strong,
    /// Look here.
    Look,
    /// A live fault or a leftover, nothing else.
    Alarm,
    /// It holds; ALL CLEAR.
    Good,
    /// A key to press.
    Key,
    /// The row that is picked.
    Picked,
}

/// How roles look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Theme {
    colour: Colour,
}

impl Theme {
    pub(crate) fn new(colour: Colour) -> Self {
        Self { colour }
    }

    /// The style of a role. Only the 16 colours that a terminal's owner has chosen, and never a background, so that it
    /// can be read on a dark and on a light one.
    pub(crate) fn style(self, role: Role) -> Style {
        let style = Style::default();
        match (role, self.colour) {
            (Role::Plain, _) => style,
            (Role::Dim, _) => style.add_modifier(Modifier::DIM),
            (Role::Strong, _) => style.add_modifier(Modifier::BOLD),
            (Role::Picked, _) => style.add_modifier(Modifier::REVERSED),
            (Role::Look, Colour::Ansi16) => style.fg(Color::Yellow),
            (Role::Alarm, Colour::Ansi16) => style.fg(Color::Red).add_modifier(Modifier::BOLD),
            (Role::Good, Colour::Ansi16) => style.fg(Color::Green),
            (Role::Key, Colour::Ansi16) => style.fg(Color::Cyan).add_modifier(Modifier::BOLD),
            (Role::Look | Role::Key, Colour::None) => style.add_modifier(Modifier::BOLD),
            (Role::Alarm, Colour::None) => style.add_modifier(Modifier::BOLD | Modifier::REVERSED),
            (Role::Good, Colour::None) => style.add_modifier(Modifier::UNDERLINED),
        }
    }
}
