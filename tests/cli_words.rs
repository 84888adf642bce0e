//! What the commands say about themselves, as people and shells read it.

use std::{
    fs::File,
    io::{Read, Write, pipe},
    process::{Command, Output, Stdio},
    sync::mpsc,
    time::Duration,
};

use allclear::model::exit::Exit;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

fn allclear(args: &[&str]) -> Output {
    allclear_to(args, Stdio::piped())
}

fn allclear_to(args: &[&str], out: impl Into<Stdio>) -> Output {
    let home = tempfile::tempdir().expect("a directory");
    Command::new(env!("CARGO_BIN_EXE_allclear"))
        .args(args)
        .env_clear()
        .env("HOME", home.path())
        .env("COLUMNS", "80")
        .current_dir(home.path())
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(Stdio::piped())
        .spawn()
        .and_then(std::process::Child::wait_with_output)
        .expect("it starts and ends")
}

fn said(args: &[&str]) -> String {
    let output = allclear(args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

const COMMANDS: [&[&str]; 23] = [
    &[],
    &["demo"],
    &["run"],
    &["attach"],
    &["recover"],
    &["smoke"],
    &["check"],
    &["list"],
    &["runs"],
    &["show"],
    &["export"],
    &["verify"],
    &["replay"],
    &["judge"],
    &["range"],
    &["range", "up"],
    &["range", "status"],
    &["rehearse"],
    &["restore"],
    &["schema"],
    &["completions"],
    &["man"],
    &["help"],
];

#[test]
fn the_help_of_every_command() {
    for command in COMMANDS.iter().filter(|c| **c != ["help"]) {
        let help = said(&[*command, &["--help"]].concat());
        insta::assert_snapshot!(format!("help_{}", command.join("_")), help);
    }
}

#[test]
fn no_command_is_left_out_of_the_help_that_is_looked_at() {
    for line in said(&["--help"])
        .lines()
        .skip_while(|l| *l != "Commands:")
        .skip(1)
        .take_while(|l| !l.is_empty())
    {
        let name = line.split_whitespace().next().expect("a name");
        assert!(
            COMMANDS.iter().any(|c| c.first() == Some(&name)),
            "{name} has no snapshot"
        );
    }
}

#[test]
fn the_help_and_the_readme_tell_the_same_exit_codes_and_their_order() {
    let (help, readme) = (said(&["--help"]), include_str!("../README.md"));
    for exit in Exit::ALL {
        let (code, meaning) = (exit.code(), exit.meaning());
        let in_help = format!("\n  {code:>3}  {meaning}\n");
        let in_readme = format!("\n| {code} | {meaning} |\n");
        assert!(help.contains(&in_help), "{in_help}");
        assert!(readme.contains(&in_readme), "{in_readme}");
    }
    let mut worst_first = Exit::ALL;
    worst_first.sort_unstable_by_key(|exit| std::cmp::Reverse(*exit));
    let order = worst_first.map(|exit| exit.to_string()).join(" > ");
    assert!(readme.contains(&order), "{order}");
}

#[test]
fn every_weakness_is_named_in_the_help() {
    let help = said(&["range", "up", "--help"]);
    for weakness in allclear::range::Weakness::ALL {
        assert!(help.contains(weakness.name()), "{}", weakness.name());
    }
}

#[test]
fn completions_and_the_man_page_know_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = said(&["completions", shell]);
        for name in ["demo", "recover", "range", "--weakness", "--junit"] {
            assert!(script.contains(name.trim_start_matches('-')), "{shell}: {name}");
        }
        assert!(
            !script.contains("deadman"),
            "{shell} offers what only allclear itself starts"
        );
    }
    let page = said(&["man"]);
    assert!(page.starts_with(".ie") && page.contains(".TH allclear 1"));
    for command in COMMANDS.iter().filter(|c| !c.is_empty() && **c != ["help"]) {
        let section = format!(".SH \"allclear {}\"", command.join(" "));
        assert!(page.contains(&section), "{section}");
    }
    assert!(!page.contains("deadman"));
}

#[test]
fn a_slip_of_the_hand_is_answered_with_the_way_on() {
    let cases: [(&[&str], i32, &str); 8] = [
        (&["rnu"], 2, "similar subcommand"),
        (&["run"], 2, "<DRILL>"),
        (&["run", "coupon-slwo"], 2, "did you mean `coupon-slow`?"),
        (&["show", "zzz"], 2, "`allclear runs` lists"),
        (&["verify", "nowhere"], 2, "nowhere"),
        (
            &["range", "status", "--port", "1"],
            2,
            "`allclear range up` starts one",
        ),
        (&["demo", "--weakness", "tired"], 2, "no-coupon-fallback"),
        (&["replay", "--speed", "0"], 2, "above 0"),
    ];
    for (args, code, way) in cases {
        let output = allclear(args);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {err}");
        assert!(err.contains(way), "{args:?}: {err}");
    }
}

const PRINTING: [&[&str]; 7] = [
    &["list"],
    &["list", "--json"],
    &["runs"],
    &["check", "coupon-slow"],
    &["schema", "drill"],
    &["completions", "bash"],
    &["man"],
];

#[test]
fn what_could_not_be_printed_is_not_taken_for_printed() {
    for args in PRINTING {
        let full = File::options()
            .write(true)
            .open("/dev/full")
            .expect("a full disk");
        let output = allclear_to(args, full);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(6), "{args:?}: {err}");
        assert!(
            err.contains("standard output cannot be written: No space left on device"),
            "{args:?}: {err}"
        );
    }
}

#[test]
fn a_reader_that_has_read_enough_hears_no_complaint() {
    for args in PRINTING {
        let (reader, writer) = pipe().expect("a pipe");
        drop(reader);
        let output = allclear_to(args, writer);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*err), (Some(6), ""), "{args:?}");
    }
}

#[test]
fn diagnostics_are_all_there_however_late_they_are_read() {
    let home = tempfile::tempdir().expect("a directory");
    std::fs::write(home.path().join("wrong.yaml"), "drill: wrong\n").expect("a drill");
    let (mut reader, mut writer) = pipe().expect("a pipe");
    let flags = fcntl_getfl(&writer).expect("flags");
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).expect("set");
    while writer.write(b".").is_ok() {}
    fcntl_setfl(&writer, flags).expect("set");
    let mut check = Command::new(env!("CARGO_BIN_EXE_allclear"))
        .args(["check", "wrong.yaml"])
        .current_dir(home.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(writer)
        .spawn()
        .expect("it starts");
    // Nobody reads for longer than a word that is only said on the way waits.
    let (_nobody, comes) = mpsc::channel::<()>();
    let _ = comes.recv_timeout(Duration::from_secs(2));
    let ended = check.try_wait().expect("a child");
    assert_eq!(ended, None, "a pipe that is full waits for its reader");
    let mut said = String::new();
    reader.read_to_string(&mut said).expect("text");
    assert!(said.contains("a drill lacks `recovery`"), "{said}");
    assert_eq!(check.wait().expect("a child").code(), Some(2));
}
