//! Whom we trust, and how we show who we are.

use std::{net::SocketAddr, path::Path, sync::Arc};

use axum::{Router, routing::post};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{RootCertStore, ServerConfig, server::WebPkiClientVerifier};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::serving::{environment, prometheus, time};
use crate::metrics::{MetricsError, Probe, Source, tls::install_tls_provider};
use crate::model::{
    environment::{ClientCert, MetricsSource, Prometheus},
    secret::Secrets,
};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::new(vec![]).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate for a name, signed by the authority: PEM and DER of certificate and key.
struct Signed {
    cert: rcgen::Certificate,
    key: KeyPair,
}

fn signed(by: &Authority, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Signed {
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    let cert = params.signed_by(&key, by).unwrap();
    Signed { cert, key }
}

struct TlsListener {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        loop {
            let (stream, address) = self.tcp.accept().await.unwrap();
            // A client that does not trust us hangs up; the next one may.
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.tcp.local_addr()
    }
}

/// A server with this certificate, that wants clients signed by `clients`, if given.
async fn serving(own: &Signed, clients: Option<&Authority>) -> u16 {
    install_tls_provider();
    let chain = vec![CertificateDer::from(own.cert.der().to_vec())];
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(own.key.serialize_der()));
    let builder = match clients {
        None => ServerConfig::builder().with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from(authority.der().to_vec())).unwrap();
            let verifier = WebPkiClientVerifier::builder(Arc::new(roots)).build().unwrap();
            ServerConfig::builder().with_client_cert_verifier(verifier)
        }
    };
    let config = builder.with_single_cert(chain, key).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = tcp.local_addr().unwrap().port();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let router = Router::new().route("/api/v1/query", post(async || time(2_000.0)));
    tokio::spawn(async move { axum::serve(TlsListener { tcp, acceptor }, router).await.unwrap() });
    port
}

fn write(dir: &TempDir, name: &str, text: &str) -> String {
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    Path::to_str(&path).unwrap().to_owned()
}

async fn probed(port: u16, change: impl FnOnce(&mut Prometheus)) -> Result<Probe, MetricsError> {
    let mut config = prometheus(&format!("https://localhost:{port}"));
    change(&mut config);
    Source::open(&environment(MetricsSource::Prometheus(config)), &Secrets::none())?
        .probe()
        .await
}

#[tokio::test]
async fn the_configured_authority_is_trusted_and_no_other() {
    let ours = authority("ours");
    let port = serving(&signed(&ours, "localhost", |_| {}), None).await;
    let dir = tempfile::tempdir().unwrap();
    let our_file = write(&dir, "ours.pem", &ours.pem());
    assert!(probed(port, |c| c.ca_file = Some(our_file)).await.is_ok());
    // One with another name, and one that only calls itself the same.
    for name in ["theirs", "ours"] {
        let file = write(&dir, "other.pem", &authority(name).pem());
        let error = probed(port, |c| c.ca_file = Some(file)).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "certificate not trusted: signed by an authority that is not known here (localhost:{port}); \
                 name the authority's PEM file as `ca_file`"
            )
        );
    }
}

#[tokio::test]
async fn another_name_and_an_expired_certificate_are_told_apart() {
    let ours = authority("ours");
    let dir = tempfile::tempdir().unwrap();
    let file = write(&dir, "ca.pem", &ours.pem());
    let expire = |params: &mut CertificateParams| params.not_after = rcgen::date_time_ymd(2001, 1, 1);
    for (name, change, why) in [
        (
            "elsewhere",
            (|_| {}) as fn(&mut CertificateParams),
            "it is for another host name",
        ),
        ("localhost", expire, "it has expired"),
    ] {
        let port = serving(&signed(&ours, name, change), None).await;
        let error = probed(port, |c| c.ca_file = Some(file.clone()))
            .await
            .unwrap_err();
        let MetricsError::Untrusted { why: told, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(told, why);
    }
}

#[tokio::test]
async fn a_server_that_wants_a_certificate_gets_ours() {
    let ours = authority("ours");
    let port = serving(&signed(&ours, "localhost", |_| {}), Some(&ours)).await;
    let dir = tempfile::tempdir().unwrap();
    let ca = write(&dir, "ca.pem", &ours.pem());
    let client = signed(&ours, "drill", |_| {});
    let pair = ClientCert {
        cert_file: write(&dir, "client.pem", &client.cert.pem()),
        key_file: write(&dir, "client.key", &client.key.serialize_pem()),
    };
    let with = probed(port, |c| {
        (c.ca_file, c.client_cert) = (Some(ca.clone()), Some(pair))
    })
    .await;
    assert!(with.is_ok(), "{with:?}");
    let without = probed(port, |c| c.ca_file = Some(ca)).await.unwrap_err();
    assert!(matches!(without, MetricsError::Unreachable { .. }), "{without}");
}

#[tokio::test]
async fn files_that_hold_no_pem_are_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let junk = write(&dir, "junk.pem", "not a certificate");
    let error = probed(1, |c| c.ca_file = Some(junk.clone())).await.unwrap_err();
    assert!(error.to_string().contains("junk.pem"), "{error}");
    let pair = ClientCert {
        cert_file: junk.clone(),
        key_file: junk,
    };
    let error = probed(1, |c| c.client_cert = Some(pair)).await.unwrap_err();
    assert!(error.to_string().contains("our certificate and key"), "{error}");
}
