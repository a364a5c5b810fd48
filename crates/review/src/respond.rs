//! Responses with the headers that every one of them has.

use emendate_http::{HttpResponse, text_body};
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, REFERRER_POLICY,
    SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};

/// The policy of pages: own scripts and styles only, nothing inline, no other host.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                           form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// The policy of images that come from files: even opened by themselves, they can do nothing.
const IMAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// Adds the headers of every response.
fn secured(mut response: HttpResponse, policy: &'static str) -> HttpResponse {
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, policy),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // With `no-referrer`, browsers send `Origin: null` with forms.
        (REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
        (HeaderName::from_static("x-frame-options"), "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

fn response(status: StatusCode, media_type: &'static str, body: impl Into<hyper::body::Bytes>) -> HttpResponse {
    let mut response = Response::new(text_body(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// Returns a page.
pub(crate) fn page(status: StatusCode, html: String) -> HttpResponse {
    secured(response(status, "text/html; charset=utf-8", html), PAGE_POLICY)
}

/// Returns JSON.
pub(crate) fn json(status: StatusCode, value: &serde_json::Value) -> HttpResponse {
    secured(response(status, "application/json", value.to_string()), PAGE_POLICY)
}

/// Returns a line of text.
pub(crate) fn plain(status: StatusCode, words: &str) -> HttpResponse {
    secured(response(status, "text/plain; charset=utf-8", format!("{words}\n")), PAGE_POLICY)
}

/// Returns a file of the program itself, which browsers may keep.
pub(crate) fn asset(media_type: &'static str, bytes: &'static [u8]) -> HttpResponse {
    let mut response = response(StatusCode::OK, media_type, bytes);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("private, max-age=31536000, immutable"));
    secured(response, PAGE_POLICY)
}

/// Returns an image of a file.
pub(crate) fn image(media_type: &'static str, bytes: Vec<u8>) -> HttpResponse {
    secured(response(StatusCode::OK, media_type, bytes), IMAGE_POLICY)
}

/// Leads to another page of this server.
pub(crate) fn redirect(to: &str, set_cookie: Option<&str>) -> HttpResponse {
    let mut response = plain(StatusCode::SEE_OTHER, "See there.");
    response.headers_mut().insert(LOCATION, HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static("/")));
    if let Some(cookie) = set_cookie.and_then(|cookie| HeaderValue::from_str(cookie).ok()) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// Returns a stream of events.
pub(crate) fn events(
    body: http_body_util::combinators::BoxBody<hyper::body::Bytes, std::convert::Infallible>,
) -> HttpResponse {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    secured(response, PAGE_POLICY)
}
