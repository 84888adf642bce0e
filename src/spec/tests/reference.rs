//! docs/files.md is the reference of the three files. Its tables are drawn from those that the reader goes by.
//! After a change, `INSTA_UPDATE=always cargo test --lib reference` writes them anew.

use std::path::PathBuf;

use super::*;
use crate::spec::shape::{Form, Need, Rule, Shape};

/// A table's map and all maps below it, each once, in reading order.
pub(super) fn all_shapes(top: &'static Shape) -> Vec<&'static Shape> {
    fn below(form: &Form, found: &mut Vec<&'static Shape>) {
        match form {
            Form::Map(shape) => visit(shape, found),
            Form::List(form) | Form::Named(form) => below(form, found),
            Form::Either(forms) => forms.iter().for_each(|form| below(form, found)),
            Form::One(_) | Form::Word(_) | Form::Any => {}
        }
    }
    fn visit(shape: &'static Shape, found: &mut Vec<&'static Shape>) {
        if !found.iter().any(|other| std::ptr::eq(*other, shape)) {
            found.push(shape);
            shape.keys.iter().for_each(|key| below(&key.form, found));
        }
    }
    let mut found = Vec::new();
    visit(top, &mut found);
    found
}

fn form(form_of: &Form) -> String {
    match form_of {
        Form::One(scalar) => format!("{}, `{}`", scalar.expected(), scalar.example()),
        Form::Word(words) => {
            let words: Vec<String> = words
                .iter()
                .map(|(word, doc)| format!("`{word}` ({doc})"))
                .collect();
            words.join(", ")
        }
        Form::Map(shape) => format!("[{}](#{})", shape.name, schema::def_name(shape)),
        Form::List(item) => format!("list: {}", form(item)),
        Form::Named(value) => format!("map of names: {}", form(value)),
        Form::Either(forms) => forms.iter().map(form).collect::<Vec<_>>().join("; or "),
        Form::Any => "any value".to_owned(),
    }
}

fn section(shape: &Shape) -> String {
    let mut out = format!("#### {}\n\n{}\n\n", schema::def_name(shape), shape.doc);
    out.push_str("| key | needed | value | meaning |\n|---|---|---|---|\n");
    for key in shape.keys {
        let need = match key.need {
            Need::Required => "yes".to_owned(),
            Need::Optional => "no".to_owned(),
            Need::Default(text) => format!("no, `{text}`"),
        };
        let value = form(&key.form).replace('|', "\\|");
        out.push_str(&format!(
            "| `{}` | {need} | {value} | {} |\n",
            key.name,
            key.doc.replace('|', "\\|")
        ));
    }
    for rule in shape.rules {
        let (how, names) = match rule {
            Rule::Choose(names) => ("Exactly one of", names),
            Rule::Exclude(names) => ("At most one of", names),
            Rule::NeedSome(names) => ("At least one of", names),
        };
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        out.push_str(&format!("\n{how} {}.\n", names.join(", ")));
    }
    out
}

fn generated(kind: Kind) -> String {
    let sections: Vec<String> = all_shapes(kind.shape()).into_iter().map(section).collect();
    format!("\n```yaml\n{}```\n\n{}", kind.example(), sections.join("\n"))
}

#[test]
fn the_reference_has_every_key_and_no_other() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/files.md");
    let written = std::fs::read_to_string(&path).unwrap();
    let mut drawn = written.clone();
    for kind in Kind::ALL {
        let begin = format!("<!-- {} -->\n", kind.as_str());
        let end = format!("<!-- end of {} -->", kind.as_str());
        let from = drawn
            .find(&begin)
            .expect("the reference marks where a file's tables begin")
            + begin.len();
        let to = drawn.find(&end).expect("and where they end");
        drawn.replace_range(from..to, &generated(kind));
    }
    if std::env::var("INSTA_UPDATE").is_ok_and(|how| how == "always") {
        std::fs::write(&path, &drawn).unwrap();
    }
    assert!(
        written == drawn,
        "docs/files.md lags behind the tables; see this file's head"
    );
}
