//! What is said about a name that nothing has.

use crate::model::text::nearest;

/// The nearest name that may be meant, or all there are.
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
