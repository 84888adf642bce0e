//! How allclear shows who it is, and whom it trusts.

use std::fs;

use reqwest::{
    Certificate, Identity, RequestBuilder,
    header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue},
};

use super::{
    causes::root_cause,
    error::MetricsError,
    http::{MAX_WORDS, build, plain_client},
};
use crate::model::{
    environment::{Auth, ClientCert, Prometheus, SecretRef},
    secret::{SecretText, Secrets},
    text::harmless,
};

pub(super) fn extra_headers(config: &Prometheus) -> Result<HeaderMap, MetricsError> {
    let mut out = HeaderMap::new();
    for (name, value) in &config.headers {
        let bad = |why: &str| MetricsError::BadHeader {
            name: harmless(name, 60),
            why: why.to_owned(),
        };
        let header = HeaderName::try_from(name.as_str()).map_err(|_| bad("not a header name"))?;
        if header == AUTHORIZATION && config.auth != Auth::None {
            return Err(bad("`auth` sets it already"));
        }
        let mut value = HeaderValue::try_from(value.as_str())
            .map_err(|_| bad("its value holds characters that no header may"))?;
        value.set_sensitive(true);
        out.insert(header, value);
    }
    Ok(out)
}

/// The `Authorization` header; the secrets in it are added to `own`, so that a server that echoes them is masked.
pub(super) fn authorization(
    auth: &Auth,
    secrets: &Secrets,
    own: &mut Secrets,
) -> Result<Option<HeaderValue>, MetricsError> {
    let mut look_up = |place: &SecretRef| {
        let text = secrets
            .get(place)
            .cloned()
            .ok_or_else(|| MetricsError::NoSecret {
                place: match place {
                    SecretRef::Env(name) => format!("environment variable {name}"),
                    SecretRef::File(path) => format!("file {path}"),
                },
            })?;
        own.insert(place.clone(), text.clone());
        Ok(text)
    };
    // The client library knows how to write these headers; a request that is never sent lends them.
    let draft = match auth {
        Auth::None => return Ok(None),
        Auth::Basic { user, password } => {
            let password = look_up(password)?;
            draft_request()?.basic_auth(user, Some(password.reveal()))
        }
        Auth::Bearer { token } => draft_request()?.bearer_auth(look_up(token)?.reveal()),
    };
    let bad = || MetricsError::BadHeader {
        name: AUTHORIZATION.to_string(),
        why: "the secret holds characters that no header may".to_owned(),
    };
    let request = draft.build().map_err(|_| bad())?;
    let value = request.headers().get(AUTHORIZATION).cloned().ok_or_else(bad)?;
    if let Some(encoded) = value.to_str().ok().and_then(|v| v.split_once(' ')) {
        let place = SecretRef::Env("Authorization".to_owned());
        own.insert(place, SecretText::new(encoded.1));
    }
    Ok(Some(value))
}

fn draft_request() -> Result<RequestBuilder, MetricsError> {
    let client = build(plain_client().tls_certs_only([]))?;
    Ok(client.get("http://localhost/"))
}

fn read_file(what: &'static str, file: &str) -> Result<Vec<u8>, MetricsError> {
    fs::read(file).map_err(|e| bad_file(what, file, e.to_string()))
}

fn bad_file(what: &'static str, file: &str, why: String) -> MetricsError {
    MetricsError::BadFile {
        what,
        file: harmless(file, 120),
        why: harmless(&why, MAX_WORDS),
    }
}

pub(super) fn authorities(file: &str) -> Result<Vec<Certificate>, MetricsError> {
    let what = "the authority's certificate";
    let pem = read_file(what, file)?;
    let found = Certificate::from_pem_bundle(&pem).map_err(|e| bad_file(what, file, root_cause(&e)))?;
    match found.is_empty() {
        true => Err(bad_file(what, file, "there is no certificate in it".to_owned())),
        false => Ok(found),
    }
}

pub(super) fn identity(own: &ClientCert) -> Result<Identity, MetricsError> {
    let mut pem = read_file("our certificate", &own.cert_file)?;
    pem.push(b'\n');
    pem.extend(read_file("our key", &own.key_file)?);
    Identity::from_pem(&pem).map_err(|e| bad_file("our certificate and key", &own.key_file, root_cause(&e)))
}
