//! One cell: a recovery in bad luck, and whether it told the truth.

use std::{cell::Cell, collections::BTreeSet, mem, time::Duration};

use allclear::model::{event::Body, recovery::Recovered};
use tokio::sync::Notify;

use crate::{
    healthy::Healthy,
    keeper::{Ended, Run, Then},
    luck::{Luck, Moment},
    part::{type_by_hand, until},
    plan::plan,
    proxy::Way,
    row::Row,
};

/// More changes than that no row makes.
const DEATHS: usize = 40;
/// No recovery of the table writes down more than that.
const RECORDS: usize = 120;
/// After a change was written down: by then it is made as well.
const MADE: Duration = Duration::from_millis(60);

/// One combination, with what it is about.
pub struct Case<'a, R> {
    pub row: &'a R,
    pub healthy: &'a Healthy,
    pub luck: Luck,
    pub moment: Moment,
}

impl<R: Row> Case<'_, R> {
    /// Carries it out.
    ///
    /// # Errors
    /// What was not true.
    pub async fn carried_out(&self) -> Result<Recovered, String> {
        let (row, luck) = (self.row, self.luck);
        row.expect(luck);
        row.before().await;
        self.healthy.before().await;
        let before = row.now().await.ok_or("it cannot be read before")?;
        let fresh = self.prepared().await?;
        self.make_sick(&before).await?;

        let seen = tokio::sync::Mutex::new(BTreeSet::new());
        let outcome = tokio::select! {
            outcome = self.recovered(&fresh, &before) => outcome?,
            () = self.watch(&seen) => unreachable!("it watches for ever"),
        };
        let seen = seen.into_inner().into_iter();
        let strange: Vec<String> = seen.filter(|s| !row.may_be(s)).collect();
        match strange.is_empty() {
            true => Ok(outcome),
            false => Err(format!("values that were never there: {strange:#?}")),
        }
    }

    /// A run that finds the part as it was before the drill.
    async fn prepared(&self) -> Result<Run, String> {
        let (row, healthy) = (self.row, self.healthy);
        let plan = plan(
            [row.environment(), healthy.environment()],
            [row.playbook(), healthy.playbook()],
        );
        let run = Run::prepared(plan, row.secrets(), row.patience(self.luck)).await?;
        Ok(match row.heals(self.luck) {
            true => run.without_haste(),
            false => run,
        })
    }

    /// What was done once in a run needs another run to be done again.
    async fn again(&self, run: &Run) -> Result<Run, String> {
        match self.row.is_once_a_run() {
            true => self.prepared().await,
            false => Ok(run.clone()),
        }
    }

    /// Recovers in this luck, with what is left done by hand, and then without it.
    async fn recovered(&self, fresh: &Run, before: &str) -> Result<Recovered, String> {
        match self.luck {
            Luck::Killed => return self.killed(fresh, before).await,
            Luck::KilledInTurn => return self.killed_in_turn(fresh, before).await,
            _ => {}
        }
        let mut run = fresh.clone();
        let ended = self.in_luck(&mut run).await;
        let outcome = self.is_proved(&ended, &run, before).await?;
        if outcome == Recovered::Recovered {
            return Ok(outcome);
        }
        let mut run = self.again(&run).await?.without_haste();
        self.make_sick(before).await?;
        let ended = run.recover(|_| Then::GoesOn).await;
        match self.is_proved(&ended, &run, before).await? {
            Recovered::Recovered => Ok(outcome),
            other => Err(format!("{other:?}, though the luck is over\n{}", run.story())),
        }
    }

    /// What was said is so, the healthy row is put back, and what is left can be done by hand once the luck is over.
    async fn is_proved(&self, ended: &Ended, run: &Run, before: &str) -> Result<Recovered, String> {
        let told = |why: String| format!("{why}\n{}", run.story());
        let outcome = ended.outcome.as_ref().expect("it went on to its end").recovered;
        self.is_true(outcome, before).await.map_err(told)?;
        self.healthy.is_put_back().await.map_err(told)?;
        self.relent().await;
        if outcome != Recovered::Recovered {
            self.done_by_hand(ended, before).await.map_err(told)?;
        }
        Ok(outcome)
    }

    async fn make_sick(&self, before: &str) -> Result<(), String> {
        self.row.sick().await;
        self.healthy.sick().await;
        let differs = async || self.row.now().await.is_some_and(|now| now != before);
        until("the drill has made it sick", differs).await
    }

    /// One recovery, with the luck at its moment.
    async fn in_luck(&self, run: &mut Run) -> Ended {
        if self.luck == Luck::Twice {
            let mut other = run.clone();
            let (one, two) = tokio::join!(run.recover(|_| Then::GoesOn), other.recover(|_| Then::GoesOn));
            // The one that is less sure is the one that is believed.
            let sure = |e: &Ended| e.outcome.as_ref().is_some_and(|o| o.all_clear());
            return if sure(&one) { two } else { one };
        }
        if self.moment == Moment::Before {
            self.strike().await;
            return run.recover(|_| Then::GoesOn).await;
        }
        let (begun, struck) = (Notify::new(), Cell::new(false));
        let at_change = |change: &_| {
            if self.row.makes(change) && !struck.replace(true) {
                // Nothing passes until the luck is there: this change is not made before it.
                self.row.proxy().turn(Way::Held);
                begun.notify_one();
            }
            Then::GoesOn
        };
        let strike = async {
            begun.notified().await;
            self.strike().await;
            std::future::pending().await
        };
        let ended = tokio::select! {
            biased;
            ended = run.recover(at_change) => ended,
            () = strike => unreachable!("it never ends"),
        };
        assert!(
            struck.get(),
            "no change of its own was ever made:\n{}",
            run.story()
        );
        ended
    }

    /// For each change of this half: the keeper dies before it is made, the next one dies at its own once that is made, and the
    /// third goes on to its end. Gives the worst end.
    async fn killed(&self, fresh: &Run, before: &str) -> Result<Recovered, String> {
        let first = if self.moment == Moment::Even { 2 } else { 1 };
        let (mut worst, mut nth, mut is_first) = (Recovered::Recovered, first, true);
        let (mut is_too_late, mut fresh) = (false, fresh.clone());
        while nth <= DEATHS {
            if !mem::replace(&mut is_first, false) {
                self.row.before().await;
                self.healthy.before().await;
                fresh = self.again(&fresh).await?;
                self.make_sick(before).await?;
            }
            let (mut run, mut deaths, mut end, own) = (fresh.clone(), 0, None, Cell::new(false));
            for late in [Some(Duration::ZERO), Some(MADE), None] {
                let mut changes = 0;
                let at_change = |change: &_| {
                    changes += 1;
                    own.set(self.row.makes(change));
                    match late {
                        Some(late) if changes == nth => Then::Dies(late),
                        _ => Then::GoesOn,
                    }
                };
                let ended = run.recover(at_change).await;
                if ended.outcome.is_some() {
                    end = Some(ended);
                    break;
                }
                deaths += 1;
                if deaths == 1 && own.get() && self.row.is_once_a_run() {
                    is_too_late = self.row.now().await.as_deref() == Some(before);
                }
            }
            if mem::replace(&mut is_too_late, false) {
                // Its one change was made while its keeper died: it is tried again, until it dies before that.
                continue;
            }
            let end = end.expect("the last one lives");
            let outcome = self
                .is_proved(&end, &run, before)
                .await
                .map_err(|why| format!("killed at change {nth}: {why}"))?;
            if outcome != Recovered::Recovered {
                worst = outcome;
            }
            if deaths == 0 {
                return Ok(worst);
            }
            nth += 2;
        }
        Err(format!("more than {DEATHS} changes"))
    }

    /// The first keeper dies at its first record, the next one at its second, and so on, until one is done before its turn. How far a
    /// wait has come, and what the metrics read, are no records of their own here: they are told again and again.
    async fn killed_in_turn(&self, fresh: &Run, before: &str) -> Result<Recovered, String> {
        let mut run = fresh.clone();
        for turn in 1..=RECORDS {
            let mut records = 0;
            let at_record = |body: &Body| {
                // The run is over with the last of them.
                let goes_on = body.is_reading() || matches!(body, Body::Closed(_));
                records += usize::from(!goes_on);
                match body {
                    _ if goes_on || records != turn => Then::GoesOn,
                    // What is written down and not made is made by nobody later: left to a person, and tried by the luck before.
                    Body::ChangeIntended(change) if self.row.is_once_a_run() && self.row.makes(change) => {
                        Then::Dies(MADE)
                    }
                    _ => Then::Dies(Duration::ZERO),
                }
            };
            let ended = run.recover_by_record(at_record).await;
            if ended.outcome.is_some() {
                let proved = self.is_proved(&ended, &run, before).await;
                return proved.map_err(|why| format!("after {} deaths: {why}", turn - 1));
            }
        }
        Err(format!("more than {RECORDS} records"))
    }

    async fn strike(&self) {
        let proxy = self.row.proxy();
        match self.luck {
            Luck::Down => proxy.turn(Way::Down),
            Luck::Slow => proxy.turn(Way::Slow),
            Luck::Cut => proxy.turn(Way::Cut),
            Luck::Garbage => proxy.turn(Way::Says(self.row.garbage())),
            Luck::Refuses => {
                self.row.strike(self.luck).await;
                // A part without rights of its own has them in a gateway before it.
                let by_gateway = self.row.refuses_by_gateway();
                proxy.turn(if by_gateway { Way::Forbids } else { Way::Well });
            }
            Luck::Restarts | Luck::Topology => {
                self.row.strike(self.luck).await;
                proxy.turn(Way::Well);
            }
            Luck::Twice | Luck::Killed | Luck::KilledInTurn => {}
        }
    }

    /// Whatever came of it, the next cell finds the part as it should be.
    pub async fn is_over(&self) {
        self.relent().await;
    }

    async fn relent(&self) {
        self.row.relent(self.luck).await;
        self.row.proxy().turn(Way::Well);
        self.row.proxy().is_open().await;
    }

    /// Writes down every value that it is seen to have.
    async fn watch(&self, seen: &tokio::sync::Mutex<BTreeSet<String>>) {
        loop {
            if let Some(now) = self.row.now().await {
                seen.lock().await.insert(now);
            }
            tokio::time::sleep(Duration::from_millis(60)).await;
        }
    }

    /// RECOVERED is said of nothing that is not exactly as before.
    async fn is_true(&self, said: Recovered, before: &str) -> Result<(), String> {
        let now = self.row.now().await;
        match said {
            Recovered::Recovered if now.as_deref() != Some(before) => Err(format!(
                "a false RECOVERED: {}, before: {before}",
                now.as_deref().unwrap_or("not to be read")
            )),
            _ => Ok(()),
        }
    }

    /// The commands of the last word on what remains put it right when typed.
    async fn done_by_hand(&self, ended: &Ended, before: &str) -> Result<(), String> {
        let commands: BTreeSet<&String> = ended.left.iter().filter_map(|l| l.by_hand.as_ref()).collect();
        // What was not known to be back may be back: then a command may say that there is nothing to be done.
        let was_back = self.row.now().await.as_deref() == Some(before);
        if commands.is_empty() && !was_back {
            return Err("nothing is said to be typed by hand".to_owned());
        }
        for command in &commands {
            let typed = type_by_hand(command, &self.row.variables()).await;
            typed.or_else(|why| if was_back { Ok(()) } else { Err(why) })?;
        }
        let is_back = async || self.row.now().await.as_deref() == Some(before);
        until("it is as before by hand", is_back).await.map_err(|late| {
            let listed: Vec<&str> = commands.iter().map(|c| c.as_str()).collect();
            format!("{late}: {}", listed.join("\n"))
        })?;
        Ok(())
    }
}
