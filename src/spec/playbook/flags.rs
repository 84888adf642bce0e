//! Degrade flags.

use crate::{
    model::{ids::ServerName, playbook::Flags},
    spec::{
        fields::Fields,
        values::{self, Bad, quoted},
    },
};

pub(super) fn read(fields: &Fields) -> Option<Flags> {
    let server = fields.name("server", ServerName::new);
    let pattern = match fields.has("prefix") {
        true => fields.one("prefix", prefix),
        false => fields.one("match", glob),
    };
    let at_most = fields.one("at_most", values::whole(1, 10_000_000));
    Some(Flags::Redis {
        server: server?,
        pattern: pattern?,
        at_most: at_most?,
    })
}

/// A glob that begins with some text of its own: one that begins with a wildcard could match what is not a flag.
fn glob(text: &str) -> Result<String, Bad> {
    let glob = values::token(text)?;
    if glob.starts_with(['*', '?', '[']) {
        return Err(Bad::new(format!(
            "{} begins with a wildcard and could match anything",
            quoted(text)
        ))
        .help("begin with the flags' own prefix, such as `degrade:order:*`"));
    }
    Ok(glob)
}

/// The glob of all keys that begin so: what would be a wildcard means itself.
fn prefix(text: &str) -> Result<String, Bad> {
    let mut glob = String::new();
    for c in values::token(text)?.chars() {
        if "*?[]\\".contains(c) {
            glob.push('\\');
        }
        glob.push(c);
    }
    Ok(glob + "*")
}
