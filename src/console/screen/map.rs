//! The blast radius: services, who calls whom, which instances are hit, which pools and resources they share.

use super::{
    super::{
        cells::{Strip, wrap},
        scene::Scene,
        theme::Role,
    },
    facts, heading,
};
use crate::{
    model::{
        dashboard::TopologyNode,
        event::Header,
        ids::{InstanceName, MetricId},
    },
    view::{Chart, FaultState, short_age},
};

/// The whole body.
pub(super) fn lines(scene: &Scene<'_>, width: usize) -> Vec<Strip> {
    let Some(header) = scene.header() else {
        return vec![heading(scene.t("nothing is known yet", "尚无信息"))];
    };
    let mut lines = vec![heading(scene.t("BLAST RADIUS", "影响面"))];
    for target in &header.targets {
        lines.push(target_line(scene, target).cut_to(width));
    }
    lines.push(Strip::default());
    let hit = hit_services(header);
    for node in &header.topology {
        lines.extend(service(scene, node, &hit, width));
    }
    if header.topology.is_empty() {
        let words = scene.t(" the dashboard has no topology", " 看板未描述拓扑");
        lines.push(Strip::of(Role::Dim, words));
    }
    lines.push(Strip::default());
    for line in &scene.view.reach {
        for (index, part) in wrap(
            &crate::view::reach_line(line, false, scene.lang()),
            width.saturating_sub(10),
        )
        .into_iter()
        .enumerate()
        {
            let title = if index == 0 {
                scene.t("REACH", "影响面")
            } else {
                ""
            };
            lines.push(
                Strip::default()
                    .gap(1)
                    .col(Role::Strong, title, 7)
                    .text(Role::Plain, part),
            );
        }
    }
    let facts = facts::facts(scene, width);
    lines.extend(
        facts
            .into_iter()
            .skip(scene.view.reach.len().min(3) + usize::from(scene.view.reach.len() > 3)),
    );
    lines
}

fn target_line(scene: &Scene<'_>, target: &InstanceName) -> Strip {
    let strip = Strip::of(Role::Strong, " » ").col(Role::Strong, target.as_str(), 20);
    let mut live = scene.view.live_on(target).peekable();
    if live.peek().is_none() {
        let gone = scene
            .view
            .faults
            .iter()
            .filter(|f| f.instance() == Some(target))
            .count();
        return if gone > 0 {
            strip.text(
                Role::Good,
                format!(
                    "{}: {gone}",
                    scene.t("faults gone, read back", "故障已清, 已回读")
                ),
            )
        } else {
            strip.text(Role::Dim, scene.t("target, nothing injected", "目标, 未注入"))
        };
    }
    live.fold(strip, |strip, fault| {
        let word = match fault.state {
            FaultState::Live => scene.t("LIVE", "已注入"),
            _ => scene.t("MAYBE LIVE", "可能已注入"),
        };
        strip
            .text(Role::Alarm, word)
            .gap(1)
            .text(Role::Plain, &fault.what)
            .gap(2)
    })
}

/// Services whose instances are hit: their pool is what the fault fills.
fn hit_services(header: &Header) -> Vec<&TopologyNode> {
    let of = |node: &TopologyNode, target: &InstanceName| {
        target
            .as_str()
            .strip_prefix(node.service.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let hit = |node: &&TopologyNode| header.targets.iter().any(|t| of(node, t));
    header.topology.iter().filter(hit).collect()
}

fn service(scene: &Scene<'_>, node: &TopologyNode, hit: &[&TopologyNode], width: usize) -> Vec<Strip> {
    let is_hit = hit.iter().any(|h| h.service == node.service);
    let calls_hit = hit.iter().any(|h| node.calls.contains(&h.service));
    let shares_hit = hit
        .iter()
        .filter(|h| h.service != node.service)
        .any(|h| h.shares.iter().any(|s| node.shares.contains(s)));
    let (mark, role, word) = if is_hit {
        (" » ", Role::Strong, scene.t("TARGET", "目标"))
    } else if calls_hit {
        (" ! ", Role::Look, scene.t("calls the target", "调用目标"))
    } else if shares_hit {
        (
            " ! ",
            Role::Look,
            scene.t("shares with the target", "与目标共享资源"),
        )
    } else {
        ("   ", Role::Plain, "")
    };
    let strip = Strip::of(role, mark)
        .col(role, node.service.as_str(), 16)
        .col(Role::Plain, format!("×{}", node.instances), 5)
        .col(Role::Plain, pool(scene, node), 24)
        .text(role, word);
    let mut lines = vec![strip.cut_to(width)];
    if !node.calls.is_empty() {
        let names: Vec<_> = node.calls.iter().map(|c| c.as_str()).collect();
        lines.push(
            Strip::default()
                .gap(5)
                .text(Role::Dim, scene.t("└ calls ", "└ 调用 "))
                .text(Role::Plain, names.join(", "))
                .cut_to(width),
        );
    }
    if !node.shares.is_empty() {
        lines.push(
            Strip::default()
                .gap(5)
                .text(Role::Dim, scene.t("└ shares ", "└ 共享 "))
                .text(Role::Plain, node.shares.join(", "))
                .cut_to(width),
        );
    }
    lines
}

/// `pool 41 of 50`, if the pool's metric is read.
fn pool(scene: &Scene<'_>, node: &TopologyNode) -> String {
    let Some(pool) = &node.pool else {
        return String::new();
    };
    let busy = pool.metric.as_ref().and_then(|m| newest(scene, m));
    let words = scene.t("pool", "线程池");
    match busy {
        Some((busy, age)) => {
            format!("{words} {busy:.0} {} {}  {age}", scene.t("of", "/"), pool.threads)
        }
        None => format!("{words} {}", pool.threads),
    }
}

fn newest(scene: &Scene<'_>, metric: &MetricId) -> Option<(f64, String)> {
    let of = |chart: &&Chart| &chart.query.metric == metric;
    let chart = scene.view.charts.iter().find(of)?;
    let point = chart.points.back()?;
    Some((point.value?.0, short_age(scene.since(point.at))))
}
