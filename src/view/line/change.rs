//! What recovery is about to change: what it was, and what it is to be.

use super::Teller;
use crate::model::undo::ChangeIntent;

impl Teller<'_> {
    pub(super) fn change(&self, change: &ChangeIntent) -> String {
        match change {
            ChangeIntent::Gateway {
                at,
                instance,
                to,
                weight,
                ..
            } => format!(
                "{} {at} {instance} → {to} ({} {weight})",
                self.t("set gateway", "设网关"),
                self.t("was", "原为")
            ),
            ChangeIntent::Breaker { instance, name, to } => {
                format!("{} {name}@{instance} → {to}", self.t("set breaker", "设熔断器"))
            }
            ChangeIntent::Rules {
                instance,
                rules,
                count,
            } => format!(
                "{} {rules}@{instance}: {count}",
                self.t("put back rules", "还原规则")
            ),
            ChangeIntent::Flags { pattern, count } => {
                format!("{} {count}: {pattern}", self.t("delete flags", "删除开关"))
            }
            ChangeIntent::RetryQueue { url, to, .. } => {
                format!("{} {url} → {to}", self.t("set retry queue", "设重试队列"))
            }
            ChangeIntent::Quota { cluster, before, to } => {
                let rate = |bytes: Option<f64>| {
                    bytes.map_or_else(|| self.t("none", "无").to_owned(), |b| format!("{b} B/s"))
                };
                format!(
                    "{} {} @{cluster} → {} ({} {})",
                    self.t("set quota", "设配额"),
                    before.payer,
                    rate(*to),
                    self.t("was", "原为"),
                    rate(before.bytes)
                )
            }
            ChangeIntent::Group {
                cluster,
                broker,
                group,
                before,
                to,
            } => {
                let word = |on: bool| {
                    if on {
                        self.t("on", "开")
                    } else {
                        self.t("off", "关")
                    }
                };
                format!(
                    "{} {group} @{cluster}/{broker} → {} ({} {})",
                    self.t("switch group", "切换消费组"),
                    word(*to),
                    self.t("was", "原为"),
                    word(*before)
                )
            }
            ChangeIntent::Restart { instance, pod } => {
                let pod = pod.as_ref().map(|p| format!(": {p}")).unwrap_or_default();
                format!("{} {instance}{pod}", self.t("restart", "重启"))
            }
            ChangeIntent::Rollout {
                instance, workload, ..
            } => format!("{} {instance}: {workload}", self.t("restart", "重启")),
            ChangeIntent::Label {
                pod, key, before, to, ..
            } => {
                let value = |v: &Option<String>| v.clone().unwrap_or_else(|| self.t("none", "无").to_owned());
                format!(
                    "{} {key} {pod} → {} ({} {})",
                    self.t("set label", "设标签"),
                    value(to),
                    self.t("was", "原为"),
                    value(before)
                )
            }
            ChangeIntent::Scale {
                namespace,
                deployment,
                before,
                to,
            } => format!(
                "{} {namespace}/{deployment} → {to} ({} {before})",
                self.t("scale", "扩缩容"),
                self.t("was", "原为")
            ),
            ChangeIntent::Command { name } => format!("{} {name}", self.t("run command", "执行命令")),
        }
    }
}
