//! What a screen needs to draw itself: the view, the clock, the language, what is picked.

use jiff::tz::TimeZone;

use super::{Options, app::Ui, theme::Role};
use crate::{
    model::{
        amount::{Level, Unit},
        event::{Header, Health},
        ids::MetricId,
        text::Lang,
        time::{Moment, Span},
    },
    view::{Ending, RunView, Tone, ending_words, short_age},
};

/// Everything that a screen may look at.
pub(crate) struct Scene<'a> {
    pub(crate) view: &'a RunView,
    pub(crate) ui: &'a Ui,
    pub(crate) options: &'a Options,
    pub(crate) now: Moment,
}

impl<'a> Scene<'a> {
    /// The text of the chosen language.
    pub(crate) fn t<'t>(&self, en: &'t str, zh: &'t str) -> &'t str {
        self.options.lang.pick(en, zh)
    }

    pub(crate) fn lang(&self) -> Lang {
        self.options.lang
    }

    pub(crate) fn header(&self) -> Option<&'a Header> {
        self.view.header.as_deref()
    }

    /// The run's id, for commands to type.
    pub(crate) fn run(&self) -> String {
        self.header()
            .map_or_else(|| "RUN".to_owned(), |h| h.run.to_string())
    }

    pub(crate) fn unit(&self, metric: &MetricId) -> Unit {
        self.header().map_or(Unit::Count, |h| h.unit(metric))
    }

    /// A value with its unit; `--` if there is none.
    pub(crate) fn value(&self, metric: &MetricId, value: Option<Level>) -> String {
        value.map_or("--".to_owned(), |v| self.unit(metric).show(v.0))
    }

    /// What has passed since `then`.
    pub(crate) fn since(&self, then: Moment) -> Span {
        self.now.since(then)
    }

    /// The age of a value that was `age` old at `at`.
    pub(crate) fn age(&self, age: Span, at: Moment) -> Span {
        age + self.since(at)
    }

    /// An age, and whether it is so old that one should look.
    pub(crate) fn age_piece(&self, age: Span, at: Moment) -> (Role, String) {
        let age = self.age(age, at);
        let window = self.header().map_or(Span::seconds(10), |h| h.window);
        let fresh = age <= window * 3 + Span::seconds(3);
        (if fresh { Role::Dim } else { Role::Look }, short_age(age))
    }

    /// The wall time of a moment, for people: `14:06:12`.
    pub(crate) fn clock(&self, moment: Moment) -> String {
        match self.view.wall_at(moment) {
            Some(wall) => clock(wall, &self.options.zone),
            None => "--:--:--".to_owned(),
        }
    }

    /// Whether the run is over.
    pub(crate) fn over(&self) -> bool {
        self.view.outcome.is_some()
    }

    /// What may be said about the end, in words, and how it is meant.
    pub(crate) fn ending(&self) -> Option<(Role, String)> {
        let ending = self.view.ending()?;
        let role = match ending {
            Ending::AllClear => Role::Good,
            Ending::Refused | Ending::Untouched => Role::Look,
            Ending::Leftover | Ending::Unknown | Ending::Contradicted { .. } => Role::Alarm,
        };
        Some((
            role,
            ending_words(ending, self.view.may_remain.len(), self.lang()),
        ))
    }
}

/// `14:06:12`.
pub(crate) fn clock(wall: jiff::Timestamp, zone: &TimeZone) -> String {
    wall.to_zoned_datetime(zone.clone())
        .strftime("%H:%M:%S")
        .to_string()
}

/// The role of a guard's health.
pub(crate) fn health_role(health: Health) -> Role {
    match health {
        Health::Holds => Role::Good,
        Health::Bad | Health::Broken | Health::Blind | Health::BlindTooLong => Role::Look,
    }
}

/// The role of a journal line.
pub(crate) fn tone_role(tone: Tone) -> Role {
    match tone {
        Tone::Plain => Role::Plain,
        Tone::Look => Role::Look,
        Tone::Alarm => Role::Alarm,
        Tone::Good => Role::Good,
    }
}
