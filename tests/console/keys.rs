//! Keys, pastes and messages, as they come from a terminal and a keeper.

use allclear::{
    console::{App, Ask, Colour, Effect, Incoming, Options, Screen, buffer_text},
    model::{
        event::{Body, Event},
        text::Lang,
        time::Moment,
    },
    view::RunView,
};
use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::story::Story;

const NOW: Moment = Moment(100_000_000);

pub fn options() -> Options {
    Options {
        lang: Lang::En,
        colour: Colour::None,
        read_only: false,
        coach: false,
        now: || NOW,
        zone: jiff::tz::TimeZone::UTC,
    }
}

fn app(story: &Story) -> App {
    App::new(story.view(), options())
}

fn read_only(story: &Story) -> App {
    let options = Options {
        read_only: true,
        ..options()
    };
    App::new(story.view(), options)
}

fn press(app: &mut App, code: KeyCode, modifiers: KeyModifiers) -> Option<Effect> {
    app.input(&Input::Key(KeyEvent::new(code, modifiers)), NOW)
}

fn key(app: &mut App, c: char) -> Option<Effect> {
    press(app, KeyCode::Char(c), KeyModifiers::NONE)
}

fn control(app: &mut App, c: char) -> Option<Effect> {
    press(app, KeyCode::Char(c), KeyModifiers::CONTROL)
}

fn shown(app: &mut App) -> String {
    let now = app.view().at;
    buffer_text(&app.frame(80, 24, now))
}

const RECOVER: Option<Effect> = Some(Effect::Ask(Ask::Recover));

#[test]
fn r_and_shift_r_recover_from_every_screen() {
    for screen in Screen::ALL {
        let mut app = app(&Story::running());
        app.show(screen);
        assert_eq!(key(&mut app, 'r'), RECOVER, "{screen:?}");
        app.show(screen);
        assert_eq!(
            press(&mut app, KeyCode::Char('R'), KeyModifiers::SHIFT),
            RECOVER,
            "{screen:?}"
        );
    }
}

#[test]
fn control_r_recovers_while_a_note_is_written_and_r_is_only_a_letter_there() {
    let mut app = app(&Story::running());
    key(&mut app, 'n');
    assert_eq!(key(&mut app, 'r'), None);
    assert_eq!(control(&mut app, 'r'), RECOVER);
    assert_eq!(
        press(&mut app, KeyCode::Enter, KeyModifiers::NONE),
        Some(Effect::Ask(Ask::Note("r".into())))
    );
}

#[test]
fn control_c_recovers_and_a_second_one_leaves() {
    let mut app = app(&Story::running());
    assert_eq!(control(&mut app, 'c'), RECOVER);
    assert_eq!(control(&mut app, 'c'), Some(Effect::Leave));
}

#[test]
fn control_c_in_a_note_recovers_too() {
    let mut app = app(&Story::running());
    key(&mut app, 'n');
    assert_eq!(control(&mut app, 'c'), RECOVER);
}

#[test]
fn a_key_between_two_control_c_begins_again() {
    let mut app = app(&Story::running());
    control(&mut app, 'c');
    key(&mut app, '4');
    assert_eq!(control(&mut app, 'c'), RECOVER);
}

#[test]
fn a_paste_never_presses_a_key() {
    for story in [Story::running(), Story::baseline()] {
        let mut app = app(&story);
        assert_eq!(app.input(&Input::Paste("r\nR\u{12}\u{3}q".into()), NOW), None);
        assert!(shown(&mut app).contains("paste ignored"));
    }
}

#[test]
fn a_paste_into_a_note_stays_text_without_control_characters() {
    let mut app = app(&Story::running());
    key(&mut app, 'n');
    assert_eq!(app.input(&Input::Paste("r\u{1b}[2J\u{12}q".into()), NOW), None);
    let sent = press(&mut app, KeyCode::Enter, KeyModifiers::NONE);
    assert_eq!(sent, Some(Effect::Ask(Ask::Note("r[2Jq".into()))));
}

#[test]
fn a_released_key_does_nothing() {
    let mut app = app(&Story::running());
    let mut released = KeyEvent::new(KeyCode::Char('r'), KeyModifiers::NONE);
    released.kind = KeyEventKind::Release;
    assert_eq!(app.input(&Input::Key(released), NOW), None);
}

