//! Which certificates count.

use crate::settings::Settings;
use std::sync::Arc;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// Those of the file that the user names, else those that the system trusts.
///
/// Errors: a file that cannot be read or holds none, as part of a sentence.
pub(crate) fn config(settings: &Settings) -> Result<TlsConfig, String> {
    let roots = match &settings.certificate {
        None => {
            let found = rustls_native_certs::load_native_certs().certs;
            let certificates: Vec<_> = found.iter().map(|it| Certificate::from_der(it).to_owned()).collect();
            RootCerts::new_with_certs(&certificates)
        }
        Some(file) => {
            let told = |why: &str| format!("the certificates of {file} cannot be used: {why}");
            let text = std::fs::read(file).map_err(|error| told(&error.to_string()))?;
            let items = parse_pem(&text).filter_map(|item| match item {
                Ok(PemItem::Certificate(certificate)) => Some(certificate),
                _ => None,
            });
            let certificates: Vec<_> = items.collect();
            if certificates.is_empty() {
                return Err(told("there is none in it"));
            }
            RootCerts::new_with_certs(&certificates)
        }
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder().root_certs(roots).unversioned_rustls_crypto_provider(provider).build())
}
