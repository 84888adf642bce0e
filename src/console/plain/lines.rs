//! The lines of the plain reporter: one for each event that means something, and at the end how it ended.

use std::io::{self, Write};

use jiff::Timestamp;

use super::{MAX_COMMAND, PlainOptions};
use crate::{
    console::{Incoming, coach},
    model::{
        phase::Phase,
        recovery::{Leftover, Milestone},
        sheet::Hypothesis,
        text::{Lang, Word, harmless},
    },
    view::{Ending, FaultState, RunView, ending_words, undecided_because},
};

/// The reporter: takes in what comes from the keeper and writes lines.
#[derive(Debug)]
pub struct Plain<W> {
    out: W,
    view: RunView,
    options: PlainOptions,
}

impl<W: Write> Plain<W> {
    /// A reporter that writes to `out`.
    pub fn new(out: W, options: PlainOptions) -> Self {
        Self {
            out,
            view: RunView::default(),
            options,
        }
    }

    /// The run as far as it was reported.
    pub fn view(&self) -> &RunView {
        &self.view
    }

    pub(super) fn out(&mut self) -> &mut W {
        &mut self.out
    }

    /// The writer, with all that was written.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Takes in what came and writes what is new about it. After the end of the run it writes how it ended.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn receive(&mut self, incoming: Incoming) -> io::Result<()> {
        let over = self.view.outcome.is_some();
        let phase = self.view.phase.phase;
        match incoming {
            Incoming::State(view) => {
                let known = self.view.lines;
                self.view = *view;
                self.journal_since(known)?;
            }
            Incoming::Event(event) => {
                let known = self.view.lines;
                self.view.apply(&event);
                self.journal_since(known)?;
            }
            Incoming::Lost(why) => {
                let (lost, why) = (self.t("keeper lost", "守护进程丢失"), why.get(self.options.lang));
                self.say(&format!("{lost}: {why}"))?;
            }
        }
        let now = self.view.phase.phase;
        // At the end there is nothing to put back any more, and the last words follow.
        if self.options.coach && !over && now != phase && now != Phase::Closed {
            let what = coach::hint(&self.view, self.options.lang).what;
            let key = self.t("(Ctrl-C puts everything back)", "(Ctrl-C 立即恢复一切)");
            writeln!(self.out, "    ▸ {what} {key}")?;
        }
        if !over && self.view.outcome.is_some() {
            self.finish()?;
        }
        self.out.flush()
    }

    /// Writes one line that says how far the run is.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn progress(&mut self) -> io::Result<()> {
        if self.view.header.is_none() || self.view.outcome.is_some() {
            return Ok(());
        }
        let line = self.progress_line();
        self.say(&line)?;
        self.out.flush()
    }

    pub(super) fn t<'t>(&self, en: &'t str, zh: &'t str) -> &'t str {
        self.options.lang.pick(en, zh)
    }

    fn journal_since(&mut self, known: u64) -> io::Result<()> {
        let new = usize::try_from(self.view.lines.saturating_sub(known)).unwrap_or(usize::MAX);
        let from = self.view.journal.len().saturating_sub(new);
        for line in self.view.journal.iter().skip(from) {
            let text = self.options.lang.pick(&line.en, &line.zh);
            write_line(&mut self.out, line.wall, text)?;
        }
        Ok(())
    }

    pub(super) fn say(&mut self, text: &str) -> io::Result<()> {
        match self.view.wall_at((self.options.now)()) {
            Some(wall) => write_line(&mut self.out, wall, text),
            None => writeln!(self.out, "{}", harmless(text, MAX_COMMAND)),
        }
    }

    fn progress_line(&self) -> String {
        let (view, lang) = (&self.view, self.options.lang);
        let now = (self.options.now)();
        let phase = view.phase;
        let mut parts = vec![format!("... {}", phase.phase.word(lang))];
        parts.push(match phase.until {
            Some(until) => format!(
                "{}/{}",
                now.since(phase.since).clock(),
                until.since(phase.since).clock()
            ),
            None => now.since(phase.since).clock(),
        });
        let live = view.live_faults().count();
        if live > 0 {
            parts.push(format!("{live} {}", self.t("live", "个故障已注入")));
        }
        match view.worst_guard() {
            Some((_, guard)) => {
                let health = guard.state.health.word(lang);
                parts.push(format!(
                    "{} {health} {}",
                    self.t("guard", "守护"),
                    guard.state.bad
                ));
            }
            None if view.guards.iter().any(Option::is_some) => {
                parts.push(self.t("guard holds", "守护成立").to_owned());
            }
            None => {}
        }
        for (verdict, count) in view.verdict_counts() {
            if count > 0 {
                parts.push(format!("{count} {}", verdict.word(lang)));
            }
        }
        if let Some(step) = view.recovery.iter().find(|r| !r.report.state.is_over()) {
            let report = &step.report;
            let (name, state) = (report.step.word(lang), report.state.word(lang));
            parts.push(format!("{name} {state} {}", report.detail.get(lang)));
        }
        parts.join("  ")
    }

    fn finish(&mut self) -> io::Result<()> {
        let times: Vec<String> = [Milestone::FaultsGone, Milestone::UsersOk, Milestone::AllClear]
            .iter()
            .map(|m| {
                let time = self.view.time_of(*m).map_or("--".to_owned(), |t| t.to_string());
                format!("{} {time}", m.word(self.options.lang))
            })
            .collect();
        let refused = self.view.ending() == Some(Ending::Refused);
        if !refused {
            writeln!(self.out, "{}", times.join("   "))?;
        }
        for reason in &self.view.refused {
            let reason = reason.get(self.options.lang);
            writeln!(self.out, "! {}", harmless(reason, MAX_COMMAND))?;
        }
        for fault in self.view.live_faults() {
            let state = match &fault.state {
                FaultState::Live => self.t("LIVE, never read back as gone", "已注入, 未回读确认清除"),
                _ => self.t("may be live", "可能已注入"),
            };
            writeln!(self.out, "! {} {state}", harmless(fault.id.as_str(), MAX_COMMAND))?;
        }
        for left in &self.view.may_remain {
            write_leftover(&mut self.out, left, self.options.lang)?;
        }
        if let Some(why) = undecided_because(&self.view, self.options.lang) {
            writeln!(
                self.out,
                "{}: {why}",
                Hypothesis::Undecided.word(self.options.lang)
            )?;
        }
        if let Some(header) = &self.view.header {
            writeln!(self.out, "allclear show {0} | allclear export {0}", header.run)?;
        }
        let hypothesis = self.view.outcome.as_ref().and_then(|o| o.hypothesis);
        if let Some(hypothesis) = hypothesis {
            writeln!(self.out, "{}", hypothesis.word(Lang::En))?;
        }
        if let Some(ending) = self.view.ending() {
            writeln!(
                self.out,
                "{}",
                ending_words(ending, self.view.may_remain.len(), Lang::En)
            )?;
        }
        Ok(())
    }
}

