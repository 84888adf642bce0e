//! Bad luck with a Redis in the middle of the step: never a false end, never a flag that was not there before, and the
//! command by hand is right.

use super::{
    flags::playbook,
    redis_places::{Place, behind, sharded, single},
    *,
};
use crate::{
    drivers::{
        redis::testing::{cluster, redis_server, watched},
        testing::until,
    },
    model::{environment::SecretRef, secret::SecretText},
};

/// Time enough for a failover.
pub(super) const LONG: Patience = Patience {
    step: Span::seconds(15),
    ..SHORT
};

pub(super) const FLAGS: usize = 300;

/// A step that stops before its first change, until it is let go.
pub(super) struct Halted {
    pub stage: Stage,
    pub gate: Arc<Semaphore>,
}

pub(super) async fn halted(place: &Place<'_>, patience: Patience) -> Halted {
    place.say(&["SET", "degrade:order:old", "before"]);
    place.say(&["SET", "session", "1"]);
    let gate = Arc::new(Semaphore::new(0));
    let theirs = gate.clone();
    let stage = stage_with(
        place.environment(),
        playbook(10_000),
        |ledger| ledger.gate = theirs,
        Secrets::none(),
        patience,
    );
    let stage = stage.with_snapshot_read().await;
    write(place).await;
    Halted { stage, gate }
}

async fn write(place: &Place<'_>) {
    let lines: String = (0..FLAGS).map(|n| format!("SET degrade:order:{n} 1\n")).collect();
    let command = format!(
        "printf '{}' | redis-cli {}",
        lines.replace('\n', "\\n"),
        place.cli.join(" ")
    );
    type_by_hand(&command).await;
}

impl Halted {
    /// Runs the step; `luck` strikes between its look and its first change, `after` while it goes on.
    pub(super) async fn struck(
        &mut self,
        luck: impl Future<Output = ()>,
        after: impl Future<Output = ()>,
    ) -> StepEnd {
        let Stage { scene, intents, .. } = &mut self.stage;
        let gate = self.gate.clone();
        let strike = async {
            intents.recv().await.unwrap();
            luck.await;
            gate.add_permits(1000);
            after.await;
        };
        tokio::join!(super::super::flags(scene), strike).0
    }
}

/// What the step said is what is so; by hand the rest is done. Nothing but what was there before remains.
pub(super) async fn is_true(place: &Place<'_>, end: &StepEnd, scene: &Scene, case: &str) {
    let keys = place.keys().await;
    let old = ["degrade:order:old", "session"];
    if end.state == StepState::Failed {
        assert!(!end.leftovers.is_empty(), "{case}: {}", end.detail.en());
        let by_hand = end.leftovers[0].by_hand.as_deref().unwrap();
        type_by_hand(by_hand).await;
        assert_eq!(place.keys().await, old, "{case}: {by_hand}");
    } else {
        assert_eq!(keys, old, "{case}: {}", end.detail.en());
    }
    assert_eq!(
        place.say(&["GET", "degrade:order:old"]).trim(),
        "before",
        "{case}"
    );
    until("nothing is left", async || left_behind(scene).await.is_empty()).await;
}

const DURABLE: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

#[tokio::test]
async fn one_that_restarts_in_mid_step_is_waited_for() {
    let mut redis = redis_server(&DURABLE).await;
    let (named, address) = (redis.named(), redis.address.clone());
    let place = Place::at(named, vec![&address], false);
    let mut halted = halted(&place, LONG).await;
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let redis = &mut redis;
    let end = halted
        .struck(
            async {
                let folder = redis.kill();
                sender.send((redis, folder)).ok().unwrap();
            },
            async {
                let (redis, folder) = receiver.await.unwrap();
                redis.start_again(folder).await;
            },
        )
        .await;
    assert_eq!(end.state, StepState::Done, "{}", end.detail.en());
    is_true(&place, &end, &halted.stage.scene, "restart").await;
}

#[tokio::test]
async fn one_that_stays_down_in_mid_step_is_a_leftover() {
    let mut redis = redis_server(&DURABLE).await;
    let (named, address) = (redis.named(), redis.address.clone());
    let place = Place::at(named, vec![&address], false);
    let mut halted = halted(&place, SHORT).await;
    let mut folder = None;
    let end = halted
        .struck(async { folder = Some(redis.kill()) }, async {})
        .await;
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert!(!left_behind(&halted.stage.scene).await.is_empty());
    redis.start_again(folder.unwrap()).await;
    redis.has_loaded().await;
    is_true(&place, &end, &halted.stage.scene, "down").await;
}

#[tokio::test]
async fn one_that_does_not_answer_in_mid_step_is_a_leftover() {
    let redis = redis_server(&[]).await;
    let place = single(&redis);
    let mut halted = halted(&place, SHORT).await;
    let end = halted.struck(async { redis.sleeps(true) }, async {}).await;
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert!(!left_behind(&halted.stage.scene).await.is_empty());
    redis.sleeps(false);
    is_true(&place, &end, &halted.stage.scene, "slow").await;
}

