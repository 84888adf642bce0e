//! The nearest name to one that is not known. The injection point stands apart from the rest of allclear, so that a
//! service can have it alone: it has this of its own.

/// Below this likeness (M. Jaro 1989, W. Winkler 1990; 1 is the same) another name is meant.
const ALIKE: f64 = 0.7;

/// The known name that looks most like what was written, if any does.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(name, written), name))
        .filter(|(likeness, _)| *likeness > ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_that_looks_alike_is_offered() {
        let known = ["coupon.query", "inventory.reserve"];
        assert_eq!(nearest("coupon.qeury", known), Some("coupon.query"));
        assert_eq!(nearest("zzz", known), None);
    }
}
