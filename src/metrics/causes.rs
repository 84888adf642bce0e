//! What is behind an error of the HTTP client.

use std::{error::Error, io};

use rustls::CertificateError;

use super::http::MAX_WORDS;
use crate::model::text::harmless;

/// The errors behind an error, the outermost first. What an [`io::Error`] wraps is behind it too.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> Vec<&'a (dyn Error + 'static)> {
    let mut out = vec![error];
    let mut next = Some(error);
    while let Some(current) = next {
        let inner = current.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => current.source(),
        };
        out.extend(next);
        if out.len() > 32 {
            break;
        }
    }
    out
}

/// The innermost error's words.
pub(super) fn root_cause(error: &(dyn Error + 'static)) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}

/// What is wrong with the server's certificate, if that is behind the error.
pub(super) fn certificate_problem(error: &(dyn Error + 'static)) -> Option<String> {
    let tls = chain(error)
        .into_iter()
        .find_map(|e| e.downcast_ref::<rustls::Error>())?;
    let rustls::Error::InvalidCertificate(problem) = tls else {
        return None;
    };
    Some(match problem {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "signed by an authority that is not known here".to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired".to_owned(),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for another host name".to_owned()
        }
        other => harmless(&other.to_string(), MAX_WORDS),
    })
}
