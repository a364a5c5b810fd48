//! Bodies of requests and refusals.

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Bytes above which only a few bodies are read at a time.
const LARGE_BODY_BYTES: u64 = 1 << 20;
/// Maximum number of large bodies that are read at a time.
const LARGE_BODIES_MAX: usize = 4;

/// A response.
pub type HttpResponse = Response<BoxBody<Bytes, Infallible>>;

/// The response to a refused request.
pub struct HttpRefusal(pub Box<HttpResponse>);

/// Returns the body of a response.
pub fn text_body(text: impl Into<Bytes>) -> BoxBody<Bytes, Infallible> {
    Full::new(text.into()).boxed()
}

/// Refuses in plain text and closes the connection, so that the rest of the request need not be read.
pub fn refused(status: StatusCode, words: &str) -> HttpRefusal {
    let mut answer = Response::new(text_body(format!("{words}\n")));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    HttpRefusal(Box::new(answer))
}

/// Reads bodies within limits of size and time.
pub struct BodyReader {
    bytes: usize,
    time: Duration,
    large: Semaphore,
}

impl BodyReader {
    /// Creates a reader of bodies with at most `bytes`, which have to arrive within `time`.
    pub fn new(bytes: usize, time: Duration) -> BodyReader {
        BodyReader { bytes, time, large: Semaphore::new(LARGE_BODIES_MAX) }
    }

    /// Reads the whole body of a request.
    ///
    /// Errors: a refusal of a body that is too large or too slow, or ends early.
    pub async fn read(&self, body: Incoming) -> Result<Bytes, HttpRefusal> {
        let most = self.bytes;
        let size = body.size_hint();
        if size.lower() > most as u64 {
            return Err(too_large(most));
        }
        let read = async {
            let _place = if size.upper().is_none_or(|upper| upper > LARGE_BODY_BYTES) {
                self.large.acquire().await.ok()
            } else {
                None
            };
            Limited::new(body, most).collect().await
        };
        match tokio::time::timeout(self.time, read).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(most)),
            Ok(Err(_)) => Err(refused(StatusCode::BAD_REQUEST, "The request ended early.")),
            Err(_) => Err(refused(StatusCode::REQUEST_TIMEOUT, "The request took too long.")),
        }
    }
}

/// Refuses a request of too many bytes.
fn too_large(most: usize) -> HttpRefusal {
    refused(StatusCode::PAYLOAD_TOO_LARGE, &format!("A request has at most {most} bytes."))
}
