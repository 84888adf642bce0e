//! Flags that were there before the drill: they are kept, and whether they are still what they were is seen at the end. Nothing
//! can be put back, since no value is stored: what differs is left to a person.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::{
    drivers::{
        error::DriverError,
        redis::{Key, RedisServer},
    },
    engine::recovery::{Scene, by_hand},
    model::{
        ids::{RunId, ServerName},
        recovery::{Certainty, Leftover, StepId},
        said::{Said, said},
        snapshot::{Expires, FlagsSeen, KeptFlag},
    },
};

/// More flags than that are not compared, all entries of the playbook together: the snapshot is one line of the journal.
const COMPARED: usize = 1000;

/// Nor are those whose names, with the names before them, are longer than that.
const NAMES: usize = 64 * 1024;

/// A time of expiry that differs by less is the same: clocks, and the time that it takes to ask.
const SLACK_MS: i64 = 10_000;

/// Each that differs is a leftover of its own, up to so many.
const NAMED: usize = 20;

/// What the first flags hold, as far as it may be read, for one of so many `entries`.
pub(super) async fn read(
    redis: &RedisServer,
    keys: &BTreeSet<Key>,
    run: &RunId,
    entries: usize,
) -> Result<Vec<KeptFlag>, DriverError> {
    redis.held(&first(keys, entries), run.as_str()).await
}

fn first(keys: &BTreeSet<Key>, entries: usize) -> BTreeSet<Key> {
    let (most, mut room) = (COMPARED / entries.max(1), NAMES / entries.max(1));
    let fits = keys.iter().take(most).take_while(|key| {
        let shown = key.to_string().len();
        let fits = shown <= room;
        room = room.saturating_sub(shown);
        fits
    });
    fits.cloned().collect()
}

/// How a flag differs from what it was, and whether that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::recovery) struct Differs {
    pub(in crate::engine::recovery) how: Said,
    pub(in crate::engine::recovery) certainty: Certainty,
}

fn seen_to(how: Said) -> Option<Differs> {
    let certainty = Certainty::Seen;
    Some(Differs { how, certainty })
}

fn not_known(how: Said) -> Option<Differs> {
    let certainty = Certainty::Unknown;
    Some(Differs { how, certainty })
}

/// How a flag differs from what it was; `None` if it does not, or ended as it was to.
fn difference(before: &KeptFlag, now: Option<&KeptFlag>, at_ms: i64) -> Option<Differs> {
    let ended = match before.expires {
        Expires::Never => false,
        Expires::At(end) => end <= at_ms + SLACK_MS,
        Expires::NotCompared => true,
    };
    let Some(now) = now else {
        let gone = said!(
            "it is gone, before its time to live was over",
            "已消失，早于其过期时间"
        );
        return if ended { None } else { seen_to(gone) };
    };
    if now.kind != before.kind {
        let (is, was) = (&now.kind, &before.kind);
        return seen_to(said!(
            "its type is {is} now, and was {was}",
            "类型现为 {is}，原为 {was}"
        ));
    }
    match (&before.digest, &now.digest) {
        (Some(was), Some(is)) if was != is => return seen_to(said!("its value is another", "值已不同")),
        (Some(_), None) => {
            return not_known(said!(
                "its value can no longer be read: too large now, or no right to",
                "值已无法读取：过大，或无权限"
            ));
        }
        _ => {}
    }
    match (before.expires, now.expires) {
        (Expires::At(was), Expires::At(is)) if (was - is).abs() <= SLACK_MS => None,
        (Expires::Never, Expires::Never) | (Expires::NotCompared, _) => None,
        (_, Expires::NotCompared) => not_known(said!(
            "when it expires can no longer be read",
            "过期时间已无法读取"
        )),
        (was, is) => seen_to(said!(
            is = ends(is), was = ends(was);
            "it {is} now, and was one that {was}",
            "现{is}，原{was}"
        )),
    }
}

