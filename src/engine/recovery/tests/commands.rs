//! The user's own commands.

use super::*;
use crate::model::{ids::CommandName, playbook::Command};

fn command(run: &str, check: Option<&str>) -> Command {
    let sh = |script: &str| ["sh", "-c", script].map(str::to_owned).to_vec();
    Command {
        name: CommandName::new("warm-cache").unwrap(),
        after: StepId::Pools,
        run: sh(run),
        check: check.map(sh),
        timeout: Span::seconds(5),
    }
}

#[tokio::test]
async fn a_command_is_done_when_its_check_passes_and_not_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = plan(environment(&[]), nothing_to_do());
    plan.drill_folder = folder.path().to_string_lossy().into_owned();
    let mut stage = staged(plan, |_| {}, Secrets::none(), SHORT);
    let warm = command("touch warm", Some("test -e warm"));
    assert_eq!(
        super::super::command(&stage.scene, &warm).await.state,
        StepState::Done
    );
    assert_eq!(
        super::super::command(&stage.scene, &warm).await.state,
        StepState::Nothing
    );
    assert_eq!(stage.intents().len(), 1);
}

#[tokio::test]
async fn a_command_that_fails_or_proves_nothing_is_a_leftover() {
    let stage = stage(environment(&[]), nothing_to_do());
    let end = super::super::command(&stage.scene, &command("echo no cache; exit 7", None)).await;
    assert_eq!(
        (end.state, end.detail.as_str()),
        (StepState::Failed, "warm-cache: exit code 7: no cache")
    );
    assert_eq!(
        end.leftovers[0].by_hand.as_deref(),
        Some("cd / && sh -c 'echo no cache; exit 7'")
    );
    let end = super::super::command(&stage.scene, &command("true", Some("false"))).await;
    assert_eq!(end.state, StepState::Failed);
    assert!(end.detail.contains("its check fails"), "{}", end.detail);
}
