//! Who listens where, as the system tells it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::Path,
};

/// The processes of a part: those that were started with its folder in their settings, in their command line, or as their own.
pub fn processes(folder: &Path) -> BTreeSet<i32> {
    let named = folder.to_str().unwrap();
    let numbers = fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let ours = |pid: &i32| {
        // One that has ended meanwhile tells nothing.
        let tells = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let names = |file: &str| String::from_utf8_lossy(&tells(file)).contains(named);
        let works_there = fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
        works_there || names("cmdline") || names("environ")
    };
    numbers.filter(ours).collect()
}

/// Where they listen, with the oldest one that does: a server's children have its sockets for a moment.
pub fn listeners(folder: &Path) -> BTreeMap<SocketAddr, i32> {
    let all = listening();
    let mut found = BTreeMap::new();
    for pid in processes(folder) {
        for at in sockets(pid).iter().filter_map(|socket| all.get(socket)) {
            found.entry(*at).or_insert(pid);
        }
    }
    found
}

/// The numbers of a process's sockets.
fn sockets(pid: i32) -> Vec<String> {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten();
    let links = open
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok());
    let named = links.filter_map(|link| {
        let name = link.to_str()?.strip_prefix("socket:[")?;
        Some(name.strip_suffix(']')?.to_owned())
    });
    named.collect()
}

/// All that listen for TCP on this machine, by the number of their socket.
fn listening() -> BTreeMap<String, SocketAddr> {
    const LISTENS: &str = "0A";
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| fs::read_to_string(table).unwrap_or_default());
    let lines = tables.iter().flat_map(|table| table.lines().skip(1));
    let listens = lines.filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words[3] == LISTENS).then(|| (words[9].to_owned(), address(words[1])))
    });
    listens.collect()
}

/// `0100007F:1F90` is 127.0.0.1:8080: each word of the address has its bytes the other way round.
fn address(text: &str) -> SocketAddr {
    let (host, port) = text.split_once(':').unwrap();
    let word = |at: usize| u32::from_str_radix(&host[at..at + 8], 16).unwrap().to_le_bytes();
    let host = match host.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0))),
        _ => {
            let bytes = [word(0), word(8), word(16), word(24)].concat();
            IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).unwrap()))
        }
    };
    SocketAddr::new(host, u16::from_str_radix(port, 16).unwrap())
}

#[test]
fn addresses_are_read_as_the_system_writes_them() {
    assert_eq!(address("0100007F:1F90"), "127.0.0.1:8080".parse().unwrap());
    assert_eq!(address("00000000:0050"), "0.0.0.0:80".parse().unwrap());
    let mapped = address("0000000000000000FFFF00000100007F:0016");
    assert_eq!(mapped, "[::ffff:127.0.0.1]:22".parse().unwrap());
}