#[test]
fn an_alt_key_is_not_its_letter() {
    let mut app = app(&Story::running());
    assert_eq!(press(&mut app, KeyCode::Char('r'), KeyModifiers::ALT), None);
    assert_eq!(
        press(
            &mut app,
            KeyCode::Char('r'),
            KeyModifiers::ALT | KeyModifiers::CONTROL
        ),
        None
    );
}

#[test]
fn q_leaves_and_the_footer_says_that_the_run_goes_on() {
    let mut app = app(&Story::running());
    assert!(shown(&mut app).contains("q leave (run goes on)"));
    assert_eq!(key(&mut app, 'q'), Some(Effect::Leave));
}

#[test]
fn a_console_that_only_looks_cannot_ask_for_anything_and_says_so() {
    let mut app = read_only(&Story::baseline());
    for c in ['r', 'R', 'n', 'e'] {
        assert_eq!(key(&mut app, c), None, "{c}");
        assert!(shown(&mut app).contains("this console only looks"), "{c}");
    }
    assert_eq!(control(&mut app, 'r'), None);
    assert_eq!(control(&mut app, 'c'), Some(Effect::Leave));
    let text = shown(&mut app);
    assert!(text.contains("READ ONLY") && !text.contains("STOP+RECOVER") && !text.contains(" r cancel"));
}

#[test]
fn recovering_a_run_that_is_over_changes_nothing_and_says_so() {
    let mut app = app(&Story::closed_held());
    assert_eq!(key(&mut app, 'r'), None);
    assert!(shown(&mut app).contains("the run is over; nothing was changed"));
}

#[test]
fn recovery_asked_twice_is_sent_twice_and_shown_as_running() {
    let mut app = app(&Story::recovering());
    assert_eq!(key(&mut app, 'r'), RECOVER);
    assert!(shown(&mut app).contains("recovery is running already"));
}

#[test]
fn a_keeper_that_does_not_answer_is_named_with_the_command_to_type() {
    let mut app = app(&Story::running());
    let asked = app.view().at;
    let pressed = Input::Key(KeyEvent::new(KeyCode::Char('r'), KeyModifiers::NONE));
    assert_eq!(app.input(&pressed, asked), RECOVER);
    let at_once = buffer_text(&app.frame(100, 24, asked));
    assert!(at_once.contains("RECOVER SENT"), "{at_once}");
    let later = buffer_text(&app.frame(100, 24, Moment(asked.0 + 3_000)));
    assert!(
        later.contains("NO ANSWER from the keeper; type elsewhere: allclear recover 7f3a21"),
        "{later}"
    );
}

#[test]
fn a_lost_keeper_is_shown_on_every_screen_and_forgotten_when_it_is_back() {
    let story = Story::running();
    let mut app = app(&story);
    app.receive(Incoming::Lost("connection reset".into()));
    for screen in Screen::ALL {
        app.show(screen);
        assert!(
            shown(&mut app).contains("NO KEEPER: connection reset"),
            "{screen:?}"
        );
    }
    app.receive(Incoming::State(Box::new(story.view())));
    assert!(!shown(&mut app).contains("NO KEEPER"));
}

#[test]
fn the_sheet_gives_way_to_recovery_when_the_guard_ends_the_run() {
    let before = Story::running();
    let mut app = app(&before);
    for event in &Story::recovering().events[before.events.len()..] {
        app.receive(Incoming::Event(Box::new(event.clone())));
    }
    assert!(shown(&mut app).contains("1 stop faults   DONE"));
}

#[test]
fn another_screen_stays_when_the_guard_ends_the_run() {
    let before = Story::running();
    let mut app = app(&before);
    app.show(Screen::Map);
    for event in &Story::recovering().events[before.events.len()..] {
        app.receive(Incoming::Event(Box::new(event.clone())));
    }
    assert!(shown(&mut app).contains("BLAST RADIUS"));
}

#[test]
fn e_asks_for_a_longer_baseline_and_only_there() {
    let mut app = app(&Story::baseline());
    assert!(matches!(
        key(&mut app, 'e'),
        Some(Effect::Ask(Ask::Extend { .. }))
    ));
    let mut app = App::new(Story::running().view(), options());
    assert_eq!(key(&mut app, 'e'), None);
    assert!(shown(&mut app).contains("only the baseline can be extended"));
}

