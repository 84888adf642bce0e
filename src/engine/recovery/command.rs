//! The user's own commands of the playbook.

use tokio::time::Instant;

use crate::model::{
    playbook::Command,
    recovery::{Certainty, Leftover, StepState},
    undo::ChangeIntent,
};

use super::{Scene, StepEnd, by_hand::quoted};

/// Runs a command, unless its check already passes, and proves it by its check.
pub async fn command(scene: &Scene, command: &Command) -> StepEnd {
    let begin = Instant::now();
    if let Some(check) = &command.check
        && passes(scene, command, check).await.is_ok()
    {
        return StepEnd::new(
            StepState::Nothing,
            format!("{}: its check passes already", command.name),
        );
    }
    scene.working(command.after, format!("command {}", command.name));
    let change = ChangeIntent::Command {
        name: command.name.to_string(),
    };
    scene.bus.intend(change).await;
    let ran = passes(scene, command, &command.run).await;
    let proved = match (&command.check, ran) {
        (_, Err(why)) => Err(why),
        (None, Ok(())) => Ok("exit code 0, no check given"),
        (Some(check), Ok(())) => passes(scene, command, check)
            .await
            .map(|()| "checked")
            .map_err(|why| format!("it ran, but its check fails: {why}")),
    };
    let took = super::elapsed(begin);
    match proved {
        Ok(how) => StepEnd::new(StepState::Done, format!("{}: {how}, {took}", command.name)),
        Err(why) => StepEnd::of(
            StepState::Failed,
            format!("{}: {why}", command.name),
            vec![leftover(scene, command, why)],
        ),
    }
}

async fn passes(scene: &Scene, command: &Command, argv: &[String]) -> Result<(), String> {
    let ended = scene
        .drivers
        .run(argv, command.timeout)
        .await
        .map_err(|e| e.to_string())?;
    match ended.code {
        Some(0) => Ok(()),
        Some(code) => Err(format!("exit code {code}: {}", ended.last_line)),
        None => Err(format!("ended by a signal: {}", ended.last_line)),
    }
}

fn leftover(scene: &Scene, command: &Command, why: String) -> Leftover {
    let words: Vec<String> = command.run.iter().map(|w| quoted(w)).collect();
    Leftover {
        step: command.after,
        what: format!("command {}", command.name),
        why,
        by_hand: Some(format!(
            "cd {} && {}",
            quoted(&scene.plan.drill_folder),
            words.join(" ")
        )),
        certainty: Certainty::Unknown,
    }
}