fn ends(expires: Expires) -> Said {
    match expires {
        Expires::Never => said!("does not expire", "不过期"),
        Expires::NotCompared => said!("expires at an unknown time", "过期时间不明"),
        Expires::At(ms) => match Timestamp::from_millisecond(ms) {
            Ok(at) => {
                let at = at.strftime("%Y-%m-%dT%H:%M:%SZ");
                said!("expires at {at}", "于 {at} 过期")
            }
            Err(_) => said!("expires in a far future", "很久以后才过期"),
        },
    }
}

/// What differs from the flags as they were, each with how.
pub(in crate::engine::recovery) fn differences(
    before: &FlagsSeen,
    now: &[KeptFlag],
) -> Vec<(KeptFlag, Differs)> {
    let at_ms = Timestamp::now().as_millisecond();
    let now: BTreeMap<&str, &KeptFlag> = now.iter().map(|flag| (flag.key.as_str(), flag)).collect();
    let differs = before.kept.iter().filter_map(|flag| {
        let how = difference(flag, now.get(flag.key.as_str()).copied(), at_ms)?;
        Some((flag.clone(), how))
    });
    differs.collect()
}

/// What has changed by itself while nothing was injected is not compared later: it would change then as well.
pub(in crate::engine::recovery) fn forget_what_moves(before: &FlagsSeen, now: &mut FlagsSeen) {
    let was: BTreeMap<&str, &KeptFlag> = before.kept.iter().map(|flag| (flag.key.as_str(), flag)).collect();
    for flag in &mut now.kept {
        let Some(was) = was.get(flag.key.as_str()) else {
            continue;
        };
        if was.digest != flag.digest {
            flag.digest = None;
        }
        match (was.expires, flag.expires) {
            (Expires::Never, Expires::Never) => {}
            (Expires::At(was), Expires::At(is)) if (was - is).abs() <= SLACK_MS => {}
            _ => flag.expires = Expires::NotCompared,
        }
    }
}

