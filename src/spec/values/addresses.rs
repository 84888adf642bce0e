//! URLs, `host:port`, sockets.

use super::{Bad, quoted, texts::token};

/// An `http://` or `https://` URL, without user and password, with every one of `places` in it.
pub(in crate::spec) fn url(places: &'static [&'static str]) -> impl Fn(&str) -> Result<String, Bad> {
    move |text| {
        let url = token(text)?;
        let rest = url
            .strip_prefix("http://")
            .or_else(|| url.strip_prefix("https://"))
            .ok_or_else(|| {
                Bad::new(format!("{} is not a URL", quoted(text))).help("begin with `http://` or `https://`")
            })?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(with_password("a URL"));
        }
        if authority.is_empty() || url.contains(' ') {
            return Err(
                Bad::new(format!("{} is not a URL", quoted(text))).help("write `http://host:port/path`")
            );
        }
        match places.iter().find(|place| !url.contains(**place)) {
            Some(place) => Err(Bad::new(format!("the URL lacks `{place}`")).help(match *place {
                "{name}" => "`{name}` becomes the breaker's name",
                _ => "`{instance}` becomes host and port of each instance",
            })),
            None => Ok(url),
        }
    }
}

fn with_password(what: &str) -> Bad {
    Bad::new(format!("{what} with a user or a password in it"))
        .help("leave out what stands before the `@`; the environment's own keys say who asks; then change the password: it has been in a file")
        .secret()
}

/// `host:port`.
pub(in crate::spec) fn address(text: &str) -> Result<String, Bad> {
    let address = token(text)?;
    if address.contains('@') {
        return Err(with_password("an address"));
    }
    let not = || {
        Bad::new(format!("{} is not an address", quoted(text)))
            .help("write `host:port`, without `http://` and without a path")
    };
    let (host, port) = address.rsplit_once(':').ok_or_else(not)?;
    let bracketed = host.starts_with('[') && host.ends_with(']');
    let host_is_fine =
        !host.is_empty() && !host.contains(['/', ' ', '@', '?', '#']) && (bracketed || !host.contains(':'));
    match port.parse::<u16>() {
        Ok(1..) if host_is_fine => Ok(address),
        _ => Err(not()),
    }
}

/// `host:port`, or the path of a unix socket.
pub(in crate::spec) fn socket(text: &str) -> Result<String, Bad> {
    if text.starts_with('/') {
        token(text)
    } else {
        address(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port_and_nothing_else() {
        for text in ["order:8080", "[::1]:80", "10.0.0.1:65535"] {
            assert!(address(text).is_ok(), "{text}");
        }
        for text in [
            "order",
            "http://order:80",
            "order:0",
            "order:70000",
            ":80",
            "::1:80",
            "a b:80",
            "u@h:80",
        ] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
