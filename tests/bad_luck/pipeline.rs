//! In a pipeline and in a pipe.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::luck_support::{Place, Program, Shop, drill};

#[tokio::test(flavor = "multi_thread")]
async fn smoke_runs_drills_one_after_another_and_reports_them_to_the_pipeline() {
    let shop = Shop::alone(&["--weakness", "no-coupon-fallback"]).await;
    let place = Place::with(&shop.scraped());
    place.file("a.yaml", drill(&[("drill: coupon-slow", "drill: first")]));
    let sound = [
        ("drill: coupon-slow", "drill: second"),
        ("scope: marked, rises: {}", "scope: marked, stays: {within: 5/s}"),
        (
            "stays: {within: 2pp}\n        otherwise",
            "falls: {}\n        otherwise",
        ),
    ];
    place.file("b.yaml", drill(&sound));
    let ended = place
        .run(&["smoke", "a.yaml", "b.yaml", "--junit", "smoke.xml"])
        .await
        .with_code(1);
    let ended = ended.saying("FALSIFIED").saying("HELD");
    assert_eq!(ended.out.matches("\nALL CLEAR").count(), 2, "{}", ended.out);
    let xml = std::fs::read_to_string(place.path("smoke.xml")).expect("a report");
    assert!(xml.contains("first") && xml.contains("second"), "{xml}");
    assert_eq!(xml.matches("<failure").count(), 2, "{xml}");
    shop.is_as_before().await;

    // A slip in the last file costs no minute of the first.
    place.file("b.yaml", "drill: broken");
    let ended = place.run(&["smoke", "a.yaml", "b.yaml"]).await.with_code(2);
    assert!(!ended.out.contains("=="), "{}", ended.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_cannot_be_written_hides_no_worse_end_and_a_lost_run_is_reported() {
    let shop = Shop::open(&[]).await;
    let place = crate::place_at(&shop, &drill(&[("baseline: 30s", "baseline: 10m")]));
    let smoke = place.start(&["smoke", "drill.yaml", "--junit", "/dev/full"]);
    smoke.says("BASELINE").await;
    smoke.signal(Signal::TERM);
    let ended = smoke.ended().await.with_code(130);
    let _ = ended.saying("the JUnit report /dev/full cannot be written");

    let smoke = place.start(&["smoke", "drill.yaml", "--junit", "smoke.xml"]);
    smoke.says("BASELINE").await;
    // Stopped first, both of them: none must see the other die and take over for it.
    for signal in [Signal::STOP, Signal::KILL] {
        for pid in place.processes() {
            kill_process(Pid::from_raw(pid).expect("a process id"), signal).expect("signalled");
        }
    }
    smoke.ended().await.with_code(4).saying("no keeper answers");
    let xml = std::fs::read_to_string(place.path("smoke.xml")).expect("a report");
    assert!(xml.contains("NOT CLOSED"), "{xml}");
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_from_anywhere_are_judged_line_by_line() {
    let place = Place::with("environments: {}\n");
    let document: Value = serde_json::from_str(include_str!("../judge/vectors.json")).expect("JSON");
    let cases = document["cases"].as_array().expect("cases");
    let lines: Vec<String> = cases.iter().map(Value::to_string).collect();
    place.file("cases.jsonl", lines.join("\n") + "\n\nno case\n");
    let mut command = place.command(&["judge", "--series", "-"]);
    command.stdin(std::fs::File::open(place.path("cases.jsonl")).expect("opened"));
    let ended = Program::start(command).ended().await.with_code(2);
    let judged = ended.json();
    assert_eq!(judged.len(), cases.len() + 1);
    for (case, got) in cases.iter().zip(&judged) {
        assert_eq!(got["verdict"], case["want"]["verdict"], "{}", case["name"]);
    }
    let wrong = judged.last().expect("an error");
    assert_eq!(wrong["line"], cases.len() + 2, "{wrong}");
    place
        .run(&["judge", "--series", "nowhere.jsonl"])
        .await
        .with_code(2)
        .saying("nowhere.jsonl");
}

#[tokio::test(flavor = "multi_thread")]
async fn colour_is_a_choice_and_never_in_a_pipe() {
    let place = Place::with("environments: {}\ndefualt: shop\n");
    for (key, value) in [("NO_COLOR", "1"), ("TERM", "xterm-256color")] {
        let mut command = place.command(&["list"]);
        command.env(key, value);
        let ended = Program::start(command).ended().await.with_code(2);
        assert!(ended.err.contains("default"), "{}", ended.err);
        assert!(!ended.err.contains('\u{1b}'), "{:?}", ended.err);
    }
}
