//! The user's own steps of the playbook: programs and requests, each with a check that proves it.

mod http;

use tokio::time::Instant;

use crate::{
    drivers::place::is_per_instance,
    model::{
        ids::InstanceName,
        playbook::{Command, How},
        recovery::{Certainty, Leftover, StepState},
        undo::ChangeIntent,
    },
};

use self::http::Request;
use super::{Scene, StepEnd, by_hand};

/// Does a step of the user's own, unless its check already passes, and proves it by its check. One with a place for an
/// instance is done for each target, one after another.
pub async fn command(scene: &Scene, command: &Command) -> StepEnd {
    if !mentions_instance(command) {
        return Once::new(scene, command, None).done().await;
    }
    let mut end = StepEnd::absent();
    for instance in &scene.plan.drill.targets.instances {
        end = end.and(Once::new(scene, command, Some(instance)).done().await);
    }
    end
}

fn mentions_instance(command: &Command) -> bool {
    match &command.how {
        How::Run { run, check } => run
            .iter()
            .chain(check.iter().flatten())
            .any(|w| is_per_instance(w)),
        How::Http { url, body, check, .. } => {
            let body = body.as_ref().is_some_and(|b| is_per_instance(&b.to_string()));
            body || is_per_instance(url) || check.as_ref().is_some_and(|c| is_per_instance(&c.url))
        }
    }
}

/// A step, once: for one instance or for none.
pub(super) struct Once<'a> {
    pub(super) scene: &'a Scene,
    pub(super) command: &'a Command,
    pub(super) instance: Option<&'a InstanceName>,
}

/// How it went: what proves it, or why it is not proved. Without secrets.
pub(super) type Proof = Result<String, String>;

impl<'a> Once<'a> {
    fn new(scene: &'a Scene, command: &'a Command, instance: Option<&'a InstanceName>) -> Self {
        Self {
            scene,
            command,
            instance,
        }
    }

    /// `warm-cache`, or `warm-cache on order-0`.
    fn name(&self) -> String {
        match self.instance {
            Some(instance) => format!("{} on {instance}", self.command.name),
            None => self.command.name.to_string(),
        }
    }

    async fn done(&self) -> StepEnd {
        let begin = Instant::now();
        let name = self.name();
        if self.command.has_check() && self.checked().await.is_ok() {
            return StepEnd::new(StepState::Nothing, format!("{name}: its check passes already"));
        }
        self.scene.working(self.command.after, format!("command {name}"));
        let change = ChangeIntent::Command { name: name.clone() };
        self.scene.bus.intend(change).await;
        let took = || super::elapsed(begin);
        match self.carried_out().await.map(|how| self.scene.drivers.mask(&how)) {
            Ok(how) => StepEnd::new(StepState::Done, format!("{name}: {how}, {}", took())),
            Err(why) => {
                let why = self.scene.drivers.mask(&why);
                let detail = format!("{name}: {why}");
                StepEnd::of(StepState::Failed, detail, vec![self.leftover(why)])
            }
        }
    }

    async fn checked(&self) -> Result<(), String> {
        match &self.command.how {
            How::Run {
                check: Some(check), ..
            } => self.passes(check).await,
            How::Http {
                check: Some(check), ..
            } => self.meets(check).await,
            _ => Err("it has no check".into()),
        }
    }

    async fn carried_out(&self) -> Proof {
        match &self.command.how {
            How::Run { run, check } => {
                self.passes(run).await?;
                match check {
                    None => Ok("exit code 0, no check given".into()),
                    Some(check) => match self.passes(check).await {
                        Ok(()) => Ok("checked".into()),
                        Err(why) => Err(format!("it ran, but its check fails: {why}")),
                    },
                }
            }
            How::Http {
                method,
                url,
                body,
                check,
                ..
            } => {
                let request = Request::fill(self, *method, url, body.as_ref())?;
                self.requested(&request, check.as_ref()).await
            }
        }
    }

    /// Runs a program; exit code 0 passes.
    async fn passes(&self, argv: &[String]) -> Result<(), String> {
        let argv = self.words(argv)?;
        let ended = self.scene.drivers.run(&argv, self.command.timeout).await;
        let ended = ended.map_err(|e| e.to_string())?;
        match ended.code {
            Some(0) => Ok(()),
            Some(code) => Err(format!("exit code {code}: {}", ended.last_line)),
            None => Err(format!("ended by a signal: {}", ended.last_line)),
        }
    }

    fn words(&self, argv: &[String]) -> Result<Vec<String>, String> {
        let places = self.scene.drivers.places();
        let filled = argv.iter().map(|word| places.fill_word(word, self.instance));
        filled.collect::<Result<_, _>>().map_err(|e| e.to_string())
    }

    fn leftover(&self, why: String) -> Leftover {
        let by_hand = match &self.command.how {
            How::Run { run, .. } => self.words(run).ok().map(|run| by_hand::command(self.scene, &run)),
            How::Http {
                method, url, body, ..
            } => Request::fill(self, *method, url, body.as_ref())
                .ok()
                .map(|r| r.by_hand(self.scene)),
        };
        Leftover {
            step: self.command.after,
            what: format!("command {}", self.name()),
            why,
            by_hand,
            certainty: Certainty::Unknown,
        }
    }
}
