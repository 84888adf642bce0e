//! Reach, stops, expiry, what was left by earlier runs: the lines that say how far a run can go.

use super::super::{
    cells::{self, Strip},
    scene::Scene,
    theme::Role,
};
use crate::view::{SnapshotView, reach_line, snapshot_line};

/// The lines, cut to `width`.
pub(super) fn facts(scene: &Scene<'_>, width: usize) -> Vec<Strip> {
    let mut lines = Vec::new();
    let mut say = |name: &str, role: Role, text: String| {
        lines.push(
            Strip::default()
                .gap(1)
                .col(Role::Strong, name, 7)
                .text(role, text)
                .cut_to(width),
        );
    };
    let most = 3;
    for (index, line) in scene.view.reach.iter().enumerate().take(most) {
        let title = if index == 0 {
            scene.t("REACH", "影响面")
        } else {
            ""
        };
        let full = line
            .threads
            .zip(line.pool)
            .is_some_and(|(t, p)| t >= f64::from(p));
        let role = if full { Role::Look } else { Role::Plain };
        let full = reach_line(line, false, scene.lang());
        let fits = cells::width(&full) + 8 <= width;
        let text = if fits {
            full
        } else {
            reach_line(line, true, scene.lang())
        };
        say(title, role, text);
    }
    if scene.view.reach.len() > most {
        let words = scene.t("more instances, see 5", "个其他实例, 见 5");
        say(
            "",
            Role::Dim,
            format!("{} {words}", scene.view.reach.len() - most),
        );
    }
    if let Some(stops) = scene.view.stops {
        let tripwire = stops.tripwire.map_or("--".to_owned(), |t| t.to_string());
        let text = format!(
            "{} {tripwire}; {} {}-{}",
            scene.t("tripwire", "绊线"),
            scene.t("guard", "守护"),
            stops.guard.0,
            stops.guard.1
        );
        say(scene.t("STOPS", "止损"), Role::Plain, text);
    }
    if let Some(snapshot) = &scene.view.snapshot {
        let ours = SnapshotView {
            foreign: Vec::new(),
            ..snapshot.clone()
        };
        let text = snapshot_line(&ours, scene.lang());
        say(scene.t("RECORD", "快照"), Role::Plain, text);
        if !snapshot.foreign.is_empty() {
            let names = snapshot.foreign.join(", ");
            say(
                "",
                Role::Look,
                format!(
                    "{} {names}",
                    scene.t("not ours, left alone:", "非本次所建, 不动:")
                ),
            );
        }
    }
    lines
}
