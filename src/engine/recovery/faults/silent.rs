//! A target that does not answer keeps nobody waiting but itself: once everything else is done and a moment has passed,
//! later steps may begin, and it is tried again beside them.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use futures::{FutureExt, StreamExt, stream};
use tokio::time::{Instant, interval};

use crate::{drivers::error::DriverError, engine::recovery::TOGETHER, model::time::Span};

/// How long every target is waited for, whether it answers or not.
const MOMENT: Span = Span::millis(500);

/// Between two looks at who is still silent.
const LOOK: Span = Span::millis(100);

/// Whether a target that was asked has not answered.
#[derive(Debug, Clone, Default)]
pub(super) struct Silence(Arc<AtomicBool>);

impl Silence {
    /// It is being asked.
    pub fn begins(&self) {
        self.0.store(true, Relaxed);
    }

    /// What came of a question. A refusal is an answer.
    pub fn note<T>(&self, answer: &Result<T, DriverError>) {
        let none = matches!(
            answer,
            Err(DriverError::Unreachable { .. } | DriverError::TimedOut { .. } | DriverError::Lost { .. })
        );
        self.0.store(none, Relaxed);
    }

    fn lasts(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// All parts at the same time, their results in order. As soon as a moment has passed and only silent targets are left,
/// `go_on` is told once what there is so far.
pub(super) async fn together_but_for_the_silent<T, F>(
    parts: Vec<(Silence, F)>,
    go_on: impl FnOnce(&[Option<T>]),
) -> Vec<T>
where
    F: Future<Output = T>,
{
    let silences: Vec<Silence> = parts.iter().map(|(silence, _)| silence.clone()).collect();
    let mut ended: Vec<Option<T>> = parts.iter().map(|_| None).collect();
    let numbered: Vec<_> = parts
        .into_iter()
        .enumerate()
        .map(|(n, (_, part))| part.map(move |end| (n, end)))
        .collect();
    let mut under_way = stream::iter(numbered).buffer_unordered(TOGETHER);
    let (begin, mut go_on, mut look) = (Instant::now(), Some(go_on), interval(LOOK.into()));
    loop {
        tokio::select! {
            biased;
            next = under_way.next() => match next {
                Some((n, end)) => ended[n] = Some(end),
                None => break,
            },
            _ = look.tick(), if go_on.is_some() => {}
        }
        let outstanding = || silences.iter().zip(&ended).filter(|(_, end)| end.is_none());
        let waits_for_silence = outstanding().count() > 0 && outstanding().all(|(s, _)| s.lasts());
        if waits_for_silence
            && Span::from(begin.elapsed()) >= MOMENT
            && let Some(go_on) = go_on.take()
        {
            go_on(&ended);
        }
    }
    ended.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn unanswered() -> Result<(), DriverError> {
        Err(DriverError::TimedOut {
            what: "GET".into(),
            after: Span::seconds(5),
        })
    }

    /// Parts that answer, or not, at once and end after so many milliseconds; when later steps could go on, if they could.
    async fn goes_on_after(parts: &[(Result<(), DriverError>, u64)]) -> Option<(Span, usize)> {
        let begin = Instant::now();
        let told = RefCell::new(None);
        let parts = parts.iter().cloned().map(|(answer, ms)| {
            let silence = Silence::default();
            let heard = silence.clone();
            (silence, async move {
                heard.begins();
                heard.note(&answer);
                tokio::time::sleep(Span::millis(ms).into()).await;
            })
        });
        together_but_for_the_silent(parts.collect(), |so_far| {
            let span = Span::from(begin.elapsed());
            *told.borrow_mut() = Some((span, so_far.iter().flatten().count()));
        })
        .await;
        told.into_inner()
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_target_is_waited_for_half_a_second_once_all_others_are_done() {
        let silent = (unanswered(), 20_000);
        let (after, done) = goes_on_after(&[(Ok(()), 10), silent.clone(), (Ok(()), 20)])
            .await
            .unwrap();
        assert_eq!((after, done), (MOMENT, 2));
        let (after, done) = goes_on_after(&[(Ok(()), 3_000), silent]).await.unwrap();
        assert_eq!((after, done), (Span::seconds(3), 1));
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_answers_and_is_not_done_is_waited_for() {
        let refused = Err(DriverError::Refused {
            what: "DELETE".into(),
            status: Some(503),
            answer: "later".into(),
        });
        assert_eq!(goes_on_after(&[(Ok(()), 20_000), (refused, 20_000)]).await, None);
    }
}
