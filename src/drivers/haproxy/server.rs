//! The servers of a backend as HAProxy tells of them: `show servers state` for weights and states, `show stat` for what
//! they carry.

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

/// What a server carries now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carries {
    /// The server's name.
    pub name: String,
    /// Sessions that it serves, and requests that wait for it.
    pub sessions: u64,
    /// The most sessions that it may have (`maxconn`), if the configuration has a limit.
    pub limit: Option<u64>,
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

/// The servers of `backend` in the CSV of `show stat`.
pub(super) fn parse_stat(text: &str, backend: &str) -> Result<Vec<Carries>, String> {
    let mut lines = text.lines().map(str::trim);
    let header = lines.find(|l| l.starts_with("# ")).ok_or("no header line")?;
    let names: Vec<&str> = header.trim_start_matches("# ").split(',').collect();
    let column = |name: &str| {
        let found = names.iter().position(|n| *n == name);
        found.ok_or_else(|| format!("no column {name}"))
    };
    let (proxy, server) = (column("pxname")?, column("svname")?);
    let (queued, current, limit) = (column("qcur")?, column("scur")?, column("slim")?);
    let mut found = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let cell = |i: usize| cells.get(i).copied().unwrap_or_default();
        if cell(proxy) != backend || matches!(cell(server), "FRONTEND" | "BACKEND") {
            continue;
        }
        let number = |i: usize| match cell(i) {
            "" => Ok(None),
            text => text
                .parse::<u64>()
                .map(Some)
                .map_err(|_| format!("`{}` is not a number", harmless(text, 20))),
        };
        found.push(Carries {
            name: harmless(cell(server), 64),
            sessions: number(current)?
                .unwrap_or(0)
                .saturating_add(number(queued)?.unwrap_or(0)),
            limit: number(limit)?.filter(|n| *n > 0),
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATE: &str = "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight new\n\
        3 order 1 order-0 127.0.0.1 2 8 30 100 x\n3 order 2 order-1 127.0.0.1 0 1 100 100 x\n\n";

    #[test]
    fn columns_are_found_by_name() {
        let servers = parse_state(STATE).unwrap();
        assert_eq!(
            (servers[0].weight, servers[0].state, servers[0].running),
            (30, GatewayState::Drain, true)
        );
        assert_eq!(
            (servers[1].state, servers[1].running),
            (GatewayState::Maint, false)
        );
    }

    #[test]
    fn sessions_and_limits_are_those_of_the_backends_servers_alone() {
        let stat = "# pxname,svname,qcur,qmax,scur,smax,slim,new\nf,FRONTEND,,,9,9,100,\norder,order-0,2,3,10,20,50,\n\
            order,order-1,0,0,4,9,,\norder,BACKEND,0,0,14,9,20,\ncart,order-0,0,0,1,1,1,\n\n";
        let found = parse_stat(stat, "order").unwrap();
        let rows: Vec<_> = found
            .iter()
            .map(|c| (c.name.as_str(), c.sessions, c.limit))
            .collect();
        assert_eq!(rows, [("order-0", 12, Some(50)), ("order-1", 4, None)]);
    }

    proptest::proptest! {
        #[test]
        fn no_answer_panics_the_parsers(text in "(# ?[a-z_, ]{0,80}\n)?[ -~\n]{0,200}") {
            let _ = parse_state(&text);
            let _ = parse_stat(&text, "order");
        }
    }
}
