//! What a node of a cluster says about it: `CLUSTER NODES`
//! (<https://redis.io/docs/latest/commands/cluster-nodes/>).

use std::collections::{BTreeMap, BTreeSet};

use super::{key::SLOTS, node::host_and_port};

/// More nodes than a cluster can have.
const NODES: usize = 4096;

/// A cluster, as one of its nodes sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct View {
    /// The masters, by node id.
    pub(super) masters: BTreeMap<String, Seen>,
    /// The node that says so, if it is a master.
    pub(super) myself: Option<String>,
    /// The slots that this node is giving away or getting just now, each as the node writes it.
    pub(super) open: BTreeSet<String>,
}

/// A master, as some node sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    /// Where it is reached: `host:port`.
    pub(super) address: String,
    /// As other nodes name it when they send a client on: its address in numbers.
    pub(super) in_numbers: String,
    /// Grows with every change of its slots.
    epoch: u64,
    /// First and last slot of each range.
    pub(super) slots: Vec<(u16, u16)>,
    /// Whether the node that says so has given it up.
    failed: bool,
}

impl View {
    /// Reads an answer that came from `host`. With `tls` a node's host name is preferred, for its certificate.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn read(text: &str, host: &str, tls: bool) -> Result<View, String> {
        let mut view = View {
            masters: BTreeMap::new(),
            myself: None,
            open: BTreeSet::new(),
        };
        for line in text.lines().take(NODES).filter(|line| !line.is_empty()) {
            view.read_line(line, host, tls)
                .ok_or_else(|| format!("`{}` is no node", line.chars().take(100).collect::<String>()))?;
        }
        match view.masters.is_empty() {
            true => Err("it names no master".into()),
            false => Ok(view),
        }
    }

    fn read_line(&mut self, line: &str, host: &str, tls: bool) -> Option<()> {
        let words: Vec<&str> = line.split(' ').collect();
        let [id, place, flags, _master, _sent, _heard, epoch, _link, slots @ ..] = words.as_slice() else {
            return None;
        };
        let flags: Vec<&str> = flags.split(',').collect();
        if !flags.contains(&"master") {
            return Some(());
        }
        let (open, owned): (Vec<&str>, Vec<&str>) = slots.iter().partition(|s| s.starts_with('['));
        if flags.contains(&"myself") {
            self.myself = Some((*id).to_owned());
            self.open = open.into_iter().map(str::to_owned).collect();
        }
        let (address, in_numbers) = addresses(place, host, tls)?;
        let seen = Seen {
            address,
            in_numbers,
            epoch: epoch.parse().ok()?,
            slots: owned.into_iter().map(range).collect::<Option<_>>()?,
            failed: flags
                .iter()
                .any(|f| matches!(*f, "fail" | "noaddr" | "handshake")),
        };
        self.masters.insert((*id).to_owned(), seen);
        Some(())
    }

    /// The masters that may hold a key: all but those that are gone and have no slot.
    pub(super) fn holders(&self) -> impl Iterator<Item = (&String, &Seen)> {
        let gone = |seen: &Seen| seen.failed && seen.slots.is_empty();
        self.masters.iter().filter(move |(_, seen)| !gone(seen))
    }

    /// Where the master of a slot is reached.
    pub(super) fn master_of(&self, slot: u16) -> Option<&str> {
        let has = |seen: &&Seen| {
            let mut ranges = seen.slots.iter();
            ranges.any(|(first, last)| (*first..=*last).contains(&slot))
        };
        self.masters.values().find(has).map(|seen| seen.address.as_str())
    }

    /// Where the master is reached that other nodes call so.
    pub(super) fn known(&self, called: &str) -> Option<&str> {
        let mut masters = self.masters.values();
        let known = masters.find(|seen| seen.in_numbers == called);
        known.map(|seen| seen.address.as_str())
    }

    /// Whether another node sees the same slots at the same masters, by the same decisions.
    pub(super) fn agrees(&self, other: &View) -> bool {
        self.decided().eq(other.decided())
    }

    fn decided(&self) -> impl Iterator<Item = (&String, u64, &[(u16, u16)])> {
        let with_slots = self.masters.iter().filter(|(_, seen)| !seen.slots.is_empty());
        with_slots.map(|(id, seen)| (id, seen.epoch, seen.slots.as_slice()))
    }

    /// Whether each slot has exactly one master.
    pub(super) fn is_whole(&self) -> bool {
        let mut ranges: Vec<(u16, u16)> = self
            .masters
            .values()
            .flat_map(|s| s.slots.iter().copied())
            .collect();
        ranges.sort_unstable();
        let mut next = 0;
        ranges.iter().all(|(first, last)| {
            let fits = *first == next && last >= first;
            next = last.saturating_add(1);
            fits
        }) && next == SLOTS
    }

    /// Whether this node is getting slots just now: keys move to it while it is looked at.
    pub(super) fn receives(&self) -> bool {
        self.open.iter().any(|slot| slot.contains("-<-"))
    }

    /// The nodes that this node is giving slots to.
    pub(super) fn gives_to(&self) -> impl Iterator<Item = &str> {
        let to = |slot: &'_ String| -> Option<usize> { slot.find("->-").map(|at| at + 3) };
        self.open
            .iter()
            .filter_map(move |slot| to(slot).map(|at| slot[at..].trim_end_matches(']')))
    }
}

