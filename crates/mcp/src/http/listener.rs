//! The HTTP listener and its access rules.

use super::BearerToken;
use emendate::core::{Code, Error, Result};
use hyper::http::uri::Authority;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

/// A bound socket, with the token and the names that are accepted.
pub struct HttpListener {
    pub(super) listener: TcpListener,
    pub(super) token: BearerToken,
    pub(super) names: AllowedNames,
    pub(super) address: SocketAddr,
}

impl HttpListener {
    /// Binds an address: `PORT` or `:PORT` on this machine only, or `HOST:PORT`. Port 0 is any free one. `token` is the
    /// required token, or a generator for one; `hosts` are further names of this machine, `origins` those of web pages
    /// that are allowed.
    ///
    /// Errors: `call.invalid` for an invalid address, and for one that other machines can access without a chosen
    /// token; `io.failed` if it cannot be bound.
    pub fn open(
        address: &str,
        token: Option<BearerToken>,
        hosts: &[String],
        origins: &[String],
    ) -> Result<(HttpListener, Option<String>)> {
        let short = address.strip_prefix(':').unwrap_or(address);
        let (listener, name) = if let Ok(port) = short.parse::<u16>() {
            (TcpListener::bind((Ipv4Addr::LOCALHOST, port)), None)
        } else {
            let host = address.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
            let Some((host, _)) = host.filter(|(host, _)| !host.is_empty()) else {
                return Err(Error::new(Code::CallInvalid, format!("`{address}` is neither a port nor HOST:PORT."))
                    .next("Give e.g. 8931, or 192.0.2.7:8931."));
            };
            (TcpListener::bind(address), Some(host.to_owned()))
        };
        let listener = listener.map_err(|error| listen_failure(address, &error))?;
        listener.set_nonblocking(true).map_err(|error| listen_failure(address, &error))?;
        let address = listener.local_addr().map_err(|error| listen_failure(address, &error))?;
        let local = address.ip().is_loopback();
        let (token, made) = match token {
            Some(token) => (token, None),
            None if local => {
                let (token, text) = BearerToken::random()?;
                (token, Some(text))
            }
            None => {
                return Err(Error::new(Code::CallInvalid, format!("Other machines can connect to {address}."))
                    .next("Give a token in EMEND_HTTP_TOKEN or by --http-token-file, or give only a port to serve this machine alone."));
            }
        };
        let hosts = name.into_iter().chain(hosts.iter().cloned()).map(|host| host.to_ascii_lowercase()).collect();
        let names = AllowedNames { local, hosts, origins: origins.to_vec() };
        Ok((HttpListener { listener, token, names, address }, made))
    }

    /// The URL for clients.
    pub fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        format!("http://{address}{}", super::auth::MCP_PATH)
    }
}

/// Returns the error of an address that cannot be listened on.
fn listen_failure(address: &str, error: &std::io::Error) -> Error {
    Error::new(Code::IoFailed, format!("{address} cannot be listened on: {error}."))
        .next("Give another port, or end the program that uses this one.")
}

/// The accepted host names and origins. A page of a hostile site whose name was made to resolve to this machine (DNS
/// rebinding) uses that name, and sends its origin.
pub(super) struct AllowedNames {
    /// Only this machine can access it.
    local: bool,
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl AllowedNames {
    /// True for a valid `Host`: an IP address, `localhost` on this machine, or a configured name. Ports may differ, as
    /// they do behind a tunnel.
    pub(super) fn has_host(&self, authority: &str) -> bool {
        let Ok(authority) = authority.parse::<Authority>() else { return false };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        if authority.as_str().contains('@') {
            return false;
        }
        match host.parse::<IpAddr>() {
            Ok(ip) => !self.local || ip.is_loopback(),
            Err(_) => (self.local && host == "localhost") || self.hosts.contains(&host),
        }
    }

    /// True for a configured `Origin`. Programs send none; a web page has no access unless it is configured.
    pub(super) fn has_origin(&self, origin: &[u8]) -> bool {
        self.origins.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(origin))
    }
}

#[cfg(test)]
mod tests {
    use super::{AllowedNames, HttpListener};
    use crate::http::BearerToken;

    fn names(local: bool) -> AllowedNames {
        AllowedNames { local, hosts: vec!["devbox".to_owned()], origins: vec!["https://app.example".to_owned()] }
    }

    #[test]
    fn only_own_host_names_are_accepted() {
        let here = names(true);
        for ours in ["localhost", "LocalHost:8931", "127.0.0.1:1", "[::1]:8931", "127.8.8.8", "DevBox:80"] {
            assert!(here.has_host(ours), "{ours}");
        }
        for foreign in ["", "evil.example", "localhost.evil.example", "192.0.2.7", "me@localhost", "[::1", "local host"]
        {
            assert!(!here.has_host(foreign), "{foreign}");
        }
        let elsewhere = names(false);
        assert!(
            elsewhere.has_host("192.0.2.7:8931") && elsewhere.has_host("devbox") && !elsewhere.has_host("localhost")
        );
        assert!(here.has_origin(b"https://app.example") && !here.has_origin(b"https://app.example.evil"));
        assert!(!here.has_origin(b"null") && !here.has_origin(b"") && !here.has_origin(b"http://localhost:8931"));
    }

    #[test]
    fn bare_port_means_localhost_and_other_addresses_need_a_token() {
        let token = || Some(BearerToken::new("0123456789abcdef").unwrap());
        for local in ["0", ":0", "127.0.0.1:0"] {
            let (door, made) = HttpListener::open(local, None, &[], &[]).unwrap();
            assert!(made.is_some() && door.url().starts_with("http://127.0.0.1:"), "{}", door.url());
        }
        assert!(HttpListener::open("127.0.0.1:0", token(), &[], &[]).unwrap().1.is_none());
        let error = HttpListener::open("0.0.0.0:0", None, &[], &[]).err().unwrap();
        assert!(error.message().contains("Other machines can connect"), "{error}");
        assert!(HttpListener::open("0.0.0.0:0", token(), &[], &[]).is_ok());
        for wrong in ["", "no", "localhost", "70000", "localhost:", "127.0.0.1:x"] {
            assert!(HttpListener::open(wrong, token(), &[], &[]).is_err(), "{wrong}");
        }
    }
}
