//! Whether the other servers of a load balancer can carry the load without the targets. Pure.

use crate::{
    drivers::haproxy::{Carries, Server},
    model::{
        said::{Said, said},
        snapshot::GatewayServer,
    },
};

/// Says what the rest has, or why it cannot carry the load, with the numbers.
///
/// Each server gets its part of all sessions by its weight. One with a limit (`maxconn`) must be able to hold that part.
/// If one of the rest has no limit, or sessions are not known, the rest must also have at least the weight of the
/// targets: then no server gets more than twice its share.
pub(super) fn can_carry(
    before: &[&GatewayServer],
    servers: &[Server],
    carries: Option<&[Carries]>,
) -> Result<Said, Said> {
    let is_target = |s: &Server| before.iter().any(|b| b.instance.as_str() == s.name);
    let (out, rest): (Vec<&Server>, Vec<&Server>) =
        servers.iter().filter(|s| s.serves()).partition(|s| is_target(s));
    let weight = |servers: &[&Server]| servers.iter().map(|s| u64::from(s.weight)).sum::<u64>();
    let (all, targets) = (weight(&rest), weight(&out));
    if rest.is_empty() {
        return Err(said!(
            "no other server takes traffic: the rest cannot carry the load",
            "没有其他节点接流量：承载不了"
        ));
    }
    let carried = |s: &Server| carries?.iter().find(|c| c.name == s.name);
    let sessions: u64 = out
        .iter()
        .chain(&rest)
        .filter_map(|s| carried(s))
        .map(|c| c.sessions)
        .sum();
    let mut room = Some(0);
    for server in &rest {
        let limit = carried(server).and_then(|c| c.limit);
        let part = (sessions * u64::from(server.weight)).div_ceil(all);
        if let Some(limit) = limit.filter(|limit| part > *limit) {
            let (name, weight) = (&server.name, server.weight);
            return Err(said!(
                "{name} would get {part} of {sessions} sessions (weight {weight} of {all}) and may have {limit}: the rest cannot carry the load",
                "{name} 将分到 {part}/{sessions} 个会话（权重 {weight}/{all}），上限 {limit}：承载不了"
            ));
        }
        room = room.zip(limit).map(|(room, limit)| room + limit);
    }
    let serve = rest.len();
    match room {
        Some(room) => Ok(said!(
            "{serve} serve {sessions} sessions, have room for {room}",
            "其余 {serve} 个承载 {sessions} 个会话，可容 {room} 个"
        )),
        None if all < targets => Err(said!(
            "the rest has weight {all}, the targets {targets}: it cannot carry the load",
            "其余权重 {all}，目标权重 {targets}：承载不了"
        )),
        None => Ok(said!("{serve} serve", "其余 {serve} 个在服务")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ids::InstanceName, snapshot::GatewayState};

    fn server(name: &str, weight: u32) -> Server {
        Server {
            name: name.into(),
            weight,
            initial_weight: 100,
            state: GatewayState::Ready,
            running: true,
        }
    }

    fn carries(name: &str, sessions: u64, limit: Option<u64>) -> Carries {
        Carries {
            name: name.into(),
            sessions,
            limit,
        }
    }

    fn without_a(servers: &[Server], carries: Option<&[Carries]>) -> Result<String, String> {
        let before = GatewayServer {
            at: String::new(),
            instance: InstanceName::new("a").unwrap(),
            weight: 100,
            initial_weight: 100,
            state: GatewayState::Ready,
            running: true,
        };
        can_carry(&[&before], servers, carries)
            .map(|said| said.en().to_owned())
            .map_err(|said| said.en().to_owned())
    }

    #[test]
    fn without_limits_the_weights_decide() {
        assert_eq!(
            without_a(&[server("a", 100), server("b", 100)], None).unwrap(),
            "1 serve"
        );
        assert!(without_a(&[server("a", 100), server("b", 0)], None).is_err());
        let light = without_a(&[server("a", 100), server("b", 40)], None).unwrap_err();
        assert_eq!(
            light,
            "the rest has weight 40, the targets 100: it cannot carry the load"
        );
        let down = Server {
            running: false,
            ..server("b", 100)
        };
        assert!(without_a(&[server("a", 100), down], None).is_err());
    }

    #[test]
    fn with_limits_the_sessions_decide_server_by_server() {
        let servers = [server("a", 100), server("b", 30), server("c", 10)];
        let with = |a, limit_b, limit_c| {
            let carried = [
                carries("a", a, Some(9)),
                carries("b", 10, limit_b),
                carries("c", 10, limit_c),
            ];
            without_a(&servers, Some(&carried))
        };
        assert_eq!(
            with(20, Some(30), Some(20)).unwrap(),
            "2 serve 40 sessions, have room for 50"
        );
        let full = with(21, Some(30), Some(20)).unwrap_err();
        assert!(
            full.starts_with("b would get 31 of 41 sessions (weight 30 of 40) and may have 30"),
            "{full}"
        );
        // One without a limit: the weights have to be enough as well.
        assert!(
            with(20, Some(30), None)
                .unwrap_err()
                .contains("the rest has weight 40, the targets 100")
        );
    }

    #[test]
    fn a_server_that_is_down_carries_nothing_and_can_carry_nothing() {
        let down = Server {
            running: false,
            ..server("c", 100)
        };
        let carried = [
            carries("a", 10, Some(20)),
            carries("b", 10, Some(19)),
            carries("c", 0, Some(99)),
        ];
        let error = without_a(&[server("a", 100), server("b", 100), down], Some(&carried)).unwrap_err();
        assert!(error.starts_with("b would get 20 of 20 sessions"), "{error}");
    }
}
