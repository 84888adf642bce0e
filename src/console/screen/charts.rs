//! A chart of every query of the dashboard's panels: newest at the right, a gap stays a gap, and the axis shows when a
//! fault was live.

use super::{
    super::{
        cells::{Strip, width as cells},
        scene::Scene,
        theme::Role,
    },
    heading,
};
use crate::{
    model::{
        amount::Level,
        sample::Query,
        time::{Moment, Span},
    },
    view::{Chart, FaultView, Point},
};

const BLOCKS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const AXIS: usize = 10;

/// The whole body.
pub(super) fn lines(scene: &Scene<'_>, width: usize, height: usize) -> Vec<Strip> {
    let Some(header) = scene.header() else {
        return vec![heading(scene.t("nothing is known yet", "尚无信息"))];
    };
    let rows = if height < 30 { 2 } else { 4 };
    let mut lines = Vec::new();
    let mut shown: Vec<&Query> = Vec::new();
    let axis = axis(scene, room(width));
    for (title, queries) in &header.panels {
        lines.push(heading(title.get(scene.lang())));
        for query in queries {
            shown.push(query);
            lines.extend(chart(scene, query, &axis, width, rows));
        }
    }
    let others: Vec<&Chart> = scene
        .view
        .charts
        .iter()
        .filter(|c| !shown.contains(&&c.query))
        .collect();
    if !others.is_empty() {
        lines.push(heading(scene.t("other queries of the drill", "演练的其他指标")));
    }
    for other in others {
        lines.extend(chart(scene, &other.query, &axis, width, rows));
    }
    lines
}

fn chart(scene: &Scene<'_>, query: &Query, axis: &Strip, width: usize, rows: usize) -> Vec<Strip> {
    let chart = scene.view.charts.iter().find(|c| &c.query == query);
    let Some(chart) = chart.filter(|c| !c.points.is_empty()) else {
        let words = scene.t("no data yet", "尚无数据");
        return vec![
            Strip::default()
                .gap(3)
                .text(Role::Plain, query.to_string())
                .gap(2)
                .text(Role::Dim, words),
        ];
    };
    let room = room(width);
    let columns = columns(scene, chart, room);
    let mut lines = vec![title(scene, query, chart, width).cut_to(width)];
    let scale = Scale::of(columns.iter().filter_map(|point| (*point)?.value));
    for row in (0..rows).rev() {
        let label = match scale {
            Some(s) if row + 1 == rows => scene.value(&query.metric, Some(Level(s.high))),
            Some(s) if row == 0 => scene.value(&query.metric, Some(Level(s.low))),
            _ => String::new(),
        };
        lines.push(plot_row(&columns, scale, row, rows, &label));
    }
    lines.push(axis.clone());
    lines
}

/// The cells that a chart has for its columns.
fn room(width: usize) -> usize {
    width.saturating_sub(AXIS + 3).max(1)
}

/// Columns are stretches of time as long as a window: the numbers of those that are shown, the last one at the right
/// edge. All charts share them. Those before the run's clock began have none.
fn stretches(scene: &Scene<'_>, room: usize) -> impl Iterator<Item = Option<u64>> {
    let end = if scene.over() {
        scene.view.at
    } else {
        scene.now.max(scene.view.at)
    };
    let last = end.0 / stretch(scene);
    let room = u64::try_from(room).unwrap_or(u64::MAX);
    (0..room).map(move |column| (last + 1 + column).checked_sub(room))
}

/// A column's length in milliseconds.
fn stretch(scene: &Scene<'_>) -> u64 {
    scene.header().map_or(10_000, |h| h.window.0).max(1_000)
}

/// The newest point of each column. A stretch without a point repeats the one before it only if that is less than two
/// windows old: windows do not come to the millisecond.
fn columns<'a>(scene: &Scene<'_>, chart: &'a Chart, room: usize) -> Vec<Option<&'a Point>> {
    let stretch = stretch(scene);
    let mut points = chart.points.iter().peekable();
    let mut newest: Option<&Point> = None;
    stretches(scene, room)
        .map(|number| {
            let until = Moment(number?.saturating_add(1).saturating_mul(stretch));
            while let Some(point) = points.next_if(|p| p.at < until) {
                newest = Some(point);
            }
            newest.filter(|p| until.since(p.at).0 <= stretch * 2)
        })
        .collect()
}

