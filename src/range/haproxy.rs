//! HAProxy's runtime API (2.6) over the gateway's backends: the commands that recovery needs, and its sentences.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::accept::accept;
use super::balancer::{Admin, Backend, INITIAL_WEIGHT, Server};

/// Longest line read, bytes (HAProxy's buffer).
const MAX_LINE: u64 = 16 * 1024;
/// A silent client is dropped after this long.
const IDLE: Duration = Duration::from_secs(30);

const NO_BACKEND: &str = "No such backend.\n";
const NO_SERVER: &str = "No such server.\n";
const UNKNOWN: &str = "Unknown command. Please enter one of the following commands only:
  get weight <bk>/<srv>                   : report a server's current weight
  set server <bk>/<srv> [opts]            : change a server's state, weight, address or ssl
  show info [desc|json|typed|float]*      : report information about the running process
  show servers state [<backend>]          : dump volatile server information (all or for a single backend)
  show stat [desc|json|no-maint|typed|up]*: report counters for each proxy and server
  prompt                                  : toggle interactive mode with prompt
  quit                                    : disconnect
";
const REQUIRE_BOTH: &str = "Require 'backend/server'.\n";

/// Serves the runtime API until `stop`.
pub(super) async fn serve(
    listener: TcpListener,
    backends: Arc<Vec<Backend>>,
    tasks: TaskTracker,
    stop: CancellationToken,
) {
    accept(listener, tasks, stop, |stream| {
        let backends = Arc::clone(&backends);
        async move { converse(stream, &backends).await }
    })
    .await;
}

/// Answers each line; like HAProxy it closes after those that came together, unless `prompt` was given.
async fn converse(stream: TcpStream, backends: &[Backend]) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut interactive = false;
    loop {
        let mut line = Vec::new();
        let mut bounded = (&mut stream).take(MAX_LINE);
        let read = bounded.read_until(b'\n', &mut line);
        if tokio::time::timeout(IDLE, read).await?? == 0 {
            return Ok(());
        }
        let line = String::from_utf8_lossy(&line);
        let mut answer = String::new();
        // A `;` at the end is followed by an empty command, and that is unknown.
        for command in line.trim_end().split(';').map(str::trim) {
            match command {
                "prompt" => interactive = !interactive,
                "quit" => return stream.get_mut().write_all(answer.as_bytes()).await,
                _ => answer.push_str(&answer_to(command, backends)),
            }
            // An empty line ends each answer.
            answer.push('\n');
        }
        if interactive {
            answer.push_str("> ");
        }
        stream.get_mut().write_all(answer.as_bytes()).await?;
        if !interactive && !stream.buffer().contains(&b'\n') {
            return stream.get_mut().shutdown().await;
        }
    }
}

/// The answer to one command, without the empty line that ends it.
fn answer_to(command: &str, backends: &[Backend]) -> String {
    let words: Vec<&str> = command.split_whitespace().collect();
    match words.as_slice() {
        ["show", "servers", "state"] => servers_state(backends.iter()),
        ["show", "servers", "state", name] => match backends.iter().find(|backend| backend.name == *name) {
            Some(backend) => servers_state(std::iter::once(backend)),
            None => "Can't find backend.\n".into(),
        },
        ["show", "stat", ..] => stat(backends),
        ["show", "info"] => "Name: HAProxy\nVersion: 2.6.12\nNbproc: 1\nProcess_num: 1\n".into(),
        ["get", "weight", target] => with_server(backends, target, |server| {
            format!("{} (initial {INITIAL_WEIGHT})\n", server.weight())
        }),
        ["set", "weight", target, weight] | ["set", "server", target, "weight", weight] => {
            with_server(backends, target, |server| set_weight(server, weight))
        }
        ["set", "server", target, "state", state] => {
            with_server(backends, target, |server| set_state(server, state))
        }
        ["set", "server", target, ..] => with_server(backends, target, |_| {
            "usage: set server <backend>/<server> addr | agent | agent-addr | agent-port | agent-send | check-addr | check-port | fqdn | health | ssl | state | weight\n".into()
        }),
        _ => UNKNOWN.into(),
    }
}

fn with_server(backends: &[Backend], target: &str, act: impl FnOnce(&Server) -> String) -> String {
    let Some((backend, server)) = target.split_once('/') else {
        return REQUIRE_BOTH.into();
    };
    let Some(backend) = backends.iter().find(|known| known.name == backend) else {
        return NO_BACKEND.into();
    };
    backend.server(server).map_or_else(|| NO_SERVER.into(), act)
}

