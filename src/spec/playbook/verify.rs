//! When it is over.

use crate::{
    model::time::Span,
    spec::{
        diagnostic::Problem,
        fields::Fields,
        shape::Need,
        shapes::playbook::PLAYBOOK,
        single,
        values::{self, Bad},
    },
};

pub(super) fn read(fields: &Fields) -> (Option<Span>, Option<Span>) {
    let (hold, within) = (fields.some_time("hold"), fields.some_time("within"));
    if let (Some(hold), Some(within)) = (hold, within)
        && within < hold
    {
        let bad = Bad::new(format!("verifying within {within} cannot hold for {hold}"))
            .help("give `within` more time than `hold`");
        fields.wrong("within", Problem::Conflict, bad);
    }
    (hold, within)
}

/// What `verify` says when it is left out.
pub(super) fn default_of(key: &str) -> Option<Span> {
    let verify = PLAYBOOK.key("verify").map(|key| key.form);
    match single::map_shape(&verify?)?.key(key)?.need {
        Need::Default(text) => values::duration(text).ok(),
        _ => None,
    }
}
