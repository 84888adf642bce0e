//! A real control plane whose pods run nowhere.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use allclear::model::{environment::Kubernetes, ids::Namespace};
use serde_json::Value;

use crate::parts_support::{Script, Shared, free_ports, run, typed};

/// A control plane on ports of its own; its data are gone when it is dropped.
pub struct Cluster {
    script: Script,
    pub port: u16,
}

/// The control plane that all tests share which leave it up.
pub async fn shared() -> Arc<Cluster> {
    static SHARED: Shared<Cluster> = Shared::new();
    SHARED.or(Cluster::start()).await
}

impl Cluster {
    pub async fn start() -> Cluster {
        let port = free_ports(&[0, 1, 2, 3, 4, 5]);
        let cluster = Cluster {
            script: Script::new("kubernetes", vec![("PART_PORT", port.to_string())]),
            port,
        };
        cluster.part("up").await;
        cluster
    }

    /// `up`, `down`, `kill`, `second up` or `second kill`.
    pub async fn part(&self, what: &str) {
        let words: Vec<&str> = what.split(' ').collect();
        self.script.does(&words, &[]).await;
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.script.file(name)
    }

    pub fn kubeconfig(&self, user: &str) -> PathBuf {
        self.file(&format!("{user}.kubeconfig"))
    }

    /// The cluster as a user sees it.
    pub fn of(&self, user: &str) -> Kubernetes {
        at(&self.kubeconfig(user))
    }

    /// A user's kubeconfig with another address in it.
    pub fn behind(&self, user: &str, server: &str) -> Kubernetes {
        let own = fs::read_to_string(self.kubeconfig(user)).unwrap();
        let other = own.replace(&format!("https://127.0.0.1:{}", self.port), server);
        assert_ne!(own, other);
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let path = self.kubeconfig(&format!("{user}-{}", COUNT.fetch_add(1, Relaxed)));
        fs::write(&path, other).unwrap();
        at(&path)
    }

    /// What `kubectl` prints in namespace shop, as admin: the system's own tool, never allclear's driver.
    pub async fn kubectl(&self, args: &str) -> String {
        self.kubectl_with(args, None).await
    }

    async fn kubectl_with(&self, args: &str, input: Option<String>) -> String {
        let mut command = Command::new("kubectl");
        let kubeconfig = self.kubeconfig("admin");
        command
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(["-n", "shop"])
            .args(args.split(' '));
        run(command, input).await
    }

    pub async fn apply(&self, yaml: String) {
        self.kubectl_with("apply -f -", Some(yaml)).await;
    }

    /// One field of one object.
    pub async fn field(&self, what: &str, path: &str) -> String {
        self.kubectl(&format!("get {what} -o jsonpath={{{path}}}")).await
    }

    pub async fn uid(&self, pod: &str) -> String {
        self.field(&format!("pod {pod}"), ".metadata.uid").await
    }

    /// The UIDs of an app's pods.
    pub async fn uids(&self, app: &str) -> String {
        self.kubectl(&uids_of(app)).await
    }

    /// Waits until an app has pods, and none of these.
    pub async fn until_replaced(&self, app: &str, old: &str) {
        self.until(&uids_of(app), |uids| !uids.is_empty() && !uids.contains(old))
            .await;
    }

    /// Waits until `kubectl` prints this.
    pub async fn until(&self, args: &str, wanted: impl Fn(&str) -> bool) {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
        loop {
            let now = self.kubectl(args).await;
            if wanted(&now) {
                return;
            }
            assert!(tokio::time::Instant::now() < deadline, "kubectl {args}: {now}");
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }

    /// Deletes a pod, and waits for another of its name: `kubectl delete` alone may miss that it went, and wait for ever.
    pub async fn replace(&self, pod: &str) {
        let old = self.uid(pod).await;
        self.kubectl(&format!("delete pod {pod} --wait=false")).await;
        let args = format!("get pod {pod} --ignore-not-found -o jsonpath={{.metadata.uid}}");
        self.until(&args, |uid| !uid.is_empty() && uid != old).await;
    }

    /// A StatefulSet of so many Ready pods `APP-0`…, and a Service that finds them by `app` and `serving`.
    pub async fn service(&self, app: &str, replicas: u32) {
        self.apply(format!(
            r#"
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: {app}}}
spec:
  replicas: {replicas}
  podManagementPolicy: Parallel
  serviceName: {app}
  selector: {{matchLabels: {{app: {app}}}}}
  template:
    metadata: {{labels: {{app: {app}, serving: "true"}}}}
    spec: {{nodeName: kwok-0, containers: [{{name: app, image: none}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: {app}}}
spec: {{selector: {{app: {app}, serving: "true"}}, ports: [{{port: 80}}]}}
"#
        ))
        .await;
        self.ready(app, replicas).await;
    }

    /// A Deployment of so many Ready pods.
    pub async fn deployment(&self, app: &str, replicas: u32) {
        self.apply(format!(
            r#"
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {app}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {app}}}}}
  template:
    metadata: {{labels: {{app: {app}}}}}
    spec: {{nodeName: kwok-0, terminationGracePeriodSeconds: 1, containers: [{{name: app, image: none}}]}}
"#
        ))
        .await;
        self.ready(app, replicas).await;
    }

    pub async fn ready(&self, app: &str, count: u32) {
        let args = format!(
            "get pod -l app={app} -o jsonpath={{.items[*].status.conditions[?(@.type==\"Ready\")].status}}"
        );
        self.until(&args, |seen| {
            seen.split_whitespace().filter(|s| *s == "True").count() == count as usize
        })
        .await;
    }

    /// The pod's kubelet says that it is not Ready.
    pub async fn is_not_ready(&self, pod: &str) {
        let mut seen: Value =
            serde_json::from_str(&self.kubectl(&format!("get pod {pod} -o json")).await).unwrap();
        for condition in seen["status"]["conditions"].as_array_mut().unwrap() {
            if condition["type"] == "Ready" {
                condition["status"] = "False".into();
            }
        }
        let status = format!("replace --raw /api/v1/namespaces/shop/pods/{pod}/status -f -");
        self.kubectl_with(&status, Some(seen.to_string())).await;
    }

    /// The pod's kubelet says that it has evicted it: such a pod stays listed.
    pub async fn is_evicted(&self, pod: &str) {
        let conditions = r#"[{"type":"Ready","status":"False","reason":"PodFailed"}]"#;
        let status = format!(r#"{{"phase":"Failed","reason":"Evicted","conditions":{conditions}}}"#);
        let args = format!(r#"patch pod {pod} --subresource=status --type=merge -p {{"status":{status}}}"#);
        self.kubectl(&args).await;
    }

    /// The pods that the Service sends to.
    pub async fn endpoints(&self, app: &str) -> BTreeSet<String> {
        let args = format!(
            "get endpointslice -l kubernetes.io/service-name={app} -o jsonpath={{.items[*].endpoints[?(@.conditions.ready==true)].targetRef.name}}"
        );
        self.kubectl(&args)
            .await
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    }
}

fn uids_of(app: &str) -> String {
    format!("get pod -l app={app} -o jsonpath={{.items[*].metadata.uid}}")
}

/// A kubeconfig that allows namespace shop.
pub fn at(path: &Path) -> Kubernetes {
    Kubernetes {
        kubeconfig: Some(path.display().to_string()),
        context: Some("parts".into()),
        namespaces: vec![shop()],
    }
}

pub fn shop() -> Namespace {
    Namespace::new("shop").unwrap()
}

/// Types a command as a person would.
pub async fn by_hand(line: &str) -> String {
    typed(line, &[]).await
}
