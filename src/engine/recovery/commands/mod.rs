//! The user's own steps of the playbook: programs and requests, each with a check that proves it.

mod http;

use tokio::time::Instant;

use crate::{
    drivers::place::is_per_instance,
    model::{
        ids::InstanceName,
        playbook::{Command, How},
        recovery::{Leftover, StepState},
        said::{Said, said},
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
pub(super) type Proof = Result<Said, Said>;

impl<'a> Once<'a> {
    fn new(scene: &'a Scene, command: &'a Command, instance: Option<&'a InstanceName>) -> Self {
        Self {
            scene,
            command,
            instance,
        }
    }

    /// `warm-cache`, or `warm-cache on order-0`.
    fn name(&self) -> Said {
        let name = &self.command.name;
        match self.instance {
            Some(instance) => said!("{name} on {instance}", "{name}（{instance}）"),
            None => Said::as_it_is(name.to_string()),
        }
    }

    async fn done(&self) -> StepEnd {
        let begin = Instant::now();
        let name = self.name();
        if self.command.has_check() && self.checked().await.is_ok() {
            let detail = said!(name; "{name}: its check passes already", "{name}：检查已通过");
            return StepEnd::new(StepState::Nothing, detail);
        }
        self.scene
            .working(self.command.after, said!(name; "command {name}", "命令 {name}"));
        let change = ChangeIntent::Command {
            name: name.en().to_owned(),
        };
        self.scene.bus.intend(change).await;
        let mask = |said: Said| said.map(|text| self.scene.drivers.mask(text));
        match self.carried_out().await.map(mask) {
            Ok(how) => {
                let took = super::elapsed(begin);
                let detail = said!(name, how; "{name}: {how}, {took}", "{name}：{how}，{took}");
                StepEnd::new(StepState::Done, detail)
            }
            Err(why) => {
                let why = mask(why);
                let detail = said!(name, why; "{name}: {why}", "{name}：{why}");
                StepEnd::of(StepState::Failed, detail, vec![self.leftover(why)])
            }
        }
    }

    async fn checked(&self) -> Result<(), Said> {
        match &self.command.how {
            How::Run {
                check: Some(check), ..
            } => self.passes(check).await,
            How::Http {
                check: Some(check), ..
            } => self.meets(check).await,
            _ => Err(said!("it has no check", "未设检查")),
        }
    }

    async fn carried_out(&self) -> Proof {
        match &self.command.how {
            How::Run { run, check } => {
                self.passes(run).await?;
                match check {
                    None => Ok(said!("exit code 0, no check given", "退出码 0，未设检查")),
                    Some(check) => match self.passes(check).await {
                        Ok(()) => Ok(said!("checked", "检查通过")),
                        Err(why) => Err(said!(
                            why;
                            "it ran, but its check fails: {why}",
                            "已执行，但检查未通过：{why}"
                        )),
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
    async fn passes(&self, argv: &[String]) -> Result<(), Said> {
        let argv = self.words(argv)?;
        let ended = self.scene.drivers.run(&argv, self.command.timeout).await;
        let ended = ended.map_err(|e| e.said())?;
        let last = &ended.last_line;
        match ended.code {
            Some(0) => Ok(()),
            Some(code) => Err(said!("exit code {code}: {last}", "退出码 {code}：{last}")),
            None => Err(said!("ended by a signal: {last}", "被信号终止：{last}")),
        }
    }

    fn words(&self, argv: &[String]) -> Result<Vec<String>, Said> {
        let places = self.scene.drivers.places();
        let filled = argv.iter().map(|word| places.fill_word(word, self.instance));
        filled.collect::<Result<_, _>>().map_err(|e| e.said())
    }

    fn leftover(&self, why: Said) -> Leftover {
        let by_hand = match &self.command.how {
            How::Run { run, .. } => self.words(run).ok().map(|run| by_hand::command(self.scene, &run)),
            How::Http {
                method, url, body, ..
            } => Request::fill(self, *method, url, body.as_ref())
                .ok()
                .map(|r| r.by_hand(self.scene)),
        };
        let what = said!(name = self.name(); "command {name}", "命令 {name}");
        Leftover::unknown(self.command.after, what, why, by_hand)
    }
}
