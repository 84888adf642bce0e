//! A Redis with TLS, and its certificates.

use std::{fs, path::Path};

use super::{RedisPart, at, named};
use crate::{
    drivers::testing::nobody,
    model::environment::{ClientCert, Redis, RedisPlace, Tls},
};

/// A Redis that talks to clients with a certificate only; by another port, in plain, to the test.
pub struct TlsPart {
    pub plain: RedisPart,
    /// `localhost:port`.
    pub address: String,
}

pub async fn tls_server() -> TlsPart {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let file = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (ca, cert, key) = (file("ca.pem"), file("server.pem"), file("server.key"));
    let address = nobody().await;
    let port = address.rsplit_once(':').unwrap().1;
    let options = [
        "--tls-port",
        port,
        "--tls-ca-cert-file",
        &ca,
        "--tls-cert-file",
        &cert,
        "--tls-key-file",
        &key,
        "--tls-auth-clients",
        "yes",
    ];
    let plain = at(nobody().await, folder, &options).await;
    TlsPart {
        plain,
        address: format!("localhost:{port}"),
    }
}

impl TlsPart {
    pub fn file(&self, name: &str) -> String {
        let folder = self.plain.part.as_ref().unwrap().folder();
        folder.join(name).to_string_lossy().into_owned()
    }

    /// How an environment names it.
    pub fn named(&self, ca: &str, client: bool) -> Redis {
        let mut redis = named(RedisPlace::Address(self.address.clone()));
        redis.tls = Some(Tls {
            ca_file: Some(self.file(ca)),
            client_cert: client.then(|| ClientCert {
                cert_file: self.file("client.pem"),
                key_file: self.file("client.key"),
            }),
        });
        redis
    }
}

/// Two authorities; a server's and a client's certificate of the first.
fn certificates(folder: &Path) {
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
    let write = |name: &str, text: String| fs::write(folder.join(name), text).unwrap();
    let named = |name: &str| {
        let mut params = CertificateParams::new(vec!["localhost".into()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params
    };
    let authority = |name: &str| {
        let mut params = named(name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        write(&format!("{name}.pem"), issuer.pem());
        issuer
    };
    let ours = authority("ca");
    authority("other");
    for name in ["server", "client"] {
        let key = KeyPair::generate().unwrap();
        write(
            &format!("{name}.pem"),
            named(name).signed_by(&key, &ours).unwrap().pem(),
        );
        write(&format!("{name}.key"), key.serialize_pem());
    }
}
