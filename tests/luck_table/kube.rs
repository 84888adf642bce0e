//! One real control plane for all rows of Kubernetes. Each stand has objects, a user and a way to the API server of its own, and what
//! would hit the others as well, a server that dies, happens to a second one of the same data.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};

use crate::{
    kube_part::{Cluster, shared},
    luck::Luck,
    part::{ports, turn_to_start, until},
    proxy::{Place, Proxy, Tls},
};

/// The second API server is one stand's at a time.
static SECOND: Mutex<()> = Mutex::const_new(());

/// A stand's part of the control plane.
pub struct Kube {
    pub cluster: Arc<Cluster>,
    /// The beginning of its objects' names, and the name of its user.
    pub name: String,
    /// As the administrator, to the API server itself.
    admin: reqwest::Client,
    /// What docs/drivers/kubernetes.md says that it needs.
    rules: Value,
    pub proxy: Proxy,
    second: Mutex<Option<MutexGuard<'static, ()>>>,
}

impl Kube {
    pub async fn start(row: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let turn = turn_to_start().await;
        let cluster = shared().await;
        drop(turn);
        let rules = cluster.kubectl("get role allclear -o jsonpath={.rules}").await;
        let kube = Self {
            name: format!("{row}-{}", COUNT.fetch_add(1, Relaxed)),
            admin: admin(&cluster),
            rules: serde_json::from_str(&rules).expect("rules"),
            proxy: Proxy::over_tls(tls(&cluster), ports(1), Place::Tcp(cluster.port)),
            second: Mutex::new(None),
            cluster,
        };
        kube.with_a_user().await;
        kube
    }

    /// The name of what `{target}` makes of the target.
    pub fn order(&self) -> String {
        format!("{}-order", self.name)
    }

    async fn with_a_user(&self) {
        let name = &self.name;
        let group = "rbac.authorization.k8s.io";
        let user = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
        let binding = json!({
            "apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "shop"}]
        });
        self.apply(vec![user, binding]).await;
        self.may_change(true).await;
        let token = self.cluster.kubectl(&format!("create token {name}")).await;
        let bob = fs::read_to_string(self.cluster.kubeconfig("bob")).expect("a kubeconfig");
        let server = format!("127.0.0.1:{}", self.cluster.port);
        let own = bob
            .replace(&server, &self.proxy.address())
            .replace("bob-token", token.trim());
        fs::write(self.kubeconfig(), own).expect("written");
    }

    pub async fn apply(&self, objects: Vec<Value>) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        self.cluster.apply(list.to_string()).await;
    }

    fn kubeconfig(&self) -> PathBuf {
        self.cluster.kubeconfig(&self.name)
    }

    /// What a plan has of it.
    pub fn environment(&self) -> Value {
        json!({"kubeconfig": self.kubeconfig(), "context": "parts", "namespaces": ["shop"]})
    }

    /// Its user may do what the docs say, or only read it.
    async fn may_change(&self, all: bool) {
        let name = &self.name;
        let mut rules = self.rules.clone();
        for rule in rules.as_array_mut().expect("a list") {
            let verbs = rule["verbs"].as_array_mut().expect("a list");
            verbs.retain(|verb| all || ["get", "list"].map(Value::from).contains(verb));
        }
        rules
            .as_array_mut()
            .expect("a list")
            .retain(|rule| rule["verbs"] != json!([]));
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name}, "rules": rules
        });
        self.apply(vec![role]).await;
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
                "user": format!("system:serviceaccount:shop:{name}"),
                "resourceAttributes": {"namespace": "shop", "verb": "patch", "version": "v1", "resource": "pods"}
            }
        });
        // The server's own view of it follows a moment later.
        let so = async || {
            let asked = self
                .admin
                .post(self.url("/apis/authorization.k8s.io/v1/subjectaccessreviews"));
            let answer = answered(asked.json(&review)).await;
            answer.is_some_and(|a| a["status"]["allowed"] == all)
        };
        until("its user's rights", so).await.expect("rights");
    }

    fn url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.cluster.port)
    }

    /// What the API server itself says of something in namespace shop.
    pub async fn get(&self, api: &str, path: &str) -> Option<Value> {
        answered(self.admin.get(self.url(&format!("{api}/namespaces/shop/{path}")))).await
    }

    /// All pods of an app, in the order of their names.
    pub async fn pods(&self, app: &str) -> Option<Vec<Value>> {
        let mut list = self
            .get("/api/v1", &format!("pods?labelSelector=app%3D{app}"))
            .await?;
        let mut pods = std::mem::take(list["items"].as_array_mut()?);
        pods.sort_by_key(|pod| pod["metadata"]["name"].to_string());
        Some(pods)
    }

    /// The luck of an API server.
    pub async fn strike(&self, luck: Luck) {
        match luck {
            Luck::Refuses => self.may_change(false).await,
            Luck::Restarts => {
                // It may be given up in the middle: by then recovery has ended.
                *self.second.lock().await = Some(SECOND.lock().await);
                self.proxy.moves_to(Place::Tcp(self.cluster.port + 5)).await;
                self.cluster.part("second up").await;
            }
            _ => {}
        }
    }

    pub async fn relent(&self, luck: Luck) {
        if luck == Luck::Refuses {
            self.may_change(true).await;
        }
        if let Some(_turn) = self.second.lock().await.take() {
            self.proxy.moves_to(Place::Tcp(self.cluster.port)).await;
            self.cluster.part("second kill").await;
        }
    }
}

/// Running, Ready, and there to stay.
pub fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    let ready =
        conditions.is_some_and(|all| all.iter().any(|c| c["type"] == "Ready" && c["status"] == "True"));
    ready && pod["metadata"]["deletionTimestamp"].is_null()
}

async fn answered(asked: reqwest::RequestBuilder) -> Option<Value> {
    let answer = asked.send().await.ok()?.error_for_status().ok()?;
    answer.json().await.ok()
}

fn admin(cluster: &Cluster) -> reqwest::Client {
    let file = |name: &str| fs::read(cluster.file(&format!("tls/{name}"))).expect("the part's file");
    let _ = rustls::crypto::ring::default_provider().install_default();
    let own = reqwest::Identity::from_pem(&[file("admin.pem"), file("admin.key")].concat());
    let ca = reqwest::Certificate::from_pem(&file("ca.pem")).expect("a certificate");
    reqwest::Client::builder()
        .tls_certs_only([ca])
        .identity(own.expect("its own certificate"))
        .timeout(Duration::from_secs(3))
        .no_proxy()
        .build()
        .expect("a client")
}

/// As the API server itself shows who it is.
fn tls(cluster: &Cluster) -> Tls {
    let file = |name: &str| cluster.file(&format!("tls/{name}"));
    let certificates = |name: &str| {
        let read = CertificateDer::pem_file_iter(file(name)).expect("the part's file");
        read.collect::<Result<Vec<_>, _>>().expect("certificates")
    };
    let key = PrivateKeyDer::from_pem_file(file("apiserver.key")).expect("a key");
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates("ca.pem"));
    let server = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(certificates("apiserver.pem"), key);
    let client = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Tls {
        accepts: Arc::new(server.expect("its certificate")).into(),
        connects: Arc::new(client).into(),
    }
}
