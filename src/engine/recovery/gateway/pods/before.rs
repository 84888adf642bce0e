//! How the labels of the targets' pods and their Services stand before the drill, and the right to set the label.

use crate::{
    drivers::{
        Drivers,
        error::DriverError,
        kubernetes::{Pod, Service, Write},
    },
    engine::recovery::{
        gently,
        pods::PodPlace,
        snapshot::{Part, check, kubernetes::TRIES, refused},
    },
    model::{
        event::{Check, CheckOutcome},
        ids::InstanceName,
        kubernetes::ServingSeen,
        plan::Plan,
        playbook::{Gateway, PodGateway},
        said::{Said, said},
    },
};

use super::load::Load;

pub(in crate::engine::recovery) async fn read_serving(plan: &Plan, drivers: &Drivers) -> Part<ServingSeen> {
    let Some(Gateway::Pods(gateway)) = &plan.drill.recovery.gateway else {
        return Part::join(Vec::new());
    };
    let targets = &plan.drill.targets.instances;
    let looks = targets.iter().map(async |instance| {
        let key = &gateway.key;
        let what = said!("label {key} of {instance}'s pod", "{instance} 的 Pod 标签 {key}");
        match read_label(drivers, gateway, instance).await {
            Err(error) => Part::refused(what, &error),
            Ok((seen, keeper)) => {
                let check = label_check(what, gateway, &seen, keeper);
                Part {
                    found: vec![seen],
                    checks: vec![check],
                }
            }
        }
    });
    let mut part = Part::join(gently(looks).await);
    if let Some(check) = load_check(drivers, gateway, &part.found).await {
        part.checks.push(check);
    }
    part
}

async fn read_label(
    drivers: &Drivers,
    gateway: &PodGateway,
    instance: &InstanceName,
) -> Result<(ServingSeen, Keeper), DriverError> {
    let place = PodPlace::of(drivers, &gateway.pods, instance)?;
    let (cluster, key) = (place.cluster, &gateway.key);
    let pod = place.only().await?;
    let services = by_label(cluster.services(&place.namespace).await?, gateway);
    // The Services that it is in, or would be in with another value of this label.
    let for_it: Vec<&Service> = services.iter().filter(|s| s.has_but(&pod.labels, key)).collect();
    let refuse = |answer: String| DriverError::Conflict {
        what: format!("label {key} of {}", pod.id),
        answer,
    };
    if for_it.is_empty() {
        return Err(refuse(format!(
            "no Service of namespace {} finds it by this label: it would take nothing out",
            place.namespace
        )));
    }
    if let Some(service) = for_it.iter().find(|s| s.selector.get(key) == Some(&gateway.out)) {
        let out = &gateway.out;
        return Err(refuse(format!(
            "Service {} selects {key}={out}: that takes nothing out",
            service.name
        )));
    }
    let mut keeper = Keeper::LetsItStay;
    if let Some(owner) = &pod.owner {
        match cluster.keeps_by(&place.namespace, owner).await? {
            None => keeper = Keeper::NotKnown(owner.to_string()),
            Some(keys) if keys.contains(key) => {
                return Err(refuse(format!(
                    "{owner} keeps its pods by it: it would let this one go and make another"
                )));
            }
            Some(_) => {}
        }
    }
    may_set(&place, pod.clone(), gateway).await?;
    let values: Vec<&String> = for_it.iter().filter_map(|s| s.selector.get(key)).collect();
    let same = values.windows(2).all(|pair| pair[0] == pair[1]);
    let inside = for_it.iter().filter(|s| s.has(&pod.labels));
    let seen = ServingSeen {
        instance: instance.clone(),
        label: pod.labels.get(key).cloned(),
        serves_with: values.first().filter(|_| same).map(|v| (*v).clone()),
        services: inside.map(|s| s.name.clone()).collect(),
        ready: pod.is_ready,
        selector: place.selector,
        pod: pod.id,
    };
    Ok((seen, keeper))
}

/// What keeps a pod may keep it by the label that takes it out.
enum Keeper {
    /// It does not, or there is none.
    LetsItStay,
    /// It is of a kind that does not tell.
    NotKnown(String),
}

