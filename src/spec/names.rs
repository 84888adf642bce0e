//! The nearest valid name to what was written.

/// The nearest of `names` to what was written, if one is near enough to be meant.
pub(super) fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let written = written.to_lowercase();
    let (distance, name) = names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&written, &name.to_lowercase()), name))
        .min_by_key(|(distance, _)| *distance)?;
    let longest = written.chars().count().max(name.chars().count());
    (distance <= 1 || distance * 3 <= longest).then_some(name)
}

/// What to say about a name that nothing has.
pub(super) fn meant<'a>(written: &str, what: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match nearest(written, names.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if names.is_empty() => format!("there are no {what}"),
        None if names.len() == 1 => format!("only `{}` is possible", names[0]),
        None => {
            let mut shown: Vec<String> = names.iter().take(20).map(|name| format!("`{name}`")).collect();
            if names.len() > 20 {
                shown.push("…".to_owned());
            }
            format!("the {what} are {}", shown.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered_only_when_it_is_near() {
        assert_eq!(nearest("duraton", ["duration", "expect"]), Some("duration"));
        assert_eq!(
            nearest("order_sucess", ["order_p99", "order_success"]),
            Some("order_success")
        );
        assert_eq!(nearest("zebra", ["duration", "expect"]), None);
    }
}
