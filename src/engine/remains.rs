//! What may remain, as one record of the journal and one state of a console can have it. However much it is, its record must not
//! be refused: a list that is not there reads as one that is empty.

use crate::model::{
    recovery::{Certainty, Leftover, StepId},
    said::said,
};

/// The bytes of JSON that the whole list may take; a record has at most 1 MiB.
const ROOM: usize = 768 << 10;

/// Those of them that commands by hand may take.
const COMMANDS: usize = ROOM / 2;

/// The characters that a long text keeps, of the thing and of the reason: names stand at the beginning.
const TEXTS: [(usize, usize); 3] = [(400, 400), (160, 120), (100, 40)];

/// Stands where a command was; typed, it does nothing.
const LEFT_OUT: &str = "# left out: the list is too long to keep it";

/// The list, or what there is room for of a very long one: the faults first, with fewer commands, shorter texts, and in the end
/// the number of those that are not named.
pub(super) fn bounded(list: Vec<Leftover>) -> Vec<Leftover> {
    bounded_to(list, ROOM, COMMANDS)
}

fn bounded_to(mut list: Vec<Leftover>, room: usize, commands: usize) -> Vec<Leftover> {
    if bytes_of(&list) <= room {
        return list;
    }
    list.sort_by_key(|left| left.step);
    let mut spent = 0;
    for left in &mut list {
        if let Some(command) = &left.by_hand {
            spent += command.len();
            if spent > commands {
                left.by_hand = Some(LEFT_OUT.to_owned());
            }
        }
    }
    for (what, why) in TEXTS {
        if bytes_of(&list) <= room {
            return list;
        }
        for left in &mut list {
            left.what = left.what.map(|text| begun(text, what));
            left.why = left.why.map(|text| begun(text, why));
        }
    }
    cut(list, room)
}

/// The beginning of the list, and how many more there are.
fn cut(mut list: Vec<Leftover>, room: usize) -> Vec<Leftover> {
    let mut used = bytes_of(&[and_more(&list)]);
    let fits = list.iter().take_while(|left| {
        used += bytes(left);
        used <= room
    });
    let more = list.split_off(fits.count());
    if !more.is_empty() {
        list.push(and_more(&more));
    }
    list
}

fn and_more(more: &[Leftover]) -> Leftover {
    let n = more.len();
    let seen = more.iter().any(|left| left.certainty == Certainty::Seen);
    Leftover {
        step: more.first().map_or(StepId::Verify, |left| left.step),
        what: said!("and {n} more", "另有 {n} 项"),
        why: said!(
            "the list is too long to name them: put back what is named, then look at the systems themselves",
            "清单过长，未能逐一列出：请先处理已列出的，再到各系统核查"
        ),
        by_hand: None,
        certainty: if seen { Certainty::Seen } else { Certainty::Unknown },
    }
}

/// No more than so many characters of it.
fn begun(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn bytes_of(list: &[Leftover]) -> usize {
    list.iter().map(bytes).sum()
}

/// As JSON, with the comma. What JSON cannot say takes no room, and is refused with its record.
fn bytes(left: &Leftover) -> usize {
    serde_json::to_vec(left).map_or(0, |json| json.len() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{said::Said, text::Lang};

    fn left(n: usize, step: StepId, long: usize) -> Leftover {
        Leftover {
            step,
            what: said!("flag degrade:{n} at redis", "redis 的开关 degrade:{n}"),
            why: Said::as_it_is("\"\n".repeat(long)),
            by_hand: Some(format!("redis-cli SET degrade:{n} {}", "x".repeat(long))),
            certainty: Certainty::Unknown,
        }
    }

    #[test]
    fn a_list_that_has_room_stays_as_it_is() {
        let list: Vec<Leftover> = (0..20).map(|n| left(n, StepId::Flags, 2_000)).collect();
        assert_eq!(bounded(list.clone()), list);
    }

    #[test]
    fn a_long_one_loses_commands_and_the_length_of_its_texts_but_names_everything_and_the_faults_first() {
        let mut list: Vec<Leftover> = (0..500).map(|n| left(n, StepId::Flags, 8_000)).collect();
        list.push(left(500, StepId::Faults, 100));
        let kept = bounded(list.clone());
        assert_eq!(kept.len(), list.len());
        assert_eq!(
            (kept[0].step, kept[0].by_hand.as_ref()),
            (StepId::Faults, list[500].by_hand.as_ref())
        );
        assert_eq!(kept[1].by_hand, list[0].by_hand);
        assert_eq!(kept[500].by_hand.as_deref(), Some(LEFT_OUT));
        assert_eq!(kept[500].what, list[499].what);
        assert!(bytes_of(&kept) <= ROOM);
    }

    #[test]
    fn one_that_is_longer_still_ends_with_the_number_of_those_that_are_not_named() {
        let mut list: Vec<Leftover> = (0..30_000).map(|n| left(n, StepId::Flags, 100)).collect();
        list.last_mut().unwrap().certainty = Certainty::Seen;
        let kept = bounded(list);
        let last = kept.last().unwrap();
        let more = 30_000 - (kept.len() - 1);
        assert_eq!(last.what.en(), format!("and {more} more"));
        assert_eq!(last.what.get(Lang::Zh), format!("另有 {more} 项"));
        assert_eq!(last.certainty, Certainty::Seen, "one of them was seen");
        assert!(kept.len() > 1_000 && bytes_of(&kept) <= ROOM);
    }
}