#[tokio::test]
async fn a_right_that_is_taken_in_mid_step_is_named() {
    let redis = redis_server(&[]).await;
    redis
        .ask(&[
            "ACL",
            "SETUSER",
            "drill",
            "on",
            ">pw-of-drill",
            "~degrade:*",
            "+scan",
            "+unlink",
            "+role",
        ])
        .await;
    let mut place = single(&redis);
    place.say(&["SET", "degrade:order:old", "before"]);
    place.redis.user = Some("drill".into());
    place.redis.password = Some(SecretRef::Env("DRILL_PASSWORD".into()));
    let mut secrets = Secrets::none();
    secrets.insert(
        SecretRef::Env("DRILL_PASSWORD".into()),
        SecretText::new("pw-of-drill"),
    );
    let stage = stage_with(place.environment(), playbook(1000), |_| {}, secrets, SHORT);
    let stage = stage.with_snapshot_read().await;
    write(&place).await;
    redis.ask(&["ACL", "SETUSER", "drill", "-unlink"]).await;
    let end = super::super::flags(&stage.scene).await;
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert!(
        end.detail.en().contains("NOPERM") && end.detail.en().contains("not permitted"),
        "{}",
        end.detail.en()
    );
    assert_eq!(place.keys().await.len(), FLAGS + 1);
    // With the right back, what is written down works when typed, with the secret set in the shell.
    redis.ask(&["ACL", "SETUSER", "drill", "+unlink"]).await;
    let by_hand = end.leftovers[0].by_hand.as_deref().unwrap();
    assert!(!by_hand.contains("pw-of-drill"));
    type_by_hand(&format!("DRILL_PASSWORD=pw-of-drill; {by_hand}")).await;
    assert_eq!(place.keys().await, ["degrade:order:old"]);
}

#[tokio::test]
async fn a_master_that_becomes_a_replica_in_mid_step_is_not_believed() {
    let (redis, other) = (redis_server(&[]).await, redis_server(&[]).await);
    let place = single(&redis);
    let mut halted = halted(&place, SHORT).await;
    let (host, port) = other.address.rsplit_once(':').unwrap();
    let demote = async { drop(redis.ask(&["REPLICAOF", host, port]).await) };
    let end = halted.struck(demote, async {}).await;
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert!(
        end.detail.en().contains("READONLY") || end.detail.en().contains("replica"),
        "{}",
        end.detail.en()
    );
}

#[tokio::test]
async fn a_failover_in_mid_step_is_followed() {
    let mut part = watched().await;
    let named = part.named();
    let addresses = [part.servers[0].address.clone(), part.servers[1].address.clone()];
    let place = Place::at(named, vec![&addresses[0]], false);
    let mut halted = halted(&place, LONG).await;
    // The replica has the flags before its master dies.
    until("the replica has all", async || {
        part.servers[1].keys().await.len() == FLAGS + 2
    })
    .await;
    let master = &mut part.servers[0];
    let end = halted.struck(async { drop(master.kill()) }, async {}).await;
    assert_eq!(end.state, StepState::Done, "{}", end.detail.en());
    assert_eq!(part.master().await, 1);
    is_true(&behind(&part, 1), &end, &halted.stage.scene, "failover").await;
}

#[tokio::test]
async fn a_cluster_that_is_resharded_in_mid_step_is_cleared_all_the_same() {
    let part = cluster().await;
    let place = sharded(&part);
    let mut halted = halted(&place, LONG).await;
    let reshard = async || {
        for slot in 0..60 {
            part.begin_move(slot, 0, 2).await;
            let keys: Vec<String> = {
                let slot = slot.to_string();
                let answer = part.nodes[0]
                    .ask(&["CLUSTER", "GETKEYSINSLOT", &slot, "100"])
                    .await;
                redis::from_redis_value(answer).unwrap()
            };
            for key in keys {
                part.move_key(&key, 0, 2).await;
            }
            part.end_move(slot, 2).await;
        }
    };
    let end = halted.struck(async {}, reshard()).await;
    part.is_whole().await;
    assert_eq!(end.state, StepState::Done, "{}", end.detail.en());
    is_true(&place, &end, &halted.stage.scene, "reshard").await;
}

#[tokio::test]
async fn a_recovery_that_is_killed_is_finished_by_the_next_one() {
    let redis = redis_server(&[]).await;
    let place = single(&redis);
    let mut halted = halted(&place, LONG).await;
    // Killed after the intent was written down and before the change.
    tokio::select! {
        _ = super::super::flags(&halted.stage.scene) => panic!("it waits for a permit"),
        intent = halted.stage.intents.recv() => assert!(intent.is_some()),
    }
    assert_eq!(place.keys().await.len(), FLAGS + 2);
    // Killed right after the first change was made, before it looked again.
    halted.gate.add_permits(1000);
    tokio::select! {
        end = super::super::flags(&halted.stage.scene) => assert_eq!(end.state, StepState::Done),
        () = async { while place.keys().await.len() > 2 { tokio::task::yield_now().await } } => {}
    }
    write(&place).await;
    let next = stage(place.environment(), playbook(10_000));
    let scene = Scene {
        snapshot: halted.stage.scene.snapshot.clone(),
        ..next.scene
    };
    // Two of them at once do no harm to each other.
    let (one, two) = tokio::join!(super::super::flags(&scene), super::super::flags(&scene));
    assert!(matches!(one.state, StepState::Done), "{}", one.detail.en());
    assert!(matches!(two.state, StepState::Done), "{}", two.detail.en());
    is_true(&place, &one, &scene, "killed").await;
}
