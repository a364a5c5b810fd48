//! The addresses of collectors: what can be one, and how it is shown.

use std::net::IpAddr;

/// Errors: why it cannot be an address, as part of a sentence.
pub(crate) fn check(url: &str) -> Result<(), &'static str> {
    let Some((scheme, rest)) = url.split_once("://") else { return Err("the address does not begin with http://") };
    if rest.is_empty() || rest.starts_with(['/', '?', '#']) {
        return Err("the address names no machine");
    }
    if url.chars().any(|char| char.is_control() || char == ' ') {
        return Err("the address is none");
    }
    match &*scheme.to_ascii_lowercase() {
        "http" => Ok(()),
        "https" if cfg!(feature = "tls") => Ok(()),
        "https" => Err("this build has no https"),
        _ => Err("the address does not begin with http://"),
    }
}

/// True for this machine, to which no proxy leads.
pub(crate) fn is_local(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest).split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let number = name.trim_matches(['[', ']']).parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || number.is_ok_and(|number| number.is_loopback())
}

/// An address without what may be secret in it: the user's name and password, and what stands behind a `?`.
pub(crate) fn shown(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return "an address that is none".to_owned() };
    let (host, path) = rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
    let host = host.rsplit('@').next().unwrap_or_default();
    let path = path.map_or(String::new(), |path| format!("/{path}"));
    format!("{scheme}://{host}{path}").chars().filter(|char| !char.is_control()).take(200).collect()
}