fn write_line(out: &mut impl Write, wall: Timestamp, text: &str) -> io::Result<()> {
    let wall = wall.strftime("%Y-%m-%dT%H:%M:%SZ");
    writeln!(out, "{wall} {}", harmless(text, MAX_COMMAND).trim_end())
}

fn write_leftover(out: &mut impl Write, left: &Leftover, lang: Lang) -> io::Result<()> {
    writeln!(
        out,
        "! {}: {} ({}): {}",
        lang.pick("MAY REMAIN", "可能残留"),
        harmless(left.what.get(lang), MAX_COMMAND),
        left.certainty.word(lang),
        harmless(left.why.get(lang), MAX_COMMAND)
    )?;
    match &left.by_hand {
        Some(command) => command.lines().try_for_each(|line| {
            let title = lang.pick("by hand:", "手工:");
            writeln!(out, "  {title} {}", harmless(line, MAX_COMMAND))
        }),
        None => Ok(()),
    }
}

impl<W: Write> Plain<W> {
    pub(super) fn unanswered(&mut self) -> io::Result<()> {
        let words = self.t(
            "NO ANSWER from the keeper; type elsewhere:",
            "守护进程无应答; 请另开终端输入:",
        );
        let run = self.view.header.as_ref().map(|h| format!(" {}", h.run));
        let line = format!("{words} allclear recover{}", run.unwrap_or_default());
        self.say(&line)
    }
}
