//! The page for people.

use std::fs;

use super::{bundle, told};
use crate::{model::text::Lang, report::*};

#[test]
fn the_page_tells_the_run_in_both_languages() {
    let (_temp, run) = told();
    let evidence = Evidence::of(&run).unwrap();
    for (name, lang) in [("page_en", Lang::En), ("page_zh", Lang::Zh)] {
        let page = html::page(&evidence, lang);
        assert!(
            !page.contains("<fast>") && !page.contains("<threads>"),
            "texts from outside are escaped"
        );
        let body = page.split_once("<body>").unwrap().1.replace("><", ">\n<");
        insta::assert_snapshot!(name, body);
    }
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let (_temp, path) = bundle();
    let page = fs::read_to_string(path.join("report.html")).unwrap();
    for outside in ["src=", "href=", "@import", "url(", "<script"] {
        assert!(!page.contains(outside), "{outside}");
    }
}
