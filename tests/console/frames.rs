//! Frames of every screen, as text.

use allclear::{
    console::{Screen, render_text},
    model::{event::Body, phase::Phase, text::Lang, time::Span},
};

use crate::story::Story;

fn both_languages(story: &Story, screen: Screen, width: u16, height: u16) -> String {
    let view = story.view();
    let en = render_text(&view, screen, width, height, Lang::En);
    let zh = render_text(&view, screen, width, height, Lang::Zh);
    format!("{en}{}\n{zh}", "=".repeat(usize::from(width)))
}

fn check(name: &str, story: &Story, screen: Screen) {
    for (width, height) in [(80, 24), (200, 60)] {
        insta::assert_snapshot!(
            format!("{name}_{width}x{height}"),
            both_languages(story, screen, width, height)
        );
    }
}

#[test]
fn the_sheet_at_every_stage() {
    for (stage, story) in Story::stages() {
        check(&format!("sheet_{stage}"), &story, Screen::Sheet);
    }
}

#[test]
fn the_charts_while_a_fault_is_live() {
    check("charts_running", &Story::running(), Screen::Charts);
}

#[test]
fn recovery_before_it_begins_while_it_runs_and_at_its_end() {
    check("recovery_running", &Story::running(), Screen::Recovery);
    check("recovery_recovering", &Story::recovering(), Screen::Recovery);
    check("recovery_verifying", &Story::verifying(), Screen::Recovery);
}

#[test]
fn recovery_whose_steps_have_much_to_say() {
    check("recovery_in_trouble", &Story::in_trouble(), Screen::Recovery);
}

#[test]
fn the_journal_follows_the_newest_line() {
    check("journal_recovering", &Story::recovering(), Screen::Journal);
}

#[test]
fn the_map_while_a_fault_is_live_and_after() {
    check("map_running", &Story::running(), Screen::Map);
    check("map_closed_held", &Story::closed_held(), Screen::Map);
}

#[test]
fn the_findings_of_a_run_that_left_something() {
    check(
        "findings_closed_leftover",
        &Story::closed_leftover(),
        Screen::Findings,
    );
}

#[test]
fn the_help() {
    check("help", &Story::running(), Screen::Help);
}

#[test]
fn a_blind_guard_leaves_room_for_when_the_run_may_arm() {
    let shown = both_languages(&Story::blind_in_baseline(), Screen::Sheet, 80, 24);
    let status: Vec<&str> = shown.lines().filter(|line| line.contains("/10:00")).collect();
    insta::assert_snapshot!(status.join("\n"), @r"
     BASELINE 07:44/10:00   earliest arm 14:01:13      guard BLIND 2/3  watching: 1
     静默观察 07:44/10:00   未注入   最早发起 14:01:13       守护 失明 2/3  观看: 1
    ");
}

#[test]
fn how_long_a_step_takes_is_told_to_the_nearest_second() {
    let mut story = Story::preflight();
    story.say(Body::Phase {
        phase: Phase::Running,
        until: None,
    });
    for (begins_late, takes) in [(40, "02:00"), (499, "02:00"), (501, "01:59")] {
        let until = story.now() + Span::seconds(120);
        story.wait(begins_late).say(Body::StepStarted {
            step: 0,
            until,
            source_ms: 0,
        });
        let screen = render_text(&story.view(), Screen::Sheet, 80, 24, Lang::En);
        assert!(
            screen.contains(&format!(" 00:00/{takes}")),
            "{begins_late} ms late:\n{screen}"
        );
    }
}

#[test]
fn a_fault_is_shown_to_be_gone_though_its_hits_died_with_a_keeper() {
    let sheet = |view: &_| render_text(view, Screen::Sheet, 80, 24, Lang::En);
    let of_the_fault = |text: String| {
        let line = text.lines().find(|l| l.contains("FAULT coupon-delay"));
        line.expect("the fault's line").to_owned()
    };
    for (story, is_gone) in [(Story::recovering(), true), (Story::running(), false)] {
        let mut view = story.view();
        view.faults.iter_mut().for_each(|fault| fault.hits = None);
        let line = of_the_fault(sheet(&view));
        assert_eq!(line.contains("gone, read back"), is_gone, "{line}");
    }
}