fn range(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// `ip:port@bus,name,…` as `host:port`, by its name where that is preferred; and as `ip:port`.
fn addresses(place: &str, host: &str, tls: bool) -> Option<(String, String)> {
    let (node, more) = place.split_once('@')?;
    let (ip, port) = host_and_port(node)?;
    let name = more
        .split(',')
        .nth(1)
        .filter(|n| tls && !n.is_empty() && *n != "?");
    let known = if ip.is_empty() { host } else { ip };
    let at = |host: &str| format!("{host}:{port}");
    Some((at(name.unwrap_or(known)), at(known)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TWO: &str = "\
        a1 127.0.0.1:7000@17000,a.example myself,master - 0 1 3 connected 0-8000 8002 [93->-b2] [77-<-b2]\n\
        b2 :7001@17001, master - 0 1 4 connected 8001 8003-16383\n\
        c3 10.0.0.3:7002@17002 slave b2 0 1 4 connected\n\
        d4 10.0.0.4:7003@17003 master,fail - 0 1 0 disconnected\n";

    fn view(text: &str) -> View {
        View::read(text, "seed", false).unwrap()
    }

    #[test]
    fn masters_slots_and_moves_are_read() {
        let seen = view(TWO);
        let holders: Vec<&str> = seen.holders().map(|(_, s)| s.address.as_str()).collect();
        assert_eq!(holders, ["127.0.0.1:7000", "seed:7001"]);
        assert!(seen.is_whole() && seen.receives());
        assert_eq!(seen.gives_to().collect::<Vec<_>>(), ["b2"]);
        assert_eq!(seen.myself.as_deref(), Some("a1"));
        let by_name = View::read(TWO, "seed", true).unwrap();
        assert_eq!(by_name.masters["a1"].address, "a.example:7000");
        assert_eq!(by_name.masters["a1"].in_numbers, "127.0.0.1:7000");
    }

    #[test]
    fn the_master_of_a_slot_is_found_and_known_by_what_others_call_it() {
        let by_name = View::read(TWO, "seed", true).unwrap();
        assert_eq!(by_name.master_of(8002), Some("a.example:7000"));
        assert_eq!(by_name.master_of(16_383), Some("seed:7001"));
        assert_eq!(by_name.known("127.0.0.1:7000"), Some("a.example:7000"));
        assert_eq!(view(&TWO.replace("8001 8003", "8003")).master_of(8001), None);
    }

    #[test]
    fn a_slot_without_a_master_or_with_two_is_not_whole() {
        assert!(!view(&TWO.replace("8001 8003", "8003")).is_whole());
        assert!(!view(&TWO.replace("8001 8003", "8000 8001 8003")).is_whole());
        assert!(!view(&TWO.replace("-16383", "-16382")).is_whole());
    }

    #[test]
    fn a_slot_that_went_and_came_back_is_a_change() {
        assert!(view(TWO).agrees(&view(&TWO.replace(" [93->-b2]", ""))));
        assert!(!view(TWO).agrees(&view(&TWO.replace("1 4 connected 8001", "1 5 connected 8001"))));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let _ = View::read(&text, "seed", true);
        }

        #[test]
        fn any_words_are_read_or_refused(words in proptest::collection::vec("[a-z0-9:@,\\[\\]<>-]{0,12}", 0..12)) {
            let _ = View::read(&words.join(" "), "seed", true);
        }
    }
}
