//! What a reader makes of a journal: which faults may live, which snapshot holds, where a change may still land.

use super::*;

#[test]
fn facts_keep_every_fault_that_was_not_read_back_as_gone() {
    let all = story::events();
    let live = facts(&all[..12]);
    assert_eq!(live.not_gone().count(), 1);
    assert!(matches!(
        live.faults[0].state,
        FaultState::Live { expires: Some(_) }
    ));
    assert!(live.touched() && live.recovering.is_none());

    let mut unsure = all[..11].to_vec();
    unsure.push(story::at(
        12,
        605,
        Body::FaultFailed {
            fault: story::fault(),
            why: "no answer".into(),
        },
    ));
    assert_eq!(
        facts(&unsure).not_gone().count(),
        1,
        "a create without an answer may still land"
    );

    let done = facts(&all);
    assert_eq!(done.not_gone().count(), 0);
    assert_eq!(done.milestones[&Milestone::FaultsGone], Span::millis(800));
    assert_eq!(
        (done.rows.len(), done.may_remain.len(), done.last_seq),
        (2, 1, all.len() as u64)
    );
}

#[test]
fn the_snapshot_is_the_last_one_before_anything_was_changed() {
    let taken = |server: &str| {
        let foreign = vec![server.to_owned()];
        Body::SnapshotTaken(Box::new(crate::model::snapshot::Snapshot {
            foreign,
            ..Default::default()
        }))
    };
    let change = ChangeIntent::Flags {
        pattern: "degrade:*".into(),
        count: 1,
    };
    let bodies = [
        taken("in preflight"),
        taken("before arming"),
        Body::ChangeIntended(change),
        taken("too late"),
    ];
    let events = (1..).zip(bodies).map(|(seq, body)| Event {
        seq,
        at: Default::default(),
        wall: jiff::Timestamp::UNIX_EPOCH,
        body,
    });
    let events: Vec<Event> = events.collect();
    let snapshot = facts(&events).snapshot.unwrap();
    assert_eq!(snapshot.foreign, ["before arming"]);
}

#[test]
fn a_damaged_later_snapshot_is_told_and_only_where_it_can_have_been_one() {
    let taken = |server: &str| {
        Body::SnapshotTaken(Box::new(crate::model::snapshot::Snapshot {
            foreign: vec![server.to_owned()],
            ..Default::default()
        }))
    };
    let changed = Changed {
        what: "order-0 at gateway lb".into(),
        before: "weight 50".into(),
        now: "weight 100".into(),
    };
    let flags = ChangeIntent::Flags {
        pattern: "degrade:*".into(),
        count: 1,
    };
    let bodies = [
        Body::Warning("first".into()),
        taken("in preflight"),
        Body::Warning("baseline".into()),
        Body::ChangedMeanwhile(vec![changed.clone()]),
        taken("before arming"),
        Body::Warning("armed".into()),
        Body::ChangeIntended(flags),
        Body::Warning("last".into()),
    ];
    let events: Vec<Event> = (1..)
        .zip(bodies)
        .map(|(seq, body)| Event {
            seq,
            at: Default::default(),
            wall: jiff::Timestamp::UNIX_EPOCH,
            body,
        })
        .collect();
    let with_damage = |lines: &[usize]| {
        let (_temp, _, run) = new_run();
        write(&run, &events);
        let text = fs::read_to_string(run.journal_file()).unwrap();
        let spoilt = text
            .lines()
            .enumerate()
            .map(|(at, line)| match lines.contains(&(at + 1)) {
                true => format!("{}x\n", &line[..line.len() - 1]),
                false => format!("{line}\n"),
            });
        fs::write(run.journal_file(), spoilt.collect::<String>()).unwrap();
        facts_of(&without_readings(&run).unwrap())
    };
    for lines in [&[][..], &[1], &[3], &[4], &[7, 8], &[8]] {
        let facts = with_damage(lines);
        let snapshot = facts.snapshot.unwrap();
        assert_eq!(snapshot.foreign, ["before arming"], "{lines:?}");
        // The first change is one of the damaged ones: whatever stands there may be anything.
        let hidden = facts.snapshot_hidden.is_some();
        assert_eq!(hidden, lines == [7, 8], "{lines:?}: {:?}", facts.snapshot_hidden);
        assert_eq!(facts.changed_since, vec![], "{lines:?}");
    }
    for (lines, named) in [(&[5][..], vec![changed]), (&[4, 5], vec![])] {
        let facts = with_damage(lines);
        assert_eq!(facts.snapshot.unwrap().foreign, ["in preflight"], "{lines:?}");
        let hidden = facts.snapshot_hidden.unwrap();
        assert!(hidden.starts_with("journal.jsonl line"), "{hidden}");
        assert_eq!(facts.changed_since, named, "{lines:?}");
    }
    assert_eq!(with_damage(&[2, 5]).snapshot_hidden, None, "there is none at all");
}

#[test]
fn whoever_takes_over_knows_at_which_clusters_a_change_may_still_land() {
    let cluster = |name| ServerName::new(name).unwrap();
    let group = |cluster, to| ChangeIntent::Group {
        cluster,
        broker: "broker-a".into(),
        group: "order-retry".into(),
        before: true,
        to,
    };
    let quota = ChangeIntent::Quota {
        cluster: cluster("main"),
        before: QuotaSeen {
            payer: Payer {
                user: None,
                client: "order-retry".into(),
            },
            bytes: None,
        },
        to: Some(1.0),
    };
    let facts = Facts {
        changes: vec![
            group(cluster("main"), false),
            group(cluster("main"), true),
            group(cluster("other"), false),
            quota,
        ],
        ..Facts::default()
    };
    let named = [
        ClusterName::Kafka(cluster("main")),
        ClusterName::Rocketmq(cluster("main")),
        ClusterName::Rocketmq(cluster("other")),
    ];
    assert_eq!(facts.clusters_changed(), named.into());
}
