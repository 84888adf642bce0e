//! Expectations: the rows of the sheet.

use super::{
    bounds,
    diagnostic::Problem,
    fields::Fields,
    look::{Look, level},
    tree::Value,
    values::{Bad, quoted},
};
use crate::model::{
    amount::{Basis, Bounds, Unit},
    drill::{Change, Expectation},
};

pub(super) fn read(fields: &Fields, look: Look) -> Option<Expectation> {
    let otherwise = fields.localized("otherwise");
    let seen = look.seen(fields)?;
    let change = change(fields, seen.metric.unit);
    Some(Expectation {
        metric: seen.metric.id.clone(),
        scope: seen.scope,
        change: change?,
        otherwise,
    })
}

fn change(fields: &Fields, unit: Unit) -> Option<Change> {
    if fields.has("rises") {
        return movement(&fields.map("rises")?, unit).map(Change::Rises);
    }
    if fields.has("falls") {
        let falls = fields.map("falls")?;
        let bounds = movement(&falls, unit)?;
        if bounds.basis == Basis::Relative && bounds.at_least.is_some_and(|b| b > 1.0) {
            let bad = Bad::new("a metric cannot fall by more than 100% of its baseline");
            falls.wrong("at_least", Problem::BadValue, bad);
        }
        return Some(Change::Falls(bounds));
    }
    if fields.has("stays") {
        let (within, basis) = fields
            .map("stays")?
            .one("within", |text| bounds::change(text, unit))?;
        return Some(Change::Stays(Bounds {
            at_least: None,
            at_most: Some(within),
            basis,
        }));
    }
    let levels = fields.map("level")?;
    let (at_least, at_most) = (level(&levels, "at_least", unit), level(&levels, "at_most", unit));
    let bounds = Bounds {
        at_least,
        at_most,
        basis: Basis::Absolute,
    };
    check_order(&levels, bounds);
    Some(Change::Level(bounds))
}

fn movement(fields: &Fields, unit: Unit) -> Option<Bounds> {
    let bound = |key| match fields.has(key) {
        true => fields.one(key, |text| bounds::change(text, unit)).map(Some),
        false => Some(None),
    };
    let (least, most) = (bound("at_least"), bound("at_most"));
    let (least, most) = (least?, most?);
    if let (Some((_, one)), Some((_, other))) = (least, most)
        && one != other
    {
        let bad = Bad::new("one bound is absolute, the other a part of the baseline")
            .help("measure both in the same way");
        fields.wrong("at_most", Problem::Conflict, bad);
        return None;
    }
    let bounds = Bounds {
        at_least: least.map(|(value, _)| value),
        at_most: most.map(|(value, _)| value),
        basis: least.or(most).map_or(Basis::Absolute, |(_, basis)| basis),
    };
    check_order(fields, bounds);
    Some(bounds)
}

fn check_order(fields: &Fields, bounds: Bounds) {
    if let (Some(least), Some(most)) = (bounds.at_least, bounds.at_most)
        && least > most
    {
        let bad = Bad::new("`at_least` is more than `at_most`: nothing can be both").help("swap the two");
        fields.wrong("at_most", Problem::Conflict, bad);
    }
}

/// Two rows of a step on the same metric and scope: allowed, as bounds of both sides, but not word for word.
pub(super) fn check_twice(rows: &[Fields]) {
    let mut seen: Vec<(String, &Fields)> = Vec::new();
    for row in rows {
        let text = |key| match row.node(key).map(|node| &node.value) {
            Some(Value::Text { text, .. }) => text.as_str(),
            _ => "",
        };
        let metric = text("metric");
        let kind = ["rises", "falls", "stays", "level"]
            .into_iter()
            .find(|kind| row.has(kind));
        let key = format!("{metric} {} {}", text("scope"), kind.unwrap_or_default());
        if metric.is_empty() {
            continue;
        }
        match seen.iter().find(|(other, _)| *other == key) {
            Some((_, first)) => row.wrong(
                "metric",
                Problem::DuplicateName,
                Bad::new(format!(
                    "a second row of the same kind for {}; first in line {}",
                    quoted(metric),
                    row.report.line(&first.place("metric"))
                ))
                .help("one row holds both bounds"),
            ),
            None => seen.push((key, row)),
        }
    }
}
