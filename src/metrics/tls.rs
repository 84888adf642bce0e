//! The one TLS provider of the program.

/// Makes *ring* the process's TLS provider. Idempotent; must run before the first TLS client is built, because
/// the HTTP client is compiled without a provider of its own.
pub fn install_tls_provider() {
    // The error only says that one is installed already: by an earlier call, and there is only one kind.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
