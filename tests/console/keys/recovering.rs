//! The keys that recover, and what stands between them and the keeper.

use allclear::{
    console::{App, Ask, Effect, Incoming, Screen, buffer_text},
    model::{said::Said, text::Lang, time::Moment},
    view::RunView,
};
use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyModifiers};

use super::{NOW, app, control, key, options, press, shown};
use crate::story::Story;

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
    app.receive(Incoming::Lost(Said::as_it_is("connection reset")));
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
fn a_lost_keeper_is_told_in_the_language_of_who_looks() {
    for (lang, told) in [
        (Lang::En, "NO KEEPER: looking for another "),
        (Lang::Zh, "无守护进程: 正在寻找另一个 "),
    ] {
        let options = allclear::console::Options { lang, ..options() };
        let mut app = App::new(Story::running().view(), options);
        let why = Said::new("looking for another; it died", "正在寻找另一个；它已死");
        app.receive(Incoming::Lost(why));
        let screen = shown(&mut app) + " ";
        assert!(
            screen.lines().any(|line| format!("{line} ").contains(told)),
            "{screen}"
        );
    }
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
