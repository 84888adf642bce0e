//! Processes as the system tells of them. Nothing is signalled that does not belong to the run's own directory.

use std::{fs, path::Path};

use rustix::process::{Pid, Signal, kill_process};

/// A living process of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    pub role: String,
}

/// The keeper's and the deadman's processes under a state directory. Those that are dead and only not yet reaped have
/// no command line any more.
pub fn under(state: &Path) -> Vec<Process> {
    let state = state.to_str().expect("a test's path");
    let numbers = fs::read_dir("/proc").expect("/proc").flatten();
    let numbers = numbers.filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter_map(|pid| role(pid, state)).collect()
}

fn role(pid: i32, state: &str) -> Option<Process> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words: Vec<&str> = line
        .split(|b| *b == 0)
        .filter_map(|w| str::from_utf8(w).ok())
        .collect();
    let role = (*words.get(1)?).to_owned();
    let ours = words.contains(&state) && (role == "keeper" || role == "deadman");
    ours.then_some(Process { pid, role })
}

/// Sends a signal; false if the process is gone.
pub fn signal(pid: i32, signal: Signal) -> bool {
    kill_process(Pid::from_raw(pid).expect("a process id"), signal).is_ok()
}

/// The names of the files that a process has open.
pub fn open_files(pid: i32) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd"));
    let links = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|e| fs::read_link(e.path()).ok());
    links.map(|l| l.display().to_string()).collect()
}
