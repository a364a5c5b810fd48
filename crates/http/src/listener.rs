//! The listening socket, and the host names and origins that are accepted.

use emendate_core::{Code, Error, Result};
use hyper::Uri;
use hyper::http::uri::Authority;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

/// A bound socket.
pub struct BoundListener {
    /// The socket, which does not block.
    pub listener: TcpListener,
    /// The address and port of the socket.
    pub address: SocketAddr,
    /// The host of the requested address, if it has one.
    pub host: Option<String>,
}

impl BoundListener {
    /// Binds an address: `PORT` or `:PORT` on this machine only, or `HOST:PORT`. Port 0 is any free one.
    ///
    /// Errors: `call.invalid` for an invalid address; `io.failed` if it cannot be bound.
    pub fn bind(address: &str) -> Result<BoundListener> {
        let short = address.strip_prefix(':').unwrap_or(address);
        let (listener, host) = if let Ok(port) = short.parse::<u16>() {
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
        let bound = listener.local_addr().map_err(|error| listen_failure(address, &error))?;
        Ok(BoundListener { listener, address: bound, host })
    }

    /// True if only this machine can connect.
    pub fn is_local(&self) -> bool {
        self.address.ip().is_loopback()
    }

    /// The address in URLs for this machine.
    pub fn url_address(&self) -> SocketAddr {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        address
    }
}

/// Returns the error of an address that cannot be listened on.
fn listen_failure(address: &str, error: &std::io::Error) -> Error {
    Error::new(Code::IoFailed, format!("{address} cannot be listened on: {error}."))
        .next("Give another port, or end the program that uses this one.")
}

/// The accepted host names and origins. A page of a hostile site whose name was made to resolve to this machine (DNS
/// rebinding) uses that name, and sends its origin.
pub struct AllowedNames {
    /// Only this machine can access the server.
    local: bool,
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl AllowedNames {
    /// Returns the names of a socket, and further names of this machine; `origins` are those of web pages that are
    /// allowed.
    ///
    /// Errors: `call.invalid` for a name or an origin that no client can send, because it would be allowed in vain.
    pub fn new(bound: &BoundListener, hosts: &[String], origins: &[String]) -> Result<AllowedNames> {
        if let Some(host) = hosts.iter().find(|host| !is_host_name(host)) {
            return Err(Error::new(Code::CallInvalid, format!("`{host}` is not the name of a host."))
                .next("Give the name alone, without a scheme or a port, e.g. devbox.example."));
        }
        if let Some(origin) = origins.iter().find(|origin| !is_origin(origin)) {
            return Err(Error::new(Code::CallInvalid, format!("`{origin}` is not the origin of a web page.")).next(
                "Give scheme, host and any port alone, without a path or a slash at the end, e.g. https://app.example.",
            ));
        }
        let hosts = bound.host.iter().chain(hosts).map(|host| host.to_ascii_lowercase()).collect();
        Ok(AllowedNames { local: bound.is_local(), hosts, origins: origins.to_vec() })
    }

    /// True for a valid `Host`: an IP address, `localhost` on this machine, or a configured name. Ports may differ, as
    /// they do behind a tunnel.
    pub fn has_host(&self, authority: &str) -> bool {
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
    pub fn has_origin(&self, origin: &[u8]) -> bool {
        self.origins.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(origin))
    }
}

/// True for a name as a `Host` header has it before its port.
fn is_host_name(host: &str) -> bool {
    host.parse::<Authority>().is_ok_and(|authority| authority.host() == host && !host.starts_with('['))
}

/// True for an origin as browsers send it: a scheme, a host and any port.
fn is_origin(origin: &str) -> bool {
    let Ok(uri) = origin.parse::<Uri>() else { return false };
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else { return false };
    let sent = format!("{scheme}://{authority}");
    !authority.as_str().contains('@') && sent.eq_ignore_ascii_case(origin)
}

#[cfg(test)]
mod tests {
    use super::{AllowedNames, BoundListener, is_host_name, is_origin};

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
    fn names_that_nobody_sends_are_refused() {
        let bound = BoundListener::bind("0").unwrap();
        let open = |hosts: &[&str], origins: &[&str]| {
            let owned = |names: &[&str]| names.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
            AllowedNames::new(&bound, &owned(hosts), &owned(origins)).map(|_| ())
        };
        for origin in ["https://app.example", "http://LocalHost:3000", "vscode-webview://0a1b", "http://[::1]:80"] {
            assert!(is_origin(origin) && open(&[], &[origin]).is_ok(), "{origin}");
        }
        for origin in
            ["", "junk", "null", "*", "app.example", "https://app.example/", "https://me@app.example", "https://"]
        {
            assert!(open(&["devbox"], &[origin]).is_err(), "{origin}");
        }
        assert!(is_host_name("devbox.example") && is_host_name("Dev_Box"));
        for host in ["", "devbox:80", "http://devbox", "me@devbox", "dev box", "devbox/"] {
            assert!(open(&[host], &[]).is_err(), "{host}");
        }
    }

    #[test]
    fn bare_port_means_localhost() {
        for local in ["0", ":0", "127.0.0.1:0"] {
            assert!(BoundListener::bind(local).unwrap().is_local(), "{local}");
        }
        assert!(!BoundListener::bind("0.0.0.0:0").unwrap().is_local());
        for wrong in ["", "no", "localhost", "70000", "localhost:", "127.0.0.1:x"] {
            assert!(BoundListener::bind(wrong).is_err(), "{wrong}");
        }
    }
}
