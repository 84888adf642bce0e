//! The kubeconfig of an environment, fixed when a run is planned: a keeper knows nothing of the shell that it was started from, and
//! whoever switches the file's current context meanwhile must not lead it to another cluster.

use std::path::{Path, PathBuf};

use super::error::Failure;
use crate::{
    drivers::kubernetes::kubeconfig,
    model::environment::{Environment, Kubernetes},
};

/// The environment with the absolute path of its kubeconfig and the context that is meant.
pub fn pinned(mut environment: Environment, folder: &Path) -> Result<Environment, Failure> {
    let Some(cluster) = &mut environment.kubernetes else {
        return Ok(environment);
    };
    let path = match &cluster.kubeconfig {
        Some(path) => folder.join(path),
        None => usual()?,
    };
    let path = std::path::absolute(&path).unwrap_or(path);
    let found = kubeconfig(&path, cluster.context.as_deref()).map_err(|why| {
        Failure::Usage(format!(
            "environment `{}`, Kubernetes: {why}; correct `kubeconfig` or `context` in allclear.yaml",
            environment.name
        ))
    })?;
    *cluster = Kubernetes {
        kubeconfig: Some(found.path.display().to_string()),
        context: Some(found.context),
        namespaces: std::mem::take(&mut cluster.namespaces),
    };
    Ok(environment)
}

/// Where `kubectl` looks. Several files at once are merged by it: which of them holds what is not guessed here.
fn usual() -> Result<PathBuf, Failure> {
    let listed = std::env::var_os("KUBECONFIG").filter(|list| !list.is_empty());
    if let Some(list) = listed {
        let mut paths = std::env::split_paths(&list);
        return match (paths.next(), paths.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(Failure::Usage(
                "KUBECONFIG names several files: name the one that is meant, as `kubeconfig` in allclear.yaml".into(),
            )),
        };
    }
    let home = std::env::var_os("HOME").ok_or_else(|| {
        Failure::Usage("neither KUBECONFIG nor HOME is set: name `kubeconfig` in allclear.yaml".into())
    })?;
    Ok(Path::new(&home).join(".kube/config"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{environment::Stage, ids::Namespace};

    const FILE: &str = "
apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: \"https://a.example\"}}]
users: [{name: u, user: {token: very-secret}}]
contexts: [{name: preprod, context: {cluster: a, user: u}}, {name: production, context: {cluster: a, user: u}}]
current-context: preprod
";

    fn environment(kubeconfig: &str, context: Option<&str>) -> Environment {
        let mut environment = crate::drivers::testing::environment(&[]);
        environment.stage = Stage::Preprod;
        environment.kubernetes = Some(Kubernetes {
            kubeconfig: Some(kubeconfig.into()),
            context: context.map(str::to_owned),
            namespaces: vec![Namespace::new("shop").unwrap()],
        });
        environment
    }

    #[test]
    fn path_and_context_are_fixed_and_no_secret_comes_with_them() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("kube.yaml"), FILE).unwrap();
        let pinned =
            pinned(environment("kube.yaml", None), folder.path()).unwrap_or_else(|_| panic!("it is read"));
        let cluster = pinned.kubernetes.as_ref().unwrap();
        assert_eq!(cluster.context.as_deref(), Some("preprod"));
        let path = cluster.kubeconfig.as_deref().unwrap();
        assert_eq!(Path::new(path), folder.path().join("kube.yaml"));
        assert!(!serde_json::to_string(&pinned).unwrap().contains("secret"));
    }

    #[test]
    fn a_context_that_the_file_lacks_and_a_file_that_is_not_there_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("kube.yaml"), FILE).unwrap();
        assert!(pinned(environment("kube.yaml", Some("staging")), folder.path()).is_err());
        assert!(pinned(environment("other.yaml", None), folder.path()).is_err());
    }
}
