//! The HTTP listener that the servers share: `emend mcp --http` and `emend review`.
//!
//! It binds the socket, bounds connections, heads, bodies and pauses, and shuts down in an orderly way. Each
//! [`HttpService`] decides who is admitted; the checks that both need are here: [`AllowedNames`] and [`AccessToken`].
#![allow(clippy::disallowed_types, reason = "a server over a socket")]

mod body;
mod listener;
mod serve;
mod timeout_stream;
mod token;

pub use body::{BodyReader, HttpRefusal, HttpResponse, refused, text_body};
pub use listener::{AllowedNames, BoundListener};
pub use serve::{ConnectionLimits, HttpConnection, HttpService, listen, listen_failed, stop_signals};
pub use token::{AccessToken, random_text};
