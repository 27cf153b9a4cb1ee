//! The settings of TLS: version 1.3 alone, the certificate of this machine, and tickets that resume sessions.

use std::error::Error;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::TLS13;

const CERTIFICATE: &str = "/run/tls/certificate.pem";
const KEY: &str = "/run/tls/key.pem";

/// Return the settings of a server.
///
/// # Errors
///
/// When the certificate or its key cannot be read, or do not belong together.
pub fn settings() -> Result<ServerConfig, Box<dyn Error>> {
    let certificates = CertificateDer::pem_file_iter(CERTIFICATE)?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(KEY)?;
    let mut settings = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(certificates, key)?;
    settings.ticketer = ring::Ticketer::new()?;
    Ok(settings)
}