fn title(scene: &Scene<'_>, query: &Query, chart: &Chart, width: usize) -> Strip {
    let newest = chart.points.back();
    let now = scene.value(&query.metric, newest.and_then(|p| p.value));
    let mut strip = Strip::default()
        .gap(3)
        .col(Role::Strong, query.to_string(), 26)
        .text(Role::Strong, now);
    if let Some(point) = newest {
        let (role, age) = scene.age_piece(Span::ZERO, point.at);
        strip = strip
            .gap(2)
            .text(Role::Dim, scene.t("age ", "时龄 "))
            .text(role, age);
    }
    let limit = scene.header().and_then(|h| {
        let guard = h
            .guard
            .iter()
            .find(|g| g.metric == query.metric && g.scope == query.scope)?;
        Some(guard.limit.as_str())
    });
    if let Some(limit) = limit {
        strip = strip
            .gap(2)
            .text(Role::Dim, scene.t("limit ", "界限 "))
            .text(Role::Plain, limit);
    }
    let Some(level) = scene.view.levels.iter().find(|l| &l.query == query) else {
        return strip;
    };
    let show = |level: Level| scene.value(&query.metric, Some(level));
    strip = strip
        .gap(2)
        .text(Role::Dim, scene.t("before ", "之前 "))
        .text(Role::Plain, show(level.level));
    if width >= 110 {
        let seen = format!(" ({}..{})", show(level.seen.0), show(level.seen.1));
        strip = strip.text(Role::Dim, seen);
    }
    strip
}

/// The smallest and the largest finite value.
#[derive(Clone, Copy)]
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(values: impl Iterator<Item = Level>) -> Option<Self> {
        let finite = values.map(|v| v.0).filter(|v| v.is_finite());
        finite.fold(None, |scale: Option<Scale>, v| {
            Some(match scale {
                None => Scale { low: v, high: v },
                Some(s) => Scale {
                    low: s.low.min(v),
                    high: s.high.max(v),
                },
            })
        })
    }

    /// Eighths of a cell, of `8 × rows` in all, at least one so that the smallest value can be seen.
    fn eighths(self, value: f64, rows: usize) -> usize {
        let most = 8 * rows;
        if value == f64::INFINITY {
            return most;
        }
        let range = self.high - self.low;
        if !(range.is_finite() && range > 0.0) {
            return most / 2;
        }
        let share = ((value - self.low) / range).clamp(0.0, 1.0);
        1 + (share * (most - 1) as f64).round() as usize
    }
}

fn plot_row(columns: &[Option<&Point>], scale: Option<Scale>, row: usize, rows: usize, label: &str) -> Strip {
    let mut runs = Runs::default();
    for column in columns {
        let Some(point) = column else {
            runs.push(Role::Plain, " ");
            continue;
        };
        let value = point.value.map(|v| v.0).filter(|v| !v.is_nan());
        match (value, scale) {
            (Some(value), Some(scale)) => {
                let eighths = scale.eighths(value, rows).saturating_sub(8 * row).min(8);
                runs.push(Role::Plain, BLOCKS[eighths]);
            }
            (Some(value), None) if value == f64::INFINITY => runs.push(Role::Plain, BLOCKS[8]),
            _ if row == 0 => runs.push(Role::Look, "·"),
            _ => runs.push(Role::Plain, " "),
        }
    }
    let label_room = AXIS - cells(label).min(AXIS);
    Strip::default()
        .gap(label_room)
        .text(Role::Dim, label)
        .text(Role::Dim, " │")
        .join(runs.strip())
}

/// The time axis, thick where a fault was live.
fn axis(scene: &Scene<'_>, room: usize) -> Strip {
    let stretch = stretch(scene);
    let mut runs = Runs::default();
    for number in stretches(scene, room) {
        let at = number.map(|n| Moment(n.saturating_mul(stretch)));
        let live = scene
            .view
            .faults
            .iter()
            .filter(|f| at.is_some_and(|at| was_live(f, at)));
        match live.max_by_key(|f| f.may_be_live()) {
            Some(fault) if fault.may_be_live() => runs.push(Role::Alarm, "━"),
            Some(_) => runs.push(Role::Strong, "━"),
            None => runs.push(Role::Dim, "─"),
        }
    }
    Strip::default()
        .gap(AXIS)
        .text(Role::Dim, " └")
        .join(runs.strip())
}

fn was_live(fault: &FaultView, at: Moment) -> bool {
    fault.live.is_some_and(|from| from <= at) && fault.gone.is_none_or(|until| at <= until)
}

/// Characters of one role in a row become one piece.
#[derive(Default)]
struct Runs(Vec<(Role, String)>);

impl Runs {
    fn push(&mut self, role: Role, symbol: &str) {
        match self.0.last_mut() {
            Some((last, text)) if *last == role => text.push_str(symbol),
            _ => self.0.push((role, symbol.to_owned())),
        }
    }

    fn strip(self) -> Strip {
        self.0
            .into_iter()
            .fold(Strip::default(), |strip, (role, text)| strip.drawn(role, text))
    }
}
