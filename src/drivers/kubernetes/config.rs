//! The kubeconfig: found and pinned when a run is planned, read again by whoever connects.

use std::path::{Path, PathBuf};

use kube::{
    Client, Config, Error,
    config::{ExecInteractiveMode, KubeConfigOptions, KubeconfigError},
};

use crate::model::text::harmless;

use super::{
    Kubernetes,
    ask::{broken, login},
};
use crate::drivers::error::DriverError;

/// A kubeconfig and the context that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kubeconfig {
    /// Its path.
    pub path: PathBuf,
    /// The context.
    pub context: String,
}

/// Looks a context up: the one that is named, or the file's current one.
///
/// # Errors
/// What is wrong with the file, or which contexts there are.
pub fn kubeconfig(path: &Path, context: Option<&str>) -> Result<Kubeconfig, String> {
    let shown = path.display();
    let file = kube::config::Kubeconfig::read_from(path).map_err(|e| format!("{shown}: {}", said(&e)))?;
    let Some(context) = context.map(str::to_owned).or(file.current_context) else {
        return Err(format!("{shown} has no current context: name one with `context`"));
    };
    if !file.contexts.iter().any(|c| c.name == context) {
        let names: Vec<&str> = file.contexts.iter().map(|c| c.name.as_str()).collect();
        let names = harmless(&names.join(", "), 300);
        return Err(format!(
            "{shown} has no context `{}`; there is {names}",
            harmless(&context, 64)
        ));
    }
    Ok(Kubeconfig {
        path: path.to_owned(),
        context,
    })
}

/// What is wrong with a kubeconfig. A parser's message would show the line, and what stands in it.
fn said(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::ReadConfig(error, _) => error.to_string(),
        KubeconfigError::Parse(_) => "it is no kubeconfig".into(),
        KubeconfigError::LoadContext(name) => format!("it has no context {}", harmless(name, 64)),
        KubeconfigError::LoadClusterOfContext(name) => format!("it has no cluster {}", harmless(name, 64)),
        _ => "it cannot be used: a certificate, a key or an address in it is wrong".into(),
    }
}

impl Kubernetes {
    /// The client, made anew where there is none or its login has run out.
    pub(super) async fn client(&self, what: &str) -> Result<Client, DriverError> {
        let mut kept = self.client.lock().await;
        let now = k8s_openapi::jiff::Timestamp::now();
        if let Some(client) = kept
            .as_ref()
            .filter(|c| c.valid_until().is_none_or(|until| until > now))
        {
            return Ok(client.clone());
        }
        let client = self.connect(what).await?;
        *kept = Some(client.clone());
        Ok(client)
    }

    /// The next request reads the kubeconfig again.
    pub(super) async fn forget(&self) {
        *self.client.lock().await = None;
    }

    async fn connect(&self, what: &str) -> Result<Client, DriverError> {
        let setup = |why: String| DriverError::Setup {
            what: what.to_owned(),
            why,
        };
        let path = self.cluster.kubeconfig.as_deref();
        let path = path.ok_or_else(|| setup("the plan names no kubeconfig".into()))?;
        let unusable = |e: KubeconfigError| setup(format!("kubeconfig {path}: {}", said(&e)));
        let file = kube::config::Kubeconfig::read_from(path).map_err(unusable)?;
        let options = KubeConfigOptions {
            context: self.cluster.context.clone(),
            ..KubeConfigOptions::default()
        };
        let own_proxy = file
            .clusters
            .iter()
            .any(|c| c.cluster.as_ref().is_some_and(|c| c.proxy_url.is_some()));
        let mut config = Config::from_custom_kubeconfig(file, &options)
            .await
            .map_err(unusable)?;
        config.connect_timeout = Some(self.connect.into());
        config.read_timeout = Some(self.call.into());
        config.write_timeout = Some(self.call.into());
        // The steps retry by themselves, within their own time.
        config.default_retry = false;
        if !own_proxy {
            // A proxy of the first shell is no part of the plan.
            config.proxy_url = None;
        }
        if let Some(exec) = &mut config.auth_info.exec {
            // The keeper has no terminal: a plugin that asks would wait for ever.
            exec.interactive_mode = Some(ExecInteractiveMode::Never);
        }
        let made = apart(move || Client::try_from(config)).await;
        match made {
            Some(Ok(client)) => Ok(client),
            Some(Err(Error::Auth(error))) => Err(DriverError::Unauthorized {
                what: what.to_owned(),
                answer: login(&error),
            }),
            Some(Err(error @ Error::ProxyProtocolDisabled { .. })) => {
                drop(error);
                Err(setup(format!(
                    "kubeconfig {path} names a proxy: allclear connects without one"
                )))
            }
            Some(Err(error)) => Err(broken(what, error)),
            None => Err(setup("the login of the kubeconfig could not be tried".into())),
        }
    }
}

/// A credential plugin is a program that is waited for. On a thread of its own, one that hangs keeps nobody: neither who asks, nor
/// the end of this process.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (give, take) = tokio::sync::oneshot::channel();
    let runtime = tokio::runtime::Handle::current();
    let thread = std::thread::Builder::new()
        .name("kubeconfig".into())
        .spawn(move || {
            let _inside = runtime.enter();
            // Nobody waits for it any more where the time was over.
            let _ = give.send(work());
        });
    thread.ok()?;
    take.await.ok()
}
