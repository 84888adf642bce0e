//! The servers of a backend, as `show servers state` tells of them.

use crate::{
    drivers::error::DriverError,
    model::{
        ids::InstanceName,
        snapshot::GatewayState,
        text::{harmless, nearest},
    },
};

/// A server of a backend, as HAProxy tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// Its present weight.
    pub weight: u32,
    /// The weight of the configuration.
    pub initial_weight: u32,
    /// Its administrative state.
    pub state: GatewayState,
    /// Whether it is running, as far as health checks know.
    pub running: bool,
}

impl Server {
    /// Whether it takes new traffic.
    pub fn serves(&self) -> bool {
        self.running && self.weight > 0 && self.state == GatewayState::Ready
    }
}

/// The word of the runtime API for a state.
pub fn state_word(state: GatewayState) -> &'static str {
    match state {
        GatewayState::Ready => "ready",
        GatewayState::Drain => "drain",
        GatewayState::Maint => "maint",
    }
}

/// Columns are found by their names: later versions add some.
pub(super) fn parse_state(text: &str) -> Result<Vec<Server>, String> {
    let mut lines = text.lines().map(str::trim);
    let header = lines.find(|l| l.starts_with('#')).ok_or("no header line")?;
    let names: Vec<&str> = header.trim_start_matches('#').split_whitespace().collect();
    let column = |name: &str| {
        let found = names.iter().position(|n| *n == name);
        found.ok_or_else(|| format!("no column {name}"))
    };
    let (name, weight) = (column("srv_name")?, column("srv_uweight")?);
    let (initial, admin) = (column("srv_iweight")?, column("srv_admin_state")?);
    let running = column("srv_op_state")?;
    lines
        .filter(|l| !l.is_empty())
        .map(|line| {
            let cells: Vec<&str> = line.split_whitespace().collect();
            let cell = |i: usize| {
                cells
                    .get(i)
                    .copied()
                    .ok_or_else(|| "a row is too short".to_owned())
            };
            let number = |i: usize| {
                let text = cell(i)?;
                text.parse::<u32>()
                    .map_err(|_| format!("`{}` is not a number", harmless(text, 20)))
            };
            Ok(Server {
                name: harmless(cell(name)?, 64),
                weight: number(weight)?,
                initial_weight: number(initial)?,
                state: admin_state(number(admin)?),
                running: matches!(number(running)?, 1 | 2),
            })
        })
        .collect()
}

/// The bits of `srv_admin_state`: 1, 2, 4, 32, 64 are kinds of maintenance; 8 and 16 of drain (HAProxy management
/// guide, "show servers state").
fn admin_state(bits: u32) -> GatewayState {
    match bits {
        b if b & (1 | 2 | 4 | 32 | 64) != 0 => GatewayState::Maint,
        b if b & (8 | 16) != 0 => GatewayState::Drain,
        _ => GatewayState::Ready,
    }
}

/// The server of an instance.
///
/// # Errors
/// [`DriverError::NotThere`] with the nearest name.
pub fn find<'a>(
    servers: &'a [Server],
    backend: &str,
    instance: &InstanceName,
) -> Result<&'a Server, DriverError> {
    servers
        .iter()
        .find(|s| s.name == instance.as_str())
        .ok_or_else(|| {
            let near = nearest(instance.as_str(), servers.iter().map(|s| s.name.as_str()));
            DriverError::NotThere {
                what: format!("server {instance} in backend {backend}"),
                answer: match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("the backend has {} servers", servers.len()),
                },
            }
        })
}
