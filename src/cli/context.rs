//! What every command starts from: the configuration, the state directory, the drills that can be found.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use super::{error::Failure, kubeconfig, options::Common, range_environment, say, shipped};
use crate::{
    journal::StateDir,
    model::{
        dashboard::Dashboard,
        drill::Drill,
        environment::{Environment, SecretRef},
        ids::{DashboardName, EnvironmentName},
        secret::{SecretText, Secrets},
        text::{Lang, nearest},
    },
    range,
    spec::{self, Config, Diagnostics, Source},
};

/// The name of the built-in environment.
const RANGE: &str = "range";

/// A file that a user wrote is never larger.
const MAX_FILE: u64 = 1 << 20;

/// The configuration of this call.
pub struct Context {
    pub lang: Lang,
    config: Option<Config>,
    /// The folder of the configuration file, which its relative paths start from.
    folder: PathBuf,
    state_dir: Option<PathBuf>,
}

/// A drill, checked, and where it came from.
pub struct Loaded {
    pub drill: Drill,
    pub source: Source,
    pub folder: PathBuf,
    /// What is no error and worth saying.
    pub warnings: Diagnostics,
}

impl Context {
    /// Reads the configuration, if there is one.
    pub fn open(common: &Common) -> Result<Self, Failure> {
        let path = common.config.clone().or_else(|| {
            let here = PathBuf::from("allclear.yaml");
            here.exists().then_some(here)
        });
        let config = match &path {
            Some(path) => {
                let read = spec::read_config(&file(path)?).map_err(|e| Failure::Files(Box::new(e)))?;
                Some(read.value)
            }
            None => None,
        };
        let lang = match (common.lang, config.as_ref().and_then(|c| c.lang)) {
            (None, Some(lang)) => lang,
            _ => common.lang(),
        };
        let folder = path
            .as_deref()
            .and_then(Path::parent)
            .map(Path::to_owned)
            .unwrap_or_default();
        let named = config
            .as_ref()
            .and_then(|c| c.state_dir.as_ref())
            .map(|d| folder.join(d));
        Ok(Self {
            lang,
            config,
            folder,
            state_dir: common.state_dir.clone().or(named),
        })
    }

    /// The state directory, made if need be.
    pub fn state(&self) -> Result<StateDir, Failure> {
        state(self.state_dir.clone())
    }

    /// An environment by name; without one, the configuration's default, or the range.
    pub fn environment(&self, name: Option<&str>) -> Result<Environment, Failure> {
        let configured = self.config.as_ref();
        let name = match name {
            Some(name) => EnvironmentName::new(name).map_err(Failure::usage)?,
            None => match configured.and_then(|c| c.default.clone()) {
                Some(name) => name,
                None => EnvironmentName::new(RANGE).map_err(Failure::usage)?,
            },
        };
        if let Some(environment) = configured.and_then(|c| c.environments.get(&name)) {
            return Ok(environment.clone());
        }
        if name.as_str() == RANGE {
            return range_environment::environment(&range::default_endpoints());
        }
        let known: Vec<&str> = configured
            .iter()
            .flat_map(|c| c.environments.keys())
            .map(|n| n.as_str())
            .collect();
        Err(Failure::Usage(format!(
            "no environment `{name}`: there is {}",
            known.into_iter().chain([RANGE]).collect::<Vec<_>>().join(", ")
        )))
    }

    /// The environment as a run is to have it: with what the keeper cannot look up for itself.
    pub fn pinned(&self, environment: Environment) -> Result<Environment, Failure> {
        kubeconfig::pinned(environment, &self.folder)
    }

    /// A drill by path, or by name: beside us in expectations/, or one that comes with allclear.
    pub fn drill(&self, asked: &str) -> Result<Loaded, Failure> {
        let (source, folder) = find_drill(asked)?;
        let dashboards = |name: &DashboardName| self.dashboard(name, &folder);
        let read = spec::read_drill(&source, &dashboards).map_err(|e| Failure::Files(Box::new(e)))?;
        let source_path = source.path.clone();
        Ok(Loaded {
            drill: read.value,
            source,
            folder,
            warnings: Diagnostics {
                path: source_path,
                all: read.warnings,
            },
        })
    }

