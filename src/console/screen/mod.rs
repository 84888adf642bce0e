//! The screens, one file each, inside a frame whose first two lines and footer never drop.

mod baseline;
mod charts;
mod facts;
mod findings;
mod footer;
mod frame;
mod guard;
mod help;
mod journal;
mod map;
mod outcome;
mod preflight;
mod recovery;
mod row;
mod sheet;
mod step;
mod tiny;

use ratatui::buffer::Buffer;

use super::{
    cells::Strip,
    scene::Scene,
    theme::{Role, Theme},
};

/// A screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Screen {
    /// The reconciliation sheet; before a fault the baseline, at the end the outcome.
    #[default]
    Sheet,
    /// Charts of every query.
    Charts,
    /// The steps of recovery and the three times.
    Recovery,
    /// What happened, line by line.
    Journal,
    /// The blast radius.
    Map,
    /// What is unexpected and what may remain.
    Findings,
    /// Keys and signs.
    Help,
}

impl Screen {
    /// All of them.
    pub const ALL: [Screen; 7] = [
        Screen::Sheet,
        Screen::Charts,
        Screen::Recovery,
        Screen::Journal,
        Screen::Map,
        Screen::Findings,
        Screen::Help,
    ];
}

/// Below that many cells only the most important is shown.
pub(crate) const SMALLEST: (u16, u16) = (60, 16);

/// What a frame found out about itself.
pub(crate) struct Drawn {
    /// How far one may scroll.
    pub(crate) reach: usize,
    /// How many lines the body has.
    pub(crate) page: usize,
}

/// The body of a screen.
struct Body {
    /// Exactly what is shown.
    lines: Vec<Strip>,
    /// How far one may scroll.
    reach: usize,
}

/// Draws the frame and the screen in it.
pub(crate) fn draw(scene: &Scene<'_>, buffer: &mut Buffer) -> Drawn {
    let area = buffer.area;
    let theme = Theme::new(scene.options.colour);
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        put(buffer, area.top(), &tiny::lines(scene, width, height), theme);
        return Drawn {
            reach: 0,
            page: height,
        };
    }
    let top = frame::top(scene, width);
    let bottom = footer::bottom(scene, width);
    let page = height - top.len() - bottom.len();
    let body = body(scene, width, page);
    put(buffer, area.top(), &top, theme);
    let shown = &body.lines[..body.lines.len().min(page)];
    put(buffer, area.top() + lines(top.len()), shown, theme);
    put(buffer, area.bottom() - lines(bottom.len()), &bottom, theme);
    Drawn {
        reach: body.reach,
        page,
    }
}

fn lines(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

fn put(buffer: &mut Buffer, top: u16, strips: &[Strip], theme: Theme) {
    for (y, strip) in (top..buffer.area.bottom()).zip(strips) {
        strip.draw(buffer, y, theme);
    }
}

fn body(scene: &Scene<'_>, width: usize, height: usize) -> Body {
    match scene.ui.screen {
        Screen::Sheet => Body {
            lines: sheet::lines(scene, width, height),
            reach: 0,
        },
        Screen::Charts => scrolled(scene, charts::lines(scene, width, height), height),
        Screen::Recovery => scrolled(scene, recovery::lines(scene, width), height),
        Screen::Journal => journal::body(scene, width, height),
        Screen::Map => scrolled(scene, map::lines(scene, width), height),
        Screen::Findings => scrolled(scene, findings::lines(scene, width), height),
        Screen::Help => scrolled(scene, help::lines(scene, width), height),
    }
}

/// The part of a long body that is scrolled to. The last line tells how many more there are.
fn scrolled(scene: &Scene<'_>, all: Vec<Strip>, height: usize) -> Body {
    let reach = all.len().saturating_sub(height);
    let from = scene.ui.scroll.min(reach);
    let below = reach - from;
    let mut shown: Vec<Strip> = all.into_iter().skip(from).take(height).collect();
    if below > 0
        && let Some(last) = shown.last_mut()
    {
        *last = more(scene, below + 1);
    }
    Body { lines: shown, reach }
}

fn more(scene: &Scene<'_>, count: usize) -> Strip {
    let text = format!(" … {count} {}", scene.t("more lines, Down", "行在下方, 按 Down"));
    Strip::of(Role::Dim, text)
}

/// As many lines as there is room for; the last one tells how many more there are.
fn fitted(scene: &Scene<'_>, mut strips: Vec<Strip>, room: usize) -> Vec<Strip> {
    let hidden = strips.len().saturating_sub(room);
    strips.truncate(room);
    if hidden > 0
        && let Some(last) = strips.last_mut()
    {
        *last = more(scene, hidden + 1);
    }
    strips
}

/// A heading inside a screen.
fn heading(text: impl AsRef<str>) -> Strip {
    Strip::default().gap(1).text(Role::Strong, text)
}

/// The sign before a line: `!` where one should look.
fn sign(role: Role) -> Strip {
    match role {
        Role::Look | Role::Alarm => Strip::of(role, " ! "),
        _ => Strip::of(role, "   "),
    }
}
