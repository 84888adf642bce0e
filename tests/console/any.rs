//! Any events, in any order, at any size.

use allclear::{
    console::{App, Incoming, Options, Plain, PlainOptions, Screen, buffer_text, render_text},
    model::{
        amount::Level,
        event::{Body, Event},
        said::Said,
        text::Lang,
        time::Moment,
    },
    view::RunView,
};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use crate::{keys::options, story::Story};

/// Every event of every stage, to draw from.
fn pool() -> Vec<Event> {
    let mut pool: Vec<Event> = Story::stages().into_iter().flat_map(|(_, s)| s.events).collect();
    pool.retain(|e| !matches!(e.body, Body::Window { .. }) || e.seq % 17 == 0);
    pool
}

/// Numbers that hurt. Few, because a text of any other may come back off by its last bit.
fn number() -> impl Strategy<Value = Option<f64>> {
    let numbers = [
        0.0,
        -0.0,
        0.25,
        -1.5,
        1e9,
        -1e300,
        f64::MAX,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    proptest::option::of(proptest::sample::select(numbers.to_vec()))
}

/// Events drawn from the pool, with moments and texts that no keeper would send.
fn history() -> impl Strategy<Value = Vec<Event>> {
    let pool = pool();
    let one = (
        0..pool.len(),
        any::<Option<u64>>(),
        number(),
        "[ -~\u{1b}é中\u{301}\u{200d}👩🏽]{0,40}",
    );
    proptest::collection::vec(one, 0..60).prop_map(move |draws| {
        let mut events = Vec::new();
        for (seq, (index, at, number, text)) in draws.into_iter().enumerate() {
            let mut event = pool[index].clone();
            event.seq = seq as u64 + 1;
            if let Some(at) = at {
                event.at = Moment(at);
            }
            spoil(&mut event.body, number, &text);
            events.push(event);
        }
        events
    })
}

fn spoil(body: &mut Body, number: Option<f64>, text: &str) {
    match body {
        Body::Opened(header) => {
            header.title.en = text.into();
            if let Some(step) = header.steps.first_mut() {
                step.what = text.into();
            }
        }
        Body::Row(row) => {
            row.row.step = row.row.step.wrapping_add(text.len() % 3);
            row.now = number.map(Level);
            row.low = number.map(Level);
            row.reason = Said::as_it_is(text);
        }
        Body::Guard(guard) => {
            guard.index = text.len() % 6;
            guard.room = number;
            if let (Ok(value), Some(number)) = (&mut guard.reading.value, number) {
                *value = Level(number);
            }
        }
        Body::Moved(moved) => moved.iter_mut().for_each(|m| m.now = number.unwrap_or(f64::NAN)),
        Body::Reach(lines) => lines.iter_mut().for_each(|l| l.share = number.unwrap_or(l.share)),
        Body::StepStarted { step, .. } | Body::StepEnded { step } => *step = text.len(),
        Body::Recovery(report) => report.detail = Said::as_it_is(text),
        Body::MayRemain(left) => left.iter_mut().for_each(|l| l.by_hand = Some(text.into())),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_history_at_no_size_panics_or_overflows(
        events in history(),
        width in 1u16..230,
        height in 1u16..70,
        zh in any::<bool>(),
        coach in any::<bool>(),
        details in any::<bool>(),
    ) {
        let view = RunView::of(&events);
        let lang = if zh { Lang::Zh } else { Lang::En };
        let mut app = App::new(view, Options { lang, coach, ..options() });
        for screen in Screen::ALL {
            app.show(screen);
            if details {
                let enter = crossterm::event::KeyEvent::from(crossterm::event::KeyCode::Enter);
                app.input(&crossterm::event::Event::Key(enter), Moment(0));
            }
            let frame = app.frame(width, height, Moment(u64::MAX));
            for line in buffer_text(&frame).lines() {
                prop_assert!(line.width() <= usize::from(width), "{screen:?} {width}: {line:?}");
            }
        }
    }

    #[test]
    fn a_view_survives_the_way_over_the_wire(events in history()) {
        let view = RunView::of(&events);
        let text = serde_json::to_string(&view).unwrap();
        let back: RunView = serde_json::from_str(&text).unwrap();
        for screen in Screen::ALL {
            let shown = |view: &RunView| render_text(view, screen, 150, 50, Lang::En);
            prop_assert_eq!(shown(&back), shown(&view));
        }
    }

    #[test]
    fn events_that_come_twice_change_nothing(events in history()) {
        let view = RunView::of(&events);
        let twice = RunView::of(events.iter().chain(&events));
        prop_assert_eq!(format!("{:?}", view), format!("{:?}", twice));
    }

    #[test]
    fn plain_lines_hold_no_control_characters(events in history()) {
        let options = PlainOptions { lang: Lang::En, now: || Moment(0), owns: false, coach: false };
        let mut plain = Plain::new(Vec::new(), options);
        for event in events {
            plain.receive(Incoming::Event(Box::new(event))).unwrap();
            plain.progress().unwrap();
        }
        let text = String::from_utf8(plain.into_inner()).unwrap();
        prop_assert!(!text.contains(|c: char| c.is_control() && c != '\n'));
    }
}

#[test]
fn the_smallest_terminals_show_the_most_important() {
    let mut frames = String::new();
    for (stage, story) in Story::stages() {
        for lang in [Lang::En, Lang::Zh] {
            frames.push_str(&format!("{stage}\n"));
            frames.push_str(&render_text(&story.view(), Screen::Sheet, 20, 5, lang));
        }
    }
    frames.push_str("1x1\n");
    frames.push_str(&render_text(
        &Story::running().view(),
        Screen::Sheet,
        1,
        1,
        Lang::En,
    ));
    insta::assert_snapshot!(frames);
}
