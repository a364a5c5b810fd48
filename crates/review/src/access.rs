//! Access to the page: the token is exchanged for a cookie, and every request is checked.

use emendate_http::{AccessToken, AllowedNames, random_text};
use hyper::header::{COOKIE, HOST, HeaderMap, ORIGIN};
use hyper::http::request::Parts;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Number of wrong tokens within [`ATTEMPT_WINDOW`] after which none is accepted for a while.
const ATTEMPTS_MAX: usize = 10;
/// The time in which wrong tokens are counted.
const ATTEMPT_WINDOW: Duration = Duration::from_secs(60);
/// Maximum number of browsers that are logged in; another one ends the oldest login.
const LOGINS_MAX: usize = 64;

/// The state of access.
pub(crate) struct VisitorAccess {
    token: AccessToken,
    names: AllowedNames,
    cookie: String,
    logins: Mutex<Vec<blake3::Hash>>,
    attempts: Mutex<Vec<Instant>>,
}

/// A browser that is logged in.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    /// The text that forms have to send.
    pub(crate) csrf: String,
}

/// The reason why a token was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoginFailure {
    /// The token is wrong.
    Wrong,
    /// Too many tokens were wrong.
    TooMany,
    /// The system has no random numbers.
    Internal,
}

impl VisitorAccess {
    pub(crate) fn new(token: AccessToken, names: AllowedNames, port: u16) -> VisitorAccess {
        // Cookies ignore ports: without it, two servers of one machine would overwrite each other's.
        let cookie = format!("emend_{port}");
        VisitorAccess { token, names, cookie, logins: Mutex::default(), attempts: Mutex::default() }
    }

    /// Exchanges a token for the value of a `Set-Cookie` header.
    pub(crate) fn log_in(&self, token: &[u8]) -> Result<String, LoginFailure> {
        let mut attempts = lock(&self.attempts);
        attempts.retain(|at| at.elapsed() < ATTEMPT_WINDOW);
        if attempts.len() >= ATTEMPTS_MAX {
            return Err(LoginFailure::TooMany);
        }
        if !self.token.is(token.trim_ascii()) {
            attempts.push(Instant::now());
            return Err(LoginFailure::Wrong);
        }
        let secret = random_text().map_err(|_| LoginFailure::Internal)?;
        let mut logins = lock(&self.logins);
        if logins.len() >= LOGINS_MAX {
            logins.remove(0);
        }
        logins.push(blake3::hash(secret.as_bytes()));
        Ok(format!("{}={secret}; HttpOnly; SameSite=Strict; Path=/", self.cookie))
    }

    /// Returns the visitor whose cookie a request has.
    pub(crate) fn visitor(&self, headers: &HeaderMap) -> Option<Visitor> {
        let secret = cookie(headers, &self.cookie)?;
        let hash = blake3::hash(secret.as_bytes());
        // `blake3::Hash` compares in constant time.
        let is_known = lock(&self.logins).iter().filter(|it| **it == hash).count() > 0;
        is_known.then(|| Visitor { csrf: blake3::hash(format!("emend csrf {secret}").as_bytes()).to_hex().to_string() })
    }

    /// Checks where a request comes from: the host must be this machine's, and a page that sends it must be one of
    /// ours. If `is_entry` is true, a link from another site may lead here.
    ///
    /// Errors: the reason, for a person.
    pub(crate) fn check_source(&self, parts: &Parts, is_entry: bool) -> Result<(), &'static str> {
        let mut hosts = parts.headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        let named = parts.uri.authority().map(hyper::http::uri::Authority::as_str);
        let Some(host) = host.filter(|host| self.names.has_host(host)) else {
            return Err("This server does not answer to that host name.");
        };
        if hosts.next().is_some() || named.is_some_and(|named| named != host) {
            return Err("This server does not answer to that host name.");
        }
        let own = format!("http://{host}");
        let mut origins = parts.headers.get_all(ORIGIN).iter();
        if !origins.all(|origin| origin.as_bytes().eq_ignore_ascii_case(own.as_bytes())) {
            return Err("Requests of other pages are not answered.");
        }
        if parts.method != hyper::Method::GET && !parts.headers.contains_key(ORIGIN) {
            return Err("A change needs the header Origin, which browsers send.");
        }
        for site in parts.headers.get_all("sec-fetch-site") {
            let is_own = matches!(site.as_bytes(), b"same-origin" | b"none");
            let is_link = is_entry && parts.method == hyper::Method::GET;
            if !(is_own || is_link) {
                return Err("Requests of other pages are not answered.");
            }
        }
        Ok(())
    }
}

/// Returns the value of a cookie.
pub(crate) fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let all = headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok());
    let mut pairs = all.flat_map(|header| header.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}

impl Visitor {
    /// True for the text that forms of this visitor send; compared in constant time.
    pub(crate) fn sent(&self, csrf: &str) -> bool {
        blake3::hash(csrf.as_bytes()) == blake3::hash(self.csrf.as_bytes())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{ATTEMPTS_MAX, LoginFailure, VisitorAccess};
    use emendate_http::{AccessToken, AllowedNames, BoundListener};
    use hyper::header::{COOKIE, HeaderMap, HeaderValue};

    fn access() -> VisitorAccess {
        let bound = BoundListener::bind("0").unwrap();
        let token = AccessToken::new("0123456789abcdef").unwrap();
        VisitorAccess::new(token, AllowedNames::new(&bound, &[], &[]).unwrap(), 4711)
    }

    #[test]
    fn cookie_of_a_login_is_accepted_and_no_other() {
        let access = access();
        let set = access.log_in(b" 0123456789abcdef\n").unwrap();
        assert!(set.starts_with("emend_4711=") && set.ends_with("; HttpOnly; SameSite=Strict; Path=/"), "{set}");
        let mut headers = HeaderMap::new();
        let pair = set.split(';').next().unwrap();
        headers.insert(COOKIE, HeaderValue::from_str(&format!("a=b; {pair}")).unwrap());
        let visitor = access.visitor(&headers).unwrap();
        assert!(visitor.sent(&visitor.csrf.clone()) && !visitor.sent("") && !visitor.sent("x"));
        for wrong in ["emend_4711=", "emend_4711=x", "emend_1=x"] {
            headers.insert(COOKIE, HeaderValue::from_static(wrong));
            assert!(access.visitor(&headers).is_none(), "{wrong}");
        }
    }

    #[test]
    fn tokens_cannot_be_guessed() {
        let access = access();
        for _ in 0..ATTEMPTS_MAX {
            assert_eq!(access.log_in(b"0123456789abcdeX"), Err(LoginFailure::Wrong));
        }
        assert_eq!(access.log_in(b"0123456789abcdef"), Err(LoginFailure::TooMany));
    }
}
