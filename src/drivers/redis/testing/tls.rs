//! Redis servers with TLS, and their certificates.

use std::{fs, path::Path};

use tempfile::TempDir;

use super::{RedisPart, named, redis_server};
use crate::{
    drivers::testing::nobody,
    model::environment::{ClientCert, Redis, RedisPlace, Tls},
};

/// A Redis that talks to clients with a certificate only; by another port, in plain, to the test.
pub struct TlsPart {
    pub plain: RedisPart,
    /// `localhost:port`.
    pub address: String,
    certificates: Certificates,
}

pub async fn tls_server() -> TlsPart {
    let certificates = Certificates::new();
    let port = port().await;
    TlsPart {
        plain: redis_server(&certificates.options(&port)).await,
        address: format!("localhost:{port}"),
        certificates,
    }
}

impl TlsPart {
    /// How an environment names it.
    pub fn named(&self, ca: &str, client: bool) -> Redis {
        let mut redis = named(RedisPlace::Address(self.address.clone()));
        redis.tls = Some(self.certificates.named(ca, client));
        redis
    }
}

/// A port of nobody.
pub(super) async fn port() -> String {
    nobody().await.rsplit_once(':').unwrap().1.to_owned()
}

/// Two authorities; a server's and a client's certificate of the first. They are good for `localhost`, and for no address in
/// numbers.
pub struct Certificates {
    folder: TempDir,
    files: [String; 3],
}

impl Certificates {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        issue(folder.path());
        let files = ["ca.pem", "server.pem", "server.key"];
        let files = files.map(|name| folder.path().join(name).to_string_lossy().into_owned());
        Self { folder, files }
    }

    /// What makes a server talk TLS at this port, to clients with a certificate only, and with other servers.
    pub(super) fn options<'a>(&'a self, port: &'a str) -> [&'a str; 12] {
        let [ca, cert, key] = &self.files;
        [
            "--tls-port",
            port,
            "--tls-ca-cert-file",
            ca,
            "--tls-cert-file",
            cert,
            "--tls-key-file",
            key,
            "--tls-auth-clients",
            "yes",
            "--tls-replication",
            "yes",
        ]
    }

    /// How an environment names them.
    pub(super) fn named(&self, ca: &str, client: bool) -> Tls {
        let file = |name: &str| self.folder.path().join(name).to_string_lossy().into_owned();
        Tls {
            ca_file: Some(file(ca)),
            client_cert: client.then(|| ClientCert {
                cert_file: file("client.pem"),
                key_file: file("client.key"),
            }),
        }
    }
}

fn issue(folder: &Path) {
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
