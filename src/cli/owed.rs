//! What earlier runs owe: the first thing that any command says, in red.

use std::io::{self, IsTerminal};

use super::{
    context,
    options::{Command, Common},
    say,
};
use crate::journal::{self, StateDir};

/// Says on standard error which runs have left something, if any have.
pub fn say_what_is_owed(common: &Common, command: &Command) {
    // These pay it, or print what other programs read.
    let quiet = matches!(
        command,
        Command::Recover(_) | Command::Completions(_) | Command::Man | Command::Schema(_)
    );
    if quiet {
        return;
    }
    let Ok(path) = context::state_path(context::state_dir_of(common)) else {
        return;
    };
    let Ok(Some(state)) = StateDir::existing(path) else {
        return;
    };
    let Ok(owed) = journal::owed(&state) else { return };
    let red = common.coloured() && io::stderr().is_terminal();
    for run in owed.iter().filter(|o| !o.harmless()) {
        let drill = run
            .drill
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_else(|| "unknown drill".into());
        let text = format!(
            "OWED: run {} ({drill}) has no keeper and was never recovered: {} fault(s), {} change(s). Type: allclear recover {}",
            run.run,
            run.faults.len(),
            run.changes.len(),
            run.run
        );
        if red {
            say::err(format_args!("\u{1b}[31;1m{text}\u{1b}[0m"));
        } else {
            say::err(&text);
        }
        for fault in &run.faults {
            say::err(format_args!("  {} on {}", fault.what, fault.instance));
        }
    }
}
