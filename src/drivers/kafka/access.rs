//! How a broker is reached: TLS and login, with the secrets looked up.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use crate::{
    drivers::{Drivers, error::DriverError},
    model::{
        environment::{Kafka, KafkaSasl, KafkaTls},
        secret::{SecretText, Secrets},
        text::harmless,
    },
};

use super::scram::Hash;

/// TLS and login of a cluster.
#[derive(Debug, Clone)]
pub(super) struct Access {
    pub(super) tls: Option<Arc<ClientConfig>>,
    pub(super) login: Option<Login>,
}

/// A user, a password, and how the password is shown to be known.
#[derive(Debug, Clone)]
pub(super) struct Login {
    pub(super) user: String,
    pub(super) password: SecretText,
    pub(super) by: By,
}

/// The mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Plain,
    Scram(Hash),
}

impl By {
    pub(super) fn mechanism(self) -> &'static str {
        match self {
            By::Plain => "PLAIN",
            By::Scram(hash) => hash.mechanism(),
        }
    }
}

impl Access {
    /// Reads the files and looks the password up.
    ///
    /// # Errors
    /// [`DriverError::Setup`] for a file, [`DriverError::NoSecret`] for the password.
    pub(super) fn new(what: &str, cluster: &Kafka, secrets: &Secrets) -> Result<Self, DriverError> {
        let login = cluster.sasl.as_ref().map(|sasl| {
            let (login, by) = match sasl {
                KafkaSasl::Plain(login) => (login, By::Plain),
                KafkaSasl::ScramSha256(login) => (login, By::Scram(Hash::Sha256)),
                KafkaSasl::ScramSha512(login) => (login, By::Scram(Hash::Sha512)),
            };
            Ok::<_, DriverError>(Login {
                user: login.user.clone(),
                password: Drivers::secret(secrets, &login.password, what)?.clone(),
                by,
            })
        });
        let tls = cluster.tls.as_ref().map(|tls| client_config(what, tls));
        Ok(Self {
            tls: tls.transpose()?.map(Arc::new),
            login: login.transpose()?,
        })
    }
}

fn client_config(what: &str, tls: &KafkaTls) -> Result<ClientConfig, DriverError> {
    let setup = |why: String| DriverError::Setup {
        what: what.to_owned(),
        why: harmless(&why, 300),
    };
    let mut roots = RootCertStore::empty();
    match &tls.ca_file {
        Some(file) => {
            for certificate in chain(file).map_err(setup)? {
                roots
                    .add(certificate)
                    .map_err(|e| setup(format!("{file}: {e}")))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        return Err(setup(
            "no certificate authority is known; name one as `tls: {ca: FILE}`".into(),
        ));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| setup(e.to_string()))?
        .with_root_certificates(roots);
    match &tls.client_cert {
        None => Ok(config.with_no_client_auth()),
        Some(own) => {
            let key = PrivateKeyDer::from_pem_file(&own.key_file)
                .map_err(|e| setup(format!("{}: {e}", own.key_file)))?;
            let own_chain = chain(&own.cert_file).map_err(setup)?;
            config
                .with_client_auth_cert(own_chain, key)
                .map_err(|e| setup(e.to_string()))
        }
    }
}

fn chain(file: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(file).map_err(|e| format!("{file}: {e}"))?;
    let found: Result<Vec<_>, _> = read.collect();
    match found {
        Ok(found) if found.is_empty() => Err(format!("{file}: there is no certificate in it")),
        Ok(found) => Ok(found),
        Err(e) => Err(format!("{file}: {e}")),
    }
}
