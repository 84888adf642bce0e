//! A pattern of keys, as Redis matches it.

use crate::{drivers::place::PlaceError, model::text::harmless};

/// Stands where a pattern leaves the choice: no service names a key so.
const PROBE: &str = "allclear-probe-of-a-right";

/// A glob of keys that is narrow enough to be meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob(String);

/// One element of a glob.
enum Piece<'a> {
    Literal(char),
    One,
    Many,
    /// What stands between the brackets.
    Class(&'a str),
}

impl Glob {
    /// The glob, if it has a literal character: one that is all `*`, `?` and classes would match other people's keys.
    ///
    /// # Errors
    /// [`PlaceError::TooWide`].
    pub fn new(pattern: &str) -> Result<Self, PlaceError> {
        let literal = Pieces(pattern).any(|piece| matches!(piece, Piece::Literal(_)));
        match literal && pattern.len() <= 1024 {
            true => Ok(Self(pattern.to_owned())),
            false => Err(PlaceError::TooWide {
                pattern: harmless(pattern, 64),
            }),
        }
    }

    /// As written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A key of the glob's form.
    pub(super) fn sample(&self) -> String {
        let mut probe = PROBE;
        let fill = |piece| match piece {
            Piece::Literal(c) => c.to_string(),
            Piece::One => "x".to_owned(),
            Piece::Many => std::mem::take(&mut probe).to_owned(),
            Piece::Class(class) => member(class).to_string(),
        };
        Pieces(&self.0).map(fill).collect()
    }

    /// A key of the glob's form that nobody has: for proving the right to delete without deleting. None if the glob
    /// leaves no room for one, so that a key of its form may be somebody's.
    pub(super) fn probe(&self) -> Option<String> {
        let many = Pieces(&self.0).any(|piece| matches!(piece, Piece::Many));
        many.then(|| self.sample())
    }
}

/// A character that the class has.
fn member(class: &str) -> char {
    match class.strip_prefix('^') {
        None => class.trim_start_matches('\\').chars().next().unwrap_or('x'),
        Some(not) => ('a'..='z').find(|c| !not.contains(*c)).unwrap_or('~'),
    }
}

/// The elements of a pattern.
struct Pieces<'a>(&'a str);

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let mut chars = self.0.chars();
        let piece = match chars.next()? {
            '*' => Piece::Many,
            '?' => Piece::One,
            '[' => {
                let inside = chars.as_str();
                let (class, rest) = inside.split_once(']').unwrap_or((inside, ""));
                self.0 = rest;
                return Some(Piece::Class(class));
            }
            '\\' => match chars.next() {
                Some(escaped) => Piece::Literal(escaped),
                // Redis takes a last backslash for itself; alone it makes no pattern narrow.
                None => return None,
            },
            plain => Piece::Literal(plain),
        };
        self.0 = chars.as_str();
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_that_matches_everything_is_refused() {
        for pattern in ["*", "**", "?*", "[a-z]*", "", "*\\"] {
            assert!(Glob::new(pattern).is_err(), "{pattern}");
        }
        assert_eq!(Glob::new("degrade:*").unwrap().as_str(), "degrade:*");
    }

    #[test]
    fn a_probe_has_the_form_of_the_glob_and_there_is_none_where_it_could_be_somebodys_key() {
        let probe = |pattern: &str| Glob::new(pattern).unwrap().probe();
        assert_eq!(probe("a:*"), Some(format!("a:{PROBE}")));
        assert_eq!(probe("a:*:?:[bc]:*"), Some(format!("a:{PROBE}:x:b:")));
        assert_eq!(probe(r"a\[1\]:*"), Some(format!("a[1]:{PROBE}")));
        for narrow in ["a:b", "a:?", "a:[bc]", r"a:\*"] {
            assert_eq!(probe(narrow), None, "{narrow}");
        }
    }
}