/// `N` is absolute, `N%` of the initial weight.
fn set_weight(server: &Server, text: &str) -> String {
    let (number, relative) = match text.strip_suffix('%') {
        Some(number) => (number, true),
        None => (text, false),
    };
    let digits = number
        .trim_start_matches('-')
        .bytes()
        .take_while(u8::is_ascii_digit)
        .count();
    // These two sentences alone come without the empty line.
    let Ok(number) = number.parse::<i64>() else {
        return match digits {
            0 => "Empty weight string empty or preceded by garbage".into(),
            _ => "Trailing garbage in weight string".into(),
        };
    };
    let weight = match relative {
        true if number < 0 => return "Relative weight must be positive.\n".into(),
        true => number.min(10_000) * i64::from(INITIAL_WEIGHT) / 100,
        false => number,
    };
    match u32::try_from(weight) {
        Ok(weight) if weight <= 256 => {
            server.set_weight(weight);
            String::new()
        }
        Ok(_) if relative => {
            server.set_weight(256);
            String::new()
        }
        _ => "Absolute weight can only be between 0 and 256 inclusive.\n".into(),
    }
}

fn set_state(server: &Server, state: &str) -> String {
    let admin = match state {
        "ready" => Admin::Ready,
        "drain" => Admin::Drain,
        "maint" => Admin::Maint,
        _ => return "'set server <srv> state' expects 'ready', 'drain' and 'maint'.\n".into(),
    };
    server.set_admin(admin);
    String::new()
}

/// Operational and administrative state, as the numbers of `show servers state`.
fn state_numbers(admin: Admin) -> (u8, u8) {
    match admin {
        Admin::Ready => (2, 0),
        Admin::Drain => (2, 8),
        Admin::Maint => (0, 1),
    }
}

fn servers_state<'a>(backends: impl Iterator<Item = &'a Backend>) -> String {
    let mut text = String::from(
        "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state bk_f_forced_id srv_f_forced_id srv_fqdn srv_port srvrecord srv_use_ssl srv_check_port srv_check_addr srv_agent_addr srv_agent_port\n",
    );
    for backend in backends {
        for (server, id) in backend.servers.iter().zip(1..) {
            let (op, admin) = state_numbers(server.admin());
            text.push_str(&format!(
                "{} {} {id} {} 127.0.0.1 {op} {admin} {} {INITIAL_WEIGHT} {} 1 0 2 0 0 0 0 - {} - 0 0 - - 0\n",
                backend.id,
                backend.name,
                server.name,
                server.weight(),
                server.unchanged_for(),
                server.port,
            ));
        }
    }
    text
}

const STAT_COLUMNS: &str = "# pxname,svname,qcur,qmax,scur,smax,slim,stot,bin,bout,dreq,dresp,ereq,econ,eresp,wretr,wredis,status,weight,act,bck,chkfail,chkdown,lastchg,downtime,qlimit,pid,iid,sid,throttle,lbtot,tracked,type,rate,rate_lim,rate_max,\n";

fn stat(backends: &[Backend]) -> String {
    let mut text = String::from(STAT_COLUMNS);
    for backend in backends {
        for (server, sid) in backend.servers.iter().zip(1..) {
            let (status, active) = match server.admin() {
                Admin::Ready => ("no check", 1),
                Admin::Drain => ("DRAIN", 1),
                Admin::Maint => ("MAINT", 0),
            };
            text.push_str(&row(
                backend,
                server.name,
                server.sessions.load(Relaxed),
                server.total.load(Relaxed),
                &Standing {
                    status,
                    weight: server.weight(),
                    active,
                    since: server.unchanged_for(),
                    sid,
                    kind: 2,
                },
            ));
        }
        let sum = |of: fn(&Server) -> u64| backend.servers.iter().map(of).sum::<u64>();
        let ready = || {
            backend
                .servers
                .iter()
                .filter(|server| server.admin() == Admin::Ready)
        };
        let standing = Standing {
            status: if ready().next().is_some() { "UP" } else { "DOWN" },
            weight: ready().map(Server::weight).sum(),
            active: ready().count(),
            since: 0,
            sid: 0,
            kind: 1,
        };
        let now = sum(|server| server.sessions.load(Relaxed));
        text.push_str(&row(
            backend,
            "BACKEND",
            now,
            sum(|server| server.total.load(Relaxed)),
            &standing,
        ));
    }
    text
}

struct Standing {
    status: &'static str,
    weight: u32,
    active: usize,
    since: u64,
    sid: u32,
    /// 1 for a backend, 2 for a server.
    kind: u8,
}

fn row(backend: &Backend, name: &str, now: u64, total: u64, standing: &Standing) -> String {
    let Standing {
        status,
        weight,
        active,
        since,
        sid,
        kind,
    } = standing;
    format!(
        "{},{name},0,0,{now},{now},,{total},0,0,,0,,0,0,0,0,{status},{weight},{active},0,,,{since},,,1,{},{sid},,{total},,{kind},0,,0,\n",
        backend.name, backend.id,
    )
}
