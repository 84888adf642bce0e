//! The part of PromQL that dashboards use: instant-vector selectors and label matchers.
//!
//! Grammar after <https://prometheus.io/docs/prometheus/latest/querying/basics/>.

#[cfg(test)]
mod tests;

use crate::model::dashboard::{MatchOp, Matcher, Selector};

use super::values::Bad;

/// Reads `name{a="b",c!~"d"}`.
pub(super) fn selector(text: &str) -> Result<Selector, Bad> {
    let mut cursor = Cursor { text, at: 0 };
    cursor.space();
    let start = cursor.at;
    let name = cursor.word(|c, first| is_label_char(c, first) || c == ':');
    if name.is_empty() {
        let message = if cursor.peek() == Some('{') {
            "a selector needs a metric name before `{`"
        } else {
            "not a selector: it begins with a metric name"
        };
        return Err(Bad::new(message).help("write `name{label=\"value\"}`").at(start));
    }
    let name = name.to_owned();
    cursor.space();
    let matchers = if cursor.eat('{') {
        cursor.matchers(Some('}'))?
    } else {
        Vec::new()
    };
    cursor.space();
    match cursor.peek() {
        None => Ok(Selector { name, matchers }),
        Some('[') => Err(Bad::new("a selector has no range here")
            .help("leave out `[…]`: allclear adds the window itself")
            .at(cursor.at)),
        Some('(') => Err(Bad::new(format!("`{name}(…)` is a query, not a selector"))
            .help("write the selector alone, or use `promql:` for a whole query")
            .at(cursor.at)),
        Some(_) => Err(Bad::new("more text after the selector")
            .help("for a whole query use `promql:`")
            .at(cursor.at)),
    }
}

/// Reads `a="b",c!~"d"`, as scopes write it, with or without braces around.
pub(super) fn matchers(text: &str) -> Result<Vec<Matcher>, Bad> {
    let mut cursor = Cursor { text, at: 0 };
    cursor.space();
    let found = if cursor.eat('{') {
        cursor.matchers(Some('}'))?
    } else {
        cursor.matchers(None)?
    };
    cursor.space();
    if cursor.peek().is_some() {
        return Err(Bad::new("more text after the matchers").at(cursor.at));
    }
    if found.is_empty() {
        return Err(Bad::new("no matcher in here").help("write `label=\"value\"`"));
    }
    Ok(found)
}

fn is_label_char(c: char, first: bool) -> bool {
    c == '_' || c.is_ascii_alphabetic() || (!first && c.is_ascii_digit())
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    fn space(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.next();
        }
    }

    fn word(&mut self, belongs: impl Fn(char, bool) -> bool) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(|c| belongs(c, self.at == start)) {
            self.next();
        }
        &self.text[start..self.at]
    }

    /// Matchers up to `close`, or to the end of the text.
    fn matchers(&mut self, close: Option<char>) -> Result<Vec<Matcher>, Bad> {
        let mut found: Vec<Matcher> = Vec::new();
        loop {
            self.space();
            if self.closed(close) {
                return Ok(found);
            }
            found.push(self.matcher()?);
            if found.len() > 64 {
                return Err(Bad::new("over 64 matchers").at(self.at));
            }
            self.space();
            if self.closed(close) {
                return Ok(found);
            }
            if !self.eat(',') {
                return Err(Bad::new("a `,` or the end is missing between matchers").at(self.at));
            }
        }
    }

    fn closed(&mut self, close: Option<char>) -> bool {
        match close {
            Some(c) => self.eat(c),
            None => self.peek().is_none(),
        }
    }

    fn matcher(&mut self) -> Result<Matcher, Bad> {
        let start = self.at;
        let label = self.word(is_label_char).to_owned();
        match label.as_str() {
            "" if self.peek().is_none() => return Err(Bad::new("the `}` is missing").at(start)),
            "" => {
                return Err(Bad::new("a label name is missing")
                    .help("write `label=\"value\"`")
                    .at(start));
            }
            "__name__" => return Err(Bad::new("the metric name stands before `{`, not in it").at(start)),
            _ => {}
        }
        self.space();
        let op = self.operator()?;
        self.space();
        let value = self.string()?;
        Ok(Matcher { label, op, value })
    }

    fn operator(&mut self) -> Result<MatchOp, Bad> {
        let rest = &self.text[self.at..];
        let all = [
            MatchOp::Matches,
            MatchOp::NotMatches,
            MatchOp::NotEqual,
            MatchOp::Equal,
        ];
        match all.into_iter().find(|op| rest.starts_with(op.symbol())) {
            Some(op) => {
                self.at += op.symbol().len();
                Ok(op)
            }
            None => Err(Bad::new("an operator is missing after the label")
                .help("the operators are `=`, `!=`, `=~` and `!~`")
                .at(self.at)),
        }
    }

    fn string(&mut self) -> Result<String, Bad> {
        let start = self.at;
        let quote = match self.next() {
            Some(c @ ('"' | '\'' | '`')) => c,
            _ => {
                return Err(Bad::new("a label's value stands in quotes")
                    .help("write `label=\"value\"`")
                    .at(start));
            }
        };
        let mut value = String::new();
        loop {
            match self.next() {
                None => return Err(Bad::new("the quote is not closed").at(start)),
                Some(c) if c == quote => return Ok(value),
                Some('\\') if quote != '`' => value.push(self.escape()?),
                Some(c) if c.is_control() => return Err(Bad::new("a control character").at(start)),
                Some(c) => value.push(c),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Bad> {
        let at = self.at - 1;
        let unknown = || {
            Bad::new("an escape that PromQL does not have")
                .help("write `\\\\` for a backslash: `\\\\d` in a pattern")
                .at(at)
        };
        match self.next().ok_or_else(unknown)? {
            'n' => Ok('\n'),
            't' => Ok('\t'),
            'r' => Ok('\r'),
            c @ ('\\' | '"' | '\'') => Ok(c),
            'x' => self.hex(2).filter(char::is_ascii).ok_or_else(unknown),
            'u' => self.hex(4).ok_or_else(unknown),
            'U' => self.hex(8).ok_or_else(unknown),
            _ => Err(unknown()),
        }
    }

    fn hex(&mut self, digits: usize) -> Option<char> {
        let code = self.text.get(self.at..self.at + digits)?;
        let all_hex = code.chars().all(|c| c.is_ascii_hexdigit());
        self.at += digits;
        u32::from_str_radix(code, 16)
            .ok()
            .filter(|_| all_hex)
            .and_then(char::from_u32)
    }
}
