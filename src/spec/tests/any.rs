//! Any text at all: no panic, and every error lies inside the file.

use proptest::prelude::*;

use super::*;

fn check(text: &str) -> Result<(), TestCaseError> {
    let source = source("any.yaml", text);
    let found = [
        read_dashboard(&source).map(|r| r.warnings).map_err(|e| e.all),
        read_drill(&source, &find).map(|r| r.warnings).map_err(|e| e.all),
        read_config(&source).map(|r| r.warnings).map_err(|e| e.all),
    ];
    for result in found {
        let is_error = result.is_err();
        let all = result.unwrap_or_else(|all| all);
        prop_assert!(!is_error || all.iter().any(|d| d.severity == Severity::Error));
        for diagnostic in all {
            let span = diagnostic
                .span
                .clone()
                .expect("every diagnostic of a file has a place");
            prop_assert!(
                text.get(span.clone()).is_some(),
                "{span:?} of {} bytes",
                text.len()
            );
            prop_assert!(diagnostic.position().is_some());
            prop_assert!(!diagnostic.message.contains(char::is_control));
            let has_escape = rendered(&diagnostic).contains('\u{1b}');
            prop_assert!(!has_escape);
        }
    }
    Ok(())
}

/// One of the examples with a few pieces cut out, repeated or replaced.
fn damaged() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(String::new()),
        "[a-z0-9:{}\\[\\],&*#'\"|>%\\- \n\té😀\u{1b}\u{202e}]{0,6}",
        Just(": ".to_owned()),
        Just("\n  - ".to_owned()),
        Just("{a: b}".to_owned()),
        Just("null".to_owned()),
    ];
    let cut = (any::<prop::sample::Index>(), 0usize..30, piece);
    let example = prop::sample::select(vec![DRILL, DASHBOARD, CONFIG]);
    (example, prop::collection::vec(cut, 1..5)).prop_map(|(example, cuts)| {
        let mut chars: Vec<char> = example.chars().collect();
        for (at, length, piece) in cuts {
            let at = at.index(chars.len() + 1);
            let end = (at + length).min(chars.len());
            chars.splice(at..end, piece.chars());
        }
        chars.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_text_is_read_or_refused_inside_itself(text in "[a-c0-9:{}\\[\\],&*#!'\"|>%\\- \n\r\té😀\u{1b}\u{feff}\u{85}]{0,80}") {
        check(&text)?;
    }

    #[test]
    fn a_damaged_file_is_read_or_refused_inside_itself(text in damaged()) {
        check(&text)?;
    }
}
