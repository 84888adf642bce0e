//! How things in Kubernetes stand. Pods by what the API server gave to each alone: a successor of the same name is another pod.

use crate::model::{
    said::{Said, said},
    snapshot::KubernetesSeen,
};

/// Each thing, and how it stands.
pub(super) fn stands(seen: &KubernetesSeen) -> Vec<(Said, Said)> {
    let pods = seen.pods.iter().map(|p| {
        let (instance, selector) = (&p.instance, &p.selector);
        let (pod, uid, ready) = (&p.pod, &p.pod.uid, ready(p.ready));
        let what = said!(
            "the pod of {instance} ({selector})",
            "{instance} 的 Pod（{selector}）"
        );
        (what, said!(ready; "{pod} {uid}, {ready}", "{pod} {uid}，{ready}"))
    });
    let serving = seen.serving.iter().map(|p| {
        let instance = &p.instance;
        let label = match &p.label {
            Some(label) => Said::as_it_is(label),
            None => said!("no label", "无标签"),
        };
        let (pod, uid, ready, services) = (&p.pod, &p.pod.uid, ready(p.ready), p.services.join(" "));
        let how = said!(
            label, ready;
            "{label} on {pod} {uid}, {ready}, in {services}",
            "{pod} {uid} 上为 {label}，{ready}，属于 {services}"
        );
        (said!("the label of {instance}", "{instance} 的标签"), how)
    });
    let rollouts = seen.rollouts.iter().map(|r| {
        let at = match &r.restarted_at {
            Some(at) => Said::as_it_is(at),
            None => said!("never", "从未"),
        };
        let (uid, ready) = (&r.uid, ready(r.ready));
        let how = said!(
            at, ready;
            "restarted {at}, {ready} ({uid})",
            "上次重启 {at}，{ready}（{uid}）"
        );
        (Said::as_it_is(r.workload.to_string()), how)
    });
    let scales = seen.scales.iter().map(|s| {
        let (namespace, deployment) = (&s.namespace, &s.deployment);
        let (replicas, ready, uid) = (s.replicas, s.ready, &s.uid);
        let how = said!(
            "{replicas} replicas, {ready} Ready ({uid})",
            "{replicas} 个副本，{ready} 个 Ready（{uid}）"
        );
        (
            Said::as_it_is(format!("deployment {namespace}/{deployment}")),
            how,
        )
    });
    let route = seen.route.iter().map(|r| {
        let name = format!("HTTPRoute {}/{}", r.namespace, r.route);
        let places = r.backends.iter();
        let places: Vec<String> = places
            .map(|b| format!("{} {}.{}", b.service, b.rule, b.backend))
            .collect();
        let how = format!("{} ({})", places.join(", "), r.uid);
        (Said::as_it_is(name), Said::as_it_is(how))
    });
    pods.chain(serving)
        .chain(rollouts)
        .chain(scales)
        .chain(route)
        .collect()
}

fn ready(is: bool) -> Said {
    match is {
        true => said!("ready", "就绪"),
        false => said!("not ready", "未就绪"),
    }
}
