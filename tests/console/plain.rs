//! The plain reporter, line by line.

use allclear::{
    console::{Ask, Incoming, Link, Plain, PlainEnd, PlainOptions, plain::report},
    model::{
        event::{Body, Event},
        said::Said,
        snapshot::Changed,
        text::Lang,
        time::Moment,
    },
    view::RunView,
};
use futures::{StreamExt, stream};
use tokio::sync::mpsc;

use crate::story::Story;

fn options(lang: Lang) -> PlainOptions {
    PlainOptions {
        lang,
        now: || Moment(0),
        owns: true,
        coach: false,
    }
}

fn reported(story: &Story, lang: Lang) -> String {
    let mut plain = Plain::new(Vec::new(), options(lang));
    for event in &story.events {
        plain.receive(Incoming::Event(Box::new(event.clone()))).unwrap();
    }
    String::from_utf8(plain.into_inner()).unwrap()
}

#[test]
fn a_run_that_holds_ends_with_held_and_all_clear() {
    let text = reported(&Story::closed_held(), Lang::En);
    let last: Vec<&str> = text.lines().rev().take(2).collect();
    assert_eq!(last, ["ALL CLEAR", "HELD"]);
    insta::assert_snapshot!(text);
}

#[test]
fn a_run_that_left_something_says_what_and_how_to_remove_it() {
    insta::assert_snapshot!(reported(&Story::closed_leftover(), Lang::En));
}

#[test]
fn the_last_words_stay_english_for_tools() {
    let text = reported(&Story::closed_held(), Lang::Zh);
    assert!(text.ends_with("HELD\nALL CLEAR\n"));
    insta::assert_snapshot!(text);
}

#[test]
fn a_refused_run_ends_with_its_reasons() {
    insta::assert_snapshot!(reported(&Story::refused(), Lang::En));
}

#[test]
fn an_unexpected_row_stands_on_one_line() {
    let text = reported(&Story::recovering(), Lang::En);
    let line = text.lines().find(|l| l.contains("order_success marked")).unwrap();
    assert!(line.contains("UNEXPECTED"), "{line}");
}

#[test]
fn a_progress_line_says_phase_faults_guard_and_verdicts() {
    let mut plain = Plain::new(Vec::new(), options(Lang::En));
    plain
        .receive(Incoming::State(Box::new(Story::running().view())))
        .unwrap();
    plain.progress().unwrap();
    let text = String::from_utf8(plain.into_inner()).unwrap();
    let last = text.lines().last().unwrap();
    assert!(
        last.ends_with("... RUNNING  00:00  1 live  guard BAD 1  2 AS EXPECTED  1 UNEXPECTED  1 UNDECIDED"),
        "{last}"
    );
}

#[test]
fn what_somebody_changed_during_the_baseline_is_said_by_name_and_remarked() {
    let mut story = Story::baseline();
    story.say(Body::ChangedMeanwhile(vec![Changed {
        what: Said::as_it_is("order-0 at gateway lb"),
        before: Said::as_it_is("weight 100 of 100, ready"),
        now: Said::as_it_is("weight 50 of 100, ready"),
    }]));
    let stands = "order-0 at gateway lb weight 100 of 100, ready → weight 50 of 100, ready";
    for (lang, words) in [
        (
            Lang::En,
            "changed during the baseline, and put back to what it is now: ",
        ),
        (Lang::Zh, "静默观察期间有改动，恢复时以现值为准："),
    ] {
        let text = reported(&story, lang);
        let last = text.lines().last().unwrap();
        assert!(last.ends_with(&format!("{words}{stands}")), "{last}");
    }
    let view = story.view();
    let remark = view.warnings.back().unwrap().text.en();
    assert!(
        remark.starts_with("changed during the baseline: order-0"),
        "{remark}"
    );
}

#[test]
fn a_by_hand_of_two_lines_is_told_in_two() {
    let mut story = Story::closed_leftover();
    for event in &mut story.events {
        if let Body::MayRemain(left) = &mut event.body {
            left[0].by_hand = Some("redis-cli --scan | wc -l\n: 'deletes 2'; redis-cli UNLINK a b".into());
        }
    }
    let text = reported(&story, Lang::En);
    let told: Vec<&str> = text.lines().filter(|l| l.starts_with("  by hand:")).collect();
    assert_eq!(
        told,
        [
            "  by hand: redis-cli --scan | wc -l",
            "  by hand: : 'deletes 2'; redis-cli UNLINK a b"
        ]
    );
}