    /// A dashboard by name: beside the drill, beside its folder, in the configuration's folders, or shipped.
    fn dashboard(&self, name: &DashboardName, drill_folder: &Path) -> Option<Dashboard> {
        let file_name = format!("{name}.yaml");
        let extra = self
            .config
            .iter()
            .flat_map(|c| &c.dashboards)
            .map(|d| self.folder.join(d));
        let places = [
            drill_folder.to_owned(),
            drill_folder.join("../dashboards"),
            PathBuf::from("dashboards"),
        ];
        let found = places
            .into_iter()
            .chain(extra)
            .map(|p| p.join(&file_name))
            .find(|p| p.is_file());
        let source = match found {
            Some(path) => file(&path)
                .inspect_err(|failure| {
                    failure.report();
                })
                .ok()?,
            None => shipped::dashboard(name.as_str())?,
        };
        match spec::read_dashboard(&source) {
            Ok(read) => Some(read.value),
            Err(diagnostics) => {
                say::err_text(super::error::shown(&diagnostics));
                None
            }
        }
    }
}

/// The state directory that is asked for, by option or configuration. A configuration that cannot be read must not stand
/// between a person and the recovery: it is said, and the usual place is taken.
pub fn state_dir_of(common: &Common) -> Option<PathBuf> {
    if common.state_dir.is_some() {
        return common.state_dir.clone();
    }
    match Context::open(common) {
        Ok(context) => context.state_dir,
        Err(failure) => {
            failure.report();
            say::err("allclear: the configuration cannot be used; runs are looked for in the usual place");
            None
        }
    }
}

/// The state directory at `path`, or at its usual place.
pub fn state(path: Option<PathBuf>) -> Result<StateDir, Failure> {
    Ok(StateDir::open(state_path(path)?)?)
}

/// Where the state directory is or would be.
pub fn state_path(path: Option<PathBuf>) -> Result<PathBuf, Failure> {
    match path {
        Some(path) => Ok(path),
        None => {
            let xdg = std::env::var_os("XDG_STATE_HOME");
            let home = std::env::var_os("HOME");
            Ok(StateDir::default_path(xdg.as_deref(), home.as_deref())?)
        }
    }
}

fn find_drill(asked: &str) -> Result<(Source, PathBuf), Failure> {
    let path = Path::new(asked);
    let named = PathBuf::from("expectations").join(format!("{asked}.yaml"));
    for path in [path, &named] {
        if path.is_file() {
            let folder = path.parent().map(Path::to_owned).unwrap_or_default();
            let folder = if folder.as_os_str().is_empty() {
                PathBuf::from(".")
            } else {
                folder
            };
            return Ok((file(path)?, fs::canonicalize(&folder).unwrap_or(folder)));
        }
    }
    if let Some(source) = shipped::drill(asked) {
        return Ok((source, std::env::current_dir().unwrap_or_default()));
    }
    let hint = match nearest(asked, shipped::names()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!(
            "`allclear list` shows those that come with it: {}",
            shipped::names().join(", ")
        ),
    };
    Err(Failure::Usage(format!(
        "no drill `{asked}`: neither a file nor a name; {hint}"
    )))
}

/// Reads a file that a user wrote.
pub fn file(path: &Path) -> Result<Source, Failure> {
    let shown = path.display().to_string();
    let read = || -> std::io::Result<String> {
        let file = fs::File::open(path)?;
        let mut text = String::new();
        file.take(MAX_FILE + 1).read_to_string(&mut text)?;
        Ok(text)
    };
    match read() {
        Ok(text) if text.len() as u64 > MAX_FILE => Err(Failure::Usage(format!(
            "{shown} is larger than 1 MiB: that is no file of allclear's; name a drill, a dashboard or a configuration"
        ))),
        Ok(text) => Ok(Source { path: shown, text }),
        Err(error) => Err(Failure::Usage(format!(
            "{shown} cannot be read: {error}; check its name and its rights"
        ))),
    }
}

/// Looks up every secret that an environment names. They go into the run's sealed file and nowhere else.
pub fn secrets(environment: &Environment) -> Result<Secrets, Failure> {
    let mut secrets = Secrets::none();
    for place in environment.secret_refs() {
        secrets.insert(place.clone(), secret(place)?);
    }
    Ok(secrets)
}

/// Those of an environment's secrets that can be looked up now: for masking.
pub fn known_secrets(environment: &Environment) -> Secrets {
    let mut secrets = Secrets::none();
    for place in environment.secret_refs() {
        if let Ok(text) = secret(place) {
            secrets.insert(place.clone(), text);
        }
    }
    secrets
}

fn secret(place: &SecretRef) -> Result<SecretText, Failure> {
    let text = match place {
        SecretRef::Env(name) => std::env::var(name)
            .map_err(|_| Failure::Usage(format!("the environment variable {name}, which a secret of the environment comes from, is not set: set it and start again")))?,
        SecretRef::File(path) => {
            let source = file(Path::new(path))?;
            source.text.strip_suffix('\n').unwrap_or(&source.text).to_owned()
        }
    };
    Ok(SecretText::new(text))
}
