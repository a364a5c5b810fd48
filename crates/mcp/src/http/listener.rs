//! The HTTP listener and its access rules.

use emendate::core::{Code, Error, Result};
use emendate_http::{AccessToken, AllowedNames, BoundListener};

/// A bound socket, with the token and the names that are accepted.
pub struct HttpListener {
    pub(super) bound: BoundListener,
    pub(super) token: AccessToken,
    pub(super) names: AllowedNames,
}

impl HttpListener {
    /// Binds an address: `PORT` or `:PORT` on this machine only, or `HOST:PORT`. Port 0 is any free one. `token` is the
    /// required token, or a generator for one; `hosts` are further names of this machine, `origins` those of web pages
    /// that are allowed.
    ///
    /// Errors: `call.invalid` for an invalid address, name or origin, and for an address that other machines can access
    /// without a chosen token; `io.failed` if it cannot be bound.
    pub fn open(
        address: &str,
        token: Option<AccessToken>,
        hosts: &[String],
        origins: &[String],
    ) -> Result<(HttpListener, Option<String>)> {
        let bound = BoundListener::bind(address)?;
        let (token, made) = match token {
            Some(token) => (token, None),
            None if bound.is_local() => {
                let (token, text) = AccessToken::random()?;
                (token, Some(text))
            }
            None => {
                return Err(Error::new(
                    Code::CallInvalid,
                    format!("Other machines can connect to {}.", bound.address),
                )
                .next("Give a token in EMEND_HTTP_TOKEN or by --http-token-file, or give only a port to serve this machine alone."));
            }
        };
        let names = AllowedNames::new(&bound, hosts, origins)?;
        Ok((HttpListener { bound, token, names }, made))
    }

    /// The URL for clients.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.bound.url_address(), super::auth::MCP_PATH)
    }
}

#[cfg(test)]
mod tests {
    use super::HttpListener;
    use emendate_http::AccessToken;

    #[test]
    fn other_addresses_need_a_token() {
        let token = || Some(AccessToken::new("0123456789abcdef").unwrap());
        let (listener, made) = HttpListener::open("0", None, &[], &[]).unwrap();
        assert!(made.is_some() && listener.url().starts_with("http://127.0.0.1:"), "{}", listener.url());
        assert!(HttpListener::open("127.0.0.1:0", token(), &[], &[]).unwrap().1.is_none());
        let error = HttpListener::open("0.0.0.0:0", None, &[], &[]).err().unwrap();
        assert!(error.message().contains("Other machines can connect"), "{error}");
        assert!(HttpListener::open("0.0.0.0:0", token(), &[], &[]).is_ok());
    }
}