#[test]
fn details_of_a_picked_row_take_the_place_of_the_guard_and_move_no_row() {
    let mut app = app(&Story::running());
    for _ in 0..4 {
        press(&mut app, KeyCode::Down, KeyModifiers::NONE);
    }
    let before = shown(&mut app);
    press(&mut app, KeyCode::Enter, KeyModifiers::NONE);
    let after = shown(&mut app);
    let place = |text: &str| {
        text.lines()
            .position(|l| l.contains("order_success    marked  99.60%"))
    };
    assert_eq!(place(&before), place(&after));
    insta::assert_snapshot!(after);
}

#[test]
fn no_row_moves_when_a_verdict_turns() {
    let story = Story::running();
    let turned = story
        .events
        .iter()
        .position(|e| matches!(&e.body, Body::Row(_)))
        .unwrap();
    let before = RunView::of(&story.events[..turned]);
    let places = |view: RunView| -> Vec<Option<usize>> {
        let text = shown(&mut App::new(view, options()));
        [
            "coupon_p99",
            "degraded_rate",
            "order_p99        marked",
            "order_success    marked",
        ]
        .iter()
        .map(|name| text.lines().position(|l| l.contains(name)))
        .collect()
    };
    assert_eq!(places(before), places(story.view()));
}

#[test]
fn the_journal_stays_where_one_has_scrolled_to() {
    let story = Story::recovering();
    let cut = story.events.len() - 6;
    let mut app = App::new(RunView::of(&story.events[..cut]), options());
    app.show(Screen::Journal);
    shown(&mut app);
    press(&mut app, KeyCode::PageUp, KeyModifiers::NONE);
    let top = |text: String| text.lines().nth(3).map(str::to_owned);
    let before = top(shown(&mut app));
    for event in &story.events[cut..] {
        app.receive(Incoming::Event(Box::new(event.clone())));
    }
    assert_eq!(top(shown(&mut app)), before);
}

#[test]
fn escape_sequences_in_titles_notes_and_reasons_never_reach_a_frame() {
    let mut story = Story::closed_leftover();
    let evil = "x\u{1b}[2J\u{9b}31m\u{202e}\u{7}y";
    for event in &mut story.events {
        match &mut event.body {
            Body::Opened(header) => {
                header.title.en = evil.into();
                header.hypothesis.en = evil.into();
                header.metrics[0].title.en = evil.into();
                header.panels[0].0.en = evil.into();
                header.steps[0].rows[3].declared = evil.into();
            }
            Body::Row(row) => row.reason = evil.into(),
            Body::MayRemain(left) => left.iter_mut().for_each(|l| {
                l.what = evil.into();
                l.by_hand = Some(evil.into());
            }),
            Body::Check(check) => check.found = evil.into(),
            _ => {}
        }
    }
    let seq = story.events.len() as u64 + 1;
    let mut last: Event = story.events[0].clone();
    last.seq = seq;
    last.body = Body::Note {
        by: evil.into(),
        text: evil.into(),
    };
    story.events.push(last);
    let mut app = app(&story);
    for screen in Screen::ALL {
        app.show(screen);
        let frame = app.frame(120, 40, NOW);
        for cell in frame.content() {
            let bad = |c: char| c.is_control() || c == '\u{202e}';
            assert!(!cell.symbol().contains(bad), "{screen:?}: {:?}", cell.symbol());
        }
    }
}

#[test]
fn all_clear_is_not_said_while_a_fault_was_never_read_back_as_gone() {
    let mut story = Story::closed_held();
    story.events.retain(|e| !matches!(e.body, Body::FaultGone { .. }));
    let mut app = app(&story);
    for (width, height) in [(80, 24), (20, 5)] {
        let now = app.view().at;
        let text = buffer_text(&app.frame(width, height, now));
        assert!(text.contains("NOT CLEAR"), "{text}");
    }
    let text = shown(&mut app);
    assert!(text.contains("ALL CLEAR --"), "{text}");
    assert!(
        text.contains("7f3a21-coupon-delay-order-0-0 LIVE, never read back as gone"),
        "{text}"
    );
}

#[test]
fn before_the_first_word_of_the_keeper_nothing_is_claimed_and_r_works() {
    let mut app = App::new(RunView::default(), options());
    for screen in Screen::ALL {
        app.show(screen);
        for (width, height) in [(80, 24), (30, 5)] {
            let text = buffer_text(&app.frame(width, height, NOW));
            assert!(text.contains("NOT CONNECTED YET"), "{text}");
            for claim in ["PREFLIGHT", "touches nothing", "nothing to undo", "holds"] {
                assert!(!text.contains(claim), "{claim}: {text}");
            }
        }
    }
    assert_eq!(key(&mut app, 'r'), RECOVER);
}