/// Proves the right to set the label. A pod changes between reading and writing, when its kubelet reports.
async fn may_set(place: &PodPlace<'_>, mut pod: Pod, gateway: &PodGateway) -> Result<(), DriverError> {
    for _ in 0..TRIES {
        let out = Some(gateway.out.as_str());
        match place
            .cluster
            .set_label(&pod, &gateway.key, out, Write::DryRun)
            .await
        {
            Err(DriverError::Conflict { .. }) => pod = place.only().await?,
            proved => return proved,
        }
    }
    place
        .cluster
        .set_label(&pod, &gateway.key, Some(&gateway.out), Write::DryRun)
        .await
}

/// The Services that select by the gateway's label.
pub(super) fn by_label(services: Vec<Service>, gateway: &PodGateway) -> Vec<Service> {
    services
        .into_iter()
        .filter(|s| s.selector.contains_key(&gateway.key))
        .collect()
}

fn label_check(what: Said, gateway: &PodGateway, seen: &ServingSeen, keeper: Keeper) -> Check {
    let value = match &seen.label {
        Some(value) => Said::as_it_is(value),
        None => said!("not there", "无"),
    };
    let names = seen.services.join(", ");
    let inside = match names.is_empty() {
        true => said!("in no Service by it", "不在任何 Service 中"),
        false => said!("in Service {names}", "在 Service {names} 中"),
    };
    let ready = match seen.ready {
        true => said!("Ready", "已 Ready"),
        false => said!("not Ready", "未 Ready"),
    };
    let (pod, out) = (&seen.pod, &gateway.out);
    let shown = said!(
        value, inside, ready;
        "{pod}: {value}, {inside}, {ready}; may be set to {out} (dry run)",
        "{pod}：{value}，{inside}，{ready}；可设为 {out}（试运行）"
    );
    if let Keeper::NotKnown(owner) = keeper {
        let next = said!(
            "whether {owner} keeps its pods by it is not known: if so, it lets this one go and makes another",
            "{owner} 是否凭此标签管理 Pod 不明：若是，它会放开这个并另建一个"
        );
        return check(what, CheckOutcome::Warned, shown, Some(next));
    }
    let (outcome, next) = match (seen.services.is_empty(), seen.ready) {
        (true, _) => (
            CheckOutcome::Warned,
            Some(said!(
                "it takes no traffic already; recovery will leave it so",
                "现已不接流量；恢复会保持原样"
            )),
        ),
        (_, false) => (
            CheckOutcome::Warned,
            Some(said!(
                "it is not Ready: it takes no traffic already",
                "未 Ready：现已不接流量"
            )),
        ),
        (false, true) => (CheckOutcome::Passed, None),
    };
    check(what, outcome, shown, next)
}

async fn load_check(drivers: &Drivers, gateway: &PodGateway, seen: &[ServingSeen]) -> Option<Check> {
    let (cluster, first) = (drivers.kubernetes().ok()?, seen.first()?);
    let without = names(seen);
    let what = said!("what is left without {without}", "摘除 {without} 后的余量");
    let services = cluster.services(&first.pod.namespace).await;
    let load = match services {
        Ok(services) => {
            let targets: Vec<String> = seen.iter().map(|s| s.pod.uid.clone()).collect();
            Load::read(
                cluster,
                &first.pod.namespace,
                by_label(services, gateway),
                targets,
            )
            .await
        }
        Err(error) => Err(error),
    };
    Some(match load.map(|load| load.rest()) {
        Err(error) => refused(what, &error),
        Ok(Ok(rest)) => check(what, CheckOutcome::Passed, rest, None),
        Ok(Err(why)) => check(
            what,
            CheckOutcome::Warned,
            why,
            Some(said!(
                "recovery will not take the targets out of traffic while this is so",
                "只要如此，恢复就不会摘除目标"
            )),
        ),
    })
}

fn names(seen: &[ServingSeen]) -> String {
    let names: Vec<&str> = seen.iter().map(|s| s.instance.as_str()).collect();
    names.join(", ")
}

/// Whether a pod is in one of these Services.
pub(super) fn is_in(services: &[Service], pod: &Pod) -> bool {
    services.iter().any(|s| s.has(&pod.labels))
}
