//! Secrets never leave with a bundle.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Write},
    path::Path,
};

use tempfile::NamedTempFile;

use crate::{
    journal,
    model::secret::{SecretText, Secrets},
};

const HIDDEN: &str = "•••";

/// Shorter ones occur by chance, and could not be told from what they are not.
const SHORTEST: usize = 4;

/// What must not leave, in every form that a file may hold it in.
#[derive(Default)]
pub(super) struct Mask(Vec<String>);

impl Mask {
    pub(super) fn new<'a>(all: impl IntoIterator<Item = &'a Secrets>) -> Self {
        let texts = all.into_iter().flat_map(Secrets::iter).map(|(_, text)| text);
        let long = |text: &&SecretText| text.reveal().len() >= SHORTEST;
        let mut forms: Vec<String> = texts.filter(long).flat_map(forms).collect();
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        forms.dedup();
        Self(forms)
    }

    /// A text without secrets, and without the passwords that someone wrote into a URL.
    pub(super) fn text(&self, text: &str) -> String {
        without_passwords(&self.secrets(text))
    }

    fn secrets(&self, text: &str) -> String {
        self.0
            .iter()
            .fold(text.to_owned(), |masked, form| masked.replace(form, HIDDEN))
    }

    /// Whether a secret occurs in the first `len` bytes of a file.
    pub(super) fn occurs_in(&self, path: &Path, len: u64) -> io::Result<bool> {
        let Some(overlap) = self.0.first().map(|longest| longest.len() - 1) else {
            return Ok(false);
        };
        let mut file = File::open(path)?.take(len);
        let mut window = Vec::new();
        loop {
            let read = file.by_ref().take(64 * 1024).read_to_end(&mut window)?;
            if self.0.iter().any(|form| contains(&window, form.as_bytes())) {
                return Ok(true);
            }
            if read == 0 {
                return Ok(false);
            }
            window.drain(..window.len().saturating_sub(overlap));
        }
    }

    /// A copy of a file of events, each line masked and its checksum made anew.
    pub(super) fn events(&self, path: &Path, len: u64) -> io::Result<NamedTempFile> {
        let mut copy = NamedTempFile::new()?;
        let mut lines = BufReader::new(File::open(path)?.take(len));
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line)? > 0 {
            let text = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
            let masked = match journal::checked(text.as_bytes()) {
                Ok(json) => journal::frame(self.secrets(&String::from_utf8_lossy(json)).as_bytes()),
                Err(_) => (self.secrets(&text) + "\n").into_bytes(),
            };
            copy.write_all(&masked)?;
            line.clear();
        }
        copy.flush()?;
        Ok(copy)
    }
}

/// As it is, and as JSON and HTML write it.
fn forms(secret: &SecretText) -> [String; 3] {
    let plain = secret.reveal().to_owned();
    let quoted = serde_json::Value::from(plain.as_str()).to_string();
    let html = maud::html! { (plain) }.into_string();
    [quoted[1..quoted.len() - 1].to_owned(), html, plain]
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|part| part == needle)
}

/// `scheme://user:password@host` with its password hidden.
fn without_passwords(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after
            .find(|c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'' | '\\' | '<' | '>' | ','))
            .unwrap_or(after.len());
        let (authority, tail) = after.split_at(end);
        match authority
            .rsplit_once('@')
            .and_then(|(info, host)| Some((info.split_once(':')?.0, host)))
        {
            Some((user, host)) => out.push_str(&format!("{user}:{HIDDEN}@{host}")),
            None => out.push_str(authority),
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_a_url_is_hidden_and_the_rest_stays() {
        assert_eq!(
            without_passwords("GET http://u:p@ss@h:9090/x?a@b http://h/ redis://:pw@r, x://"),
            "GET http://u:•••@h:9090/x?a@b http://h/ redis://:•••@r, x://"
        );
    }

    #[test]
    fn a_secret_that_lies_across_two_pieces_is_found() {
        let mut secrets = Secrets::none();
        let place = crate::model::environment::SecretRef::Env("T".to_owned());
        secrets.insert(place, SecretText::new("hunter22"));
        let mask = Mask::new([&secrets]);
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(&vec![b'x'; 64 * 1024 - 4]).unwrap();
        file.write_all(b"hunter22").unwrap();
        assert!(mask.occurs_in(file.path(), 64 * 1024 + 4).unwrap());
        assert!(!mask.occurs_in(file.path(), 64 * 1024 + 3).unwrap());
    }
}
