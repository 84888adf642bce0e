//! The lines of the journal.

use super::{
    super::{Line, MAX_LINES, RunView, line, tone::tone},
    keep,
};
use crate::model::{
    event::{Body, Event, Health},
    text::Lang,
};

impl RunView {
    pub(super) fn write_journal(&mut self, event: &Event) {
        let header = match &event.body {
            Body::Opened(header) => Some(header.as_ref()),
            _ => self.header.as_deref(),
        };
        let Some(header) = header.filter(|_| self.worth_a_line(&event.body)) else {
            return;
        };
        let line = Line {
            wall: event.wall,
            tone: tone(&event.body),
            en: line::line(event, header, Lang::En),
            zh: line::line(event, header, Lang::Zh),
        };
        keep(&mut self.journal, line, MAX_LINES);
        self.lines += 1;
    }

    /// Readings are not in the journal, but a guard whose health has changed is, and a recovery step that begins.
    fn worth_a_line(&self, body: &Body) -> bool {
        match body {
            Body::Guard(state) => self.health(state.index) != state.health,
            Body::Recovery(report) => {
                let known = self.recovery.iter().find(|r| r.report.step == report.step);
                known.is_none_or(|r| r.report.state != report.state)
            }
            other => !other.is_reading(),
        }
    }

    fn health(&self, index: usize) -> Health {
        match self.guards.get(index) {
            Some(Some(guard)) => guard.state.health,
            _ => Health::Holds,
        }
    }
}