/// Flags of one entry that are older than the drill and not what they were, or of which that is not known.
pub(super) async fn not_as_before(
    scene: &Scene,
    (server, redis): (&ServerName, &RedisServer),
    before: &FlagsSeen,
) -> Vec<Leftover> {
    let keys: BTreeSet<Key> = before.kept.iter().map(|f| Key::shown_as(&f.key)).collect();
    if keys.is_empty() {
        return Vec::new();
    }
    let left = |what: Said, why: Said, by_hand, certainty| Leftover {
        step: StepId::Flags,
        what: said!(
            what;
            "{what} in Redis {server}, older than the drill",
            "Redis {server} 中演练前已有的{what}"
        ),
        why,
        by_hand,
        certainty,
    };
    let read = || redis.held(&keys, scene.plan.run.as_str());
    let now = match scene.persist(scene.deadline(), read).await {
        Ok(now) => now,
        Err(error) => {
            let why = said!(
                error = error.said();
                "whether they are what they were is not known: {error}",
                "是否与原来一致不明：{error}"
            );
            let count = keys.len();
            let what = said!("{count} flags", " {count} 个开关");
            return vec![left(what, why, None, Certainty::Unknown)];
        }
    };
    let differ = differences(before, &now);
    let more = differ.len().saturating_sub(NAMED);
    let place = scene.plan.environment.redis.get(server);
    let named = differ
        .into_iter()
        .take(NAMED)
        .map(|(flag, Differs { how, certainty })| {
            let why = match certainty {
                Certainty::Seen => said!(
                    how;
                    "changed during the drill: {how}; no value is stored, set it as it was meant",
                    "演练期间被改：{how}；未保存原值，请按本意设回"
                ),
                Certainty::Unknown => said!(
                    how;
                    "whether it is what it was is not known: {how}",
                    "是否与原来一致不明：{how}"
                ),
            };
            let by_hand = place.map(|place| by_hand::redis::look_at(place, &flag));
            let key = &flag.key;
            left(said!("flag {key}", "开关 {key}"), why, by_hand, certainty)
        });
    let mut all: Vec<Leftover> = named.collect();
    if more > 0 {
        let what = said!("{more} more flags", "另外 {more} 个开关");
        let why = said!("changed during the drill", "演练期间被改");
        all.push(left(what, why, None, Certainty::Seen));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000_000;

    fn flag(digest: Option<&str>, expires: Expires) -> KeptFlag {
        KeptFlag {
            key: "degrade:order:old".into(),
            kind: "string".into(),
            digest: digest.map(str::to_owned),
            expires,
        }
    }

    #[test]
    fn a_time_to_live_that_has_run_out_is_no_difference_and_a_flag_that_went_early_is() {
        let gone = |expires| difference(&flag(Some("a"), expires), None, NOW).is_some();
        assert!(!gone(Expires::At(NOW - 1)) && !gone(Expires::At(NOW + 5_000)));
        assert!(gone(Expires::At(NOW + 60_000)) && gone(Expires::Never));
        assert!(!gone(Expires::NotCompared), "it expires, and nobody knows when");
    }

    #[test]
    fn a_flag_that_is_written_again_after_its_time_differs() {
        let before = flag(Some("a"), Expires::At(NOW - 60_000));
        let again = flag(Some("a"), Expires::At(NOW + 600_000));
        let how = "it expires at 2027-01-15T08:10:00Z now, and was one that expires at 2027-01-15T07:59:00Z";
        let differs = difference(&before, Some(&again), NOW).unwrap();
        assert_eq!((differs.how.en(), differs.certainty), (how, Certainty::Seen));
        let forever = flag(Some("a"), Expires::Never);
        assert!(difference(&before, Some(&forever), NOW).is_some());
        assert!(difference(&before, Some(&before), NOW).is_none());
    }

    #[test]
    fn what_could_be_read_before_and_cannot_now_is_not_called_as_before() {
        let before = flag(Some("a"), Expires::At(NOW + 60_000));
        let unread = |digest, expires| {
            let now = difference(&before, Some(&flag(digest, expires)), NOW);
            now.is_some_and(|d| d.certainty == Certainty::Unknown)
        };
        assert!(unread(None, before.expires) && unread(Some("a"), Expires::NotCompared));
        assert!(!unread(Some("a"), before.expires));
        let never_read = flag(None, Expires::NotCompared);
        assert_eq!(difference(&never_read, Some(&before), NOW), None);
        let value = difference(&before, Some(&flag(Some("b"), Expires::NotCompared)), NOW).unwrap();
        assert_eq!(value.certainty, Certainty::Seen, "{:?}", value.how);
    }

    #[test]
    fn only_so_many_flags_are_compared_as_a_line_of_the_journal_has_room_for() {
        let keys = |count, length| (0..count).map(|n| Key::new(format!("{n:0length$}"))).collect();
        assert_eq!(first(&keys(5000, 20), 1).len(), 1000);
        assert_eq!(first(&keys(5000, 20), 4).len(), 250);
        assert_eq!(first(&keys(100, 4096), 1).len(), 16);
        assert_eq!(first(&keys(100, 4096), 2).len(), 8);
        assert_eq!(first(&keys(3, 20), 0).len(), 3);
    }

    #[test]
    fn what_moves_by_itself_is_not_compared_later() {
        let of = |flag| FlagsSeen {
            kept: vec![flag],
            ..FlagsSeen::default()
        };
        let before = of(flag(Some("a"), Expires::At(NOW)));
        let mut now = of(flag(Some("b"), Expires::At(NOW + 60_000)));
        forget_what_moves(&before, &mut now);
        assert_eq!(now.kept, [flag(None, Expires::NotCompared)]);
        let later = flag(Some("c"), Expires::At(NOW + 120_000));
        assert_eq!(difference(&now.kept[0], Some(&later), NOW), None);
    }
}