#[test]
fn a_console_that_comes_late_reports_what_it_has_missed_once() {
    let story = Story::closed_held();
    let half = story.events.len() / 2;
    let mut plain = Plain::new(Vec::new(), options(Lang::En));
    for _ in 0..2 {
        let view = RunView::of(&story.events[..half]);
        plain.receive(Incoming::State(Box::new(view))).unwrap();
    }
    for event in &story.events[half..] {
        plain.receive(Incoming::Event(Box::new(event.clone()))).unwrap();
    }
    assert_eq!(
        String::from_utf8(plain.into_inner()).unwrap(),
        reported(&story, Lang::En)
    );
}

/// A link to a keeper that recovers when it is asked to.
struct Scripted {
    before: Vec<Event>,
    after: Vec<Event>,
    asked: mpsc::UnboundedSender<Ask>,
    recovering: bool,
}

impl Link for Scripted {
    async fn next(&mut self) -> Option<Incoming> {
        let queue = match (self.before.is_empty(), self.recovering) {
            (false, _) => &mut self.before,
            (true, true) => &mut self.after,
            (true, false) => std::future::pending().await,
        };
        (!queue.is_empty()).then(|| Incoming::Event(Box::new(queue.remove(0))))
    }

    async fn send(&mut self, ask: Ask) -> Result<(), Said> {
        self.recovering |= matches!(ask, Ask::Recover | Ask::Interrupt { .. });
        self.asked.send(ask).map_err(|e| Said::as_it_is(e.to_string()))
    }
}

fn scripted() -> (Scripted, mpsc::UnboundedReceiver<Ask>) {
    let (asked, asks) = mpsc::unbounded_channel();
    let count = Story::running().events.len();
    let link = Scripted {
        before: Story::running().events,
        after: Story::closed_leftover().events[count..].to_vec(),
        asked,
        recovering: false,
    };
    (link, asks)
}

#[tokio::test(start_paused = true)]
async fn a_signal_to_a_console_that_owns_its_run_recovers_and_waits_for_the_end() {
    let (link, mut asks) = scripted();
    let signals = stream::iter(["SIGTERM"]).chain(stream::pending());
    let end = report(link, Vec::new(), options(Lang::En), Box::pin(signals)).await;
    assert!(
        matches!(
            end,
            PlainEnd::Ended {
                interrupted: true,
                ..
            }
        ),
        "{end:?}"
    );
    assert_eq!(asks.try_recv(), Ok(Ask::Interrupt { signal: "SIGTERM" }));
}

#[tokio::test(start_paused = true)]
async fn a_signal_to_a_console_that_only_looks_leaves_and_asks_for_nothing() {
    let (link, mut asks) = scripted();
    let signals = stream::iter(["SIGINT"]).chain(stream::pending());
    let options = PlainOptions {
        owns: false,
        ..options(Lang::En)
    };
    let end = report(link, Vec::new(), options, Box::pin(signals)).await;
    assert_eq!(end, PlainEnd::Left);
    assert!(asks.try_recv().is_err());
}

/// A reader that has gone away.
struct Broken;

impl std::io::Write for Broken {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_console_that_owns_its_run_still_recovers_when_nobody_reads_it() {
    let (link, mut asks) = scripted();
    let later = stream::once(async {
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        "SIGINT"
    });
    let end = report(
        link,
        Broken,
        options(Lang::En),
        Box::pin(later.chain(stream::pending())),
    )
    .await;
    assert!(
        matches!(
            end,
            PlainEnd::Ended {
                interrupted: true,
                ..
            }
        ),
        "{end:?}"
    );
    assert_eq!(asks.try_recv(), Ok(Ask::Interrupt { signal: "SIGINT" }));
}

/// A pipe that nobody reads, and that is full: whoever writes into it waits.
struct Unread(std::sync::mpsc::Receiver<()>);

impl std::io::Write for Unread {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // Until it is closed; a reporter that waits here must not wait for ever.
        let _ = self.0.recv_timeout(std::time::Duration::from_secs(20));
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_signal_is_heard_though_nobody_reads_the_pipe() {
    let (link, mut asks) = scripted();
    let (_open, closes) = std::sync::mpsc::channel();
    let later = stream::once(async {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        "SIGTERM"
    });
    let began = tokio::time::Instant::now();
    let end = report(
        link,
        Unread(closes),
        options(Lang::En),
        Box::pin(later.chain(stream::pending())),
    )
    .await;
    assert!(
        matches!(
            end,
            PlainEnd::Ended {
                interrupted: true,
                ..
            }
        ),
        "{end:?}"
    );
    assert_eq!(asks.try_recv(), Ok(Ask::Interrupt { signal: "SIGTERM" }));
    let took = began.elapsed();
    assert!(took < std::time::Duration::from_secs(15), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_keeper_that_is_gone_for_good_is_not_taken_for_an_end() {
    let (mut link, _asks) = scripted();
    link.after.clear();
    link.recovering = true;
    let end = report(link, Vec::new(), options(Lang::En), stream::pending()).await;
    assert!(matches!(end, PlainEnd::Lost(_)), "{end:?}");
}
