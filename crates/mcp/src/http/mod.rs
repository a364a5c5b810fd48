//! The server over HTTP: the Streamable HTTP transport of both eras, for one user and the programs that know the token.
//!
//! The library handles the protocol (sessions of the older era, event streams, headers). This module handles access
//! ([`auth`]); `emendate-http` handles connections, time limits, and an orderly shutdown.

mod auth;
mod batch;
mod listener;
#[cfg(test)]
mod tests;

use crate::server::McpServer;
use crate::{ServerOptions, runtime};
use auth::AuthLayer;
use emendate::core::Result;
use emendate::{CallContext, Engine};
use emendate_http::{ConnectionLimits, listen_failed, stop_signals};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

pub(crate) use auth::{disconnected, session};
pub use emendate_http::AccessToken as BearerToken;
pub use listener::HttpListener;

/// Limits for clients.
#[derive(Clone, Copy)]
pub(crate) struct HttpLimits {
    /// Time for a request's head, and between two requests.
    head: Duration,
    /// Time for a request's body.
    body: Duration,
    /// Time for the client to take a part of an answer.
    write_timeout: Duration,
    /// Connections without a valid token so far. One more closes the oldest of them, so that slow clients cannot keep
    /// others out.
    unauthenticated_connections: usize,
    /// Authenticated connections.
    connections: usize,
    /// Sessions of the older era.
    sessions: usize,
    /// Idle time after which a session of the older era ends.
    session_idle: Duration,
    /// Bytes of a request's body.
    bytes: usize,
    /// Time for calls to finish during shutdown.
    finish: Duration,
}

impl Default for HttpLimits {
    fn default() -> HttpLimits {
        let minute = Duration::from_secs(60);
        HttpLimits {
            head: minute / 2,
            body: minute,
            write_timeout: minute,
            unauthenticated_connections: 64,
            connections: 256,
            sessions: 256,
            session_idle: 60 * minute,
            bytes: emendate::INPUT_BYTES_MAX,
            finish: minute,
        }
    }
}

impl HttpLimits {
    /// The limits of connections.
    fn connections(self) -> ConnectionLimits {
        ConnectionLimits {
            head: self.head,
            write_timeout: self.write_timeout,
            unauthenticated_connections: self.unauthenticated_connections,
            finish: self.finish,
        }
    }
}

/// Serves on a listener until SIGTERM or SIGINT. Calls in progress are finished; a second signal cancels those that
/// have not begun to write.
///
/// Errors: the sockets or signals cannot be used.
pub fn serve_http(
    engine: impl Into<Arc<Engine>>,
    caller: CallContext,
    options: ServerOptions,
    listener: HttpListener,
) -> Result<()> {
    let runtime = runtime().map_err(|error| listen_failed(&error))?;
    runtime.block_on(async {
        let stopped = stop_signals().map_err(|error| listen_failed(&error))?;
        let server = McpServer::new(engine, caller, options);
        server.tell_notices();
        listen(server, listener, HttpLimits::default(), stopped).await.map_err(|error| listen_failed(&error))
    })
    // Dropping the runtime stops abandoned calls and finishes those that write.
}

/// Accepts connections until a message arrives on `stop`, and then drains the others.
async fn listen(
    server: McpServer,
    listener: HttpListener,
    limits: HttpLimits,
    stop: mpsc::Receiver<()>,
) -> std::io::Result<()> {
    let auth_layer = Arc::new(AuthLayer::new(server, listener.token, listener.names, limits));
    emendate_http::listen(auth_layer, listener.bound.listener, stop).await
}
