//! The guard's lines: value, limit, room and age of each.

use super::{
    super::{
        cells::Strip,
        scene::{Scene, health_role},
        theme::Role,
    },
    heading, sign,
};
use crate::{
    model::{
        event::{GuardHeader, Health},
        text::Word,
    },
    view::{GuardView, guard_label},
};

/// The heading and at most `most` guards. Which are shown depends on the room alone, so that none moves; what does not
/// fit is summed up in one line that says whether it holds.
pub(super) fn block(scene: &Scene<'_>, width: usize, most: usize) -> Vec<Strip> {
    let Some(header) = scene.header().filter(|h| !h.guard.is_empty()) else {
        return vec![heading(scene.t("GUARD  none", "守护  无"))];
    };
    let columns = Columns::of(width);
    let shown = if header.guard.len() > most {
        most.saturating_sub(1)
    } else {
        header.guard.len()
    };
    let mut lines = vec![columns.titles(scene)];
    for (index, guard) in header.guard.iter().enumerate().take(shown) {
        let state = scene.view.guards.get(index).and_then(Option::as_ref);
        lines.push(columns.line(scene, guard, state));
    }
    if shown < header.guard.len() {
        lines.push(rest(scene, &header.guard, shown));
    }
    lines
}

struct Columns {
    label: usize,
    width: usize,
}

const NOW: usize = 10;
const LIMIT: usize = 12;
const ROOM: usize = 9;
const AGE: usize = 5;
const STATE: usize = 14;

impl Columns {
    fn of(width: usize) -> Self {
        let fixed = 3 + NOW + LIMIT + ROOM + AGE + STATE;
        Self {
            label: width.saturating_sub(fixed).clamp(12, 40),
            width,
        }
    }

    fn titles(&self, scene: &Scene<'_>) -> Strip {
        heading(scene.t("GUARD", "守护"))
            .filled(3 + self.label)
            .col(Role::Dim, scene.t("now", "当前"), NOW)
            .col(Role::Dim, scene.t("limit", "界限"), LIMIT)
            .col(Role::Dim, scene.t("room", "余量"), ROOM)
            .col(Role::Dim, scene.t("age", "时龄"), AGE)
            .cut_to(self.width)
    }

    fn line(&self, scene: &Scene<'_>, guard: &GuardHeader, state: Option<&GuardView>) -> Strip {
        let label = guard_label(guard);
        let Some(view) = state else {
            return Strip::default()
                .gap(3)
                .col(Role::Plain, label, self.label)
                .col(Role::Dim, "--", NOW)
                .col(Role::Plain, &guard.limit, LIMIT)
                .col(Role::Dim, "--", ROOM)
                .col(Role::Dim, "--", AGE)
                .text(Role::Dim, scene.t("not read yet", "尚未读取"));
        };
        let health = view.state.health;
        let role = health_role(health);
        let (value, why) = match &view.state.reading.value {
            Ok(level) => (scene.unit(&guard.metric).show(level.0), None),
            Err(gap) => (scene.t("NO DATA", "无数据").to_owned(), Some(gap.to_string())),
        };
        let (age_role, age) = scene.age_piece(view.state.reading.age, view.at);
        let value_role = if health == Health::Holds {
            Role::Plain
        } else {
            role
        };
        let mut strip = sign(role)
            .col(Role::Plain, label, self.label)
            .col(value_role, value, NOW)
            .col(Role::Plain, &guard.limit, LIMIT)
            .col(value_role, room(scene, guard, view), ROOM)
            .col(age_role, age, AGE)
            .text(role, standing(scene, guard, view));
        if view.state.reading.partial {
            strip = strip.text(Role::Look, scene.t(" partial", " 不完整"));
        }
        match why {
            Some(why) if self.width > 100 => strip.gap(2).text(Role::Dim, why).cut_to(self.width),
            _ => strip.cut_to(self.width),
        }
    }
}

/// What is left to the limit. Over it, the word says so.
fn room(scene: &Scene<'_>, guard: &GuardHeader, view: &GuardView) -> String {
    match view.state.room {
        None if matches!(view.state.health, Health::Bad | Health::Broken) => {
            scene.t("OVER", "越限").to_owned()
        }
        None => "--".to_owned(),
        Some(room) if room < 0.0 => scene.t("OVER", "越限").to_owned(),
        Some(room) => {
            let change = scene.unit(&guard.metric).show_change(room);
            change.trim_start_matches('+').to_owned()
        }
    }
}

/// `holds`, `BAD 1 of 3`.
fn standing(scene: &Scene<'_>, guard: &GuardHeader, view: &GuardView) -> String {
    let word = view.state.health.word(scene.lang());
    match view.state.health {
        Health::Holds | Health::Blind | Health::BlindTooLong => word.to_owned(),
        Health::Bad | Health::Broken => {
            format!(
                "{word} {} {} {}",
                view.state.bad,
                scene.t("of", "/"),
                guard.samples
            )
        }
    }
}

/// The guards that have no line of their own, in one.
fn rest(scene: &Scene<'_>, guards: &[GuardHeader], shown: usize) -> Strip {
    let count = guards.len() - shown;
    let hidden = guards.iter().enumerate().skip(shown);
    let standing =
        hidden.map(|(index, guard)| (guard, scene.view.guards.get(index).and_then(Option::as_ref)));
    let troubled: Vec<_> = standing
        .clone()
        .filter_map(|(guard, view)| {
            view.filter(|v| v.state.health != Health::Holds)
                .map(|v| (guard, v))
        })
        .collect();
    let unread = standing.filter(|(_, view)| view.is_none()).count();
    match troubled.first() {
        Some((guard, view)) => {
            let words = scene.t("more do not hold:", "项不成立:");
            let text = format!(
                "{} / {count} {words} {} {} ({}) {}",
                troubled.len(),
                guard_label(guard),
                view.state
                    .reading
                    .value
                    .as_ref()
                    .map_or("--".to_owned(), |l| scene.unit(&guard.metric).show(l.0)),
                guard.limit,
                view.state.health.word(scene.lang())
            );
            sign(Role::Look).text(Role::Look, text)
        }
        None if unread > 0 => {
            let words = scene.t("more, not read yet:", "项其他, 尚未读取:");
            Strip::default()
                .gap(3)
                .text(Role::Dim, format!("{count} {words} {unread}"))
        }
        None => Strip::default().gap(3).text(
            Role::Good,
            format!("{count} {}", scene.t("more hold", "项其他均成立")),
        ),
    }
}
