//! The server over HTTP: the Streamable HTTP transport of both eras, for one user and the programs that know the token.
//!
//! The library handles the protocol (sessions of the older era, event streams, headers). This module handles access
//! ([`gate`]), time limits, and an orderly shutdown.

mod auth;
mod listener;
#[cfg(test)]
mod tests;
mod timeout_stream;
mod token;

use crate::server::McpServer;
use crate::{ServerOptions, runtime};
use auth::{AuthLayer, HttpConnection};
use emendate::core::{Code, Error, Result};
use emendate::{CallContext, Engine};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use timeout_stream::TimeoutStream;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

pub(crate) use auth::{disconnected, session};
pub use listener::HttpListener;
pub use token::BearerToken;

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

/// Time for the last bytes of answers, once everything else has ended.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
/// Delay after a failure to accept a connection (no free file descriptors, for example).
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Serves on a listener until SIGTERM or SIGINT. Calls in progress are finished; a second signal cancels those that
/// have not begun to write.
///
/// Errors: the sockets or signals cannot be used.
pub fn serve_http(engine: Engine, caller: CallContext, options: ServerOptions, door: HttpListener) -> Result<()> {
    let runtime = runtime().map_err(|error| failed(&error))?;
    runtime.block_on(async {
        let (stop, stopped) = mpsc::channel(2);
        for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
            tokio::spawn(forward(signal(kind).map_err(|error| failed(&error))?, stop.clone()));
        }
        let server = McpServer::new(engine, caller, options);
        server.tell_notices();
        listen(server, door, HttpLimits::default(), stopped).await.map_err(|error| failed(&error))
    })
    // Dropping the runtime stops abandoned calls and finishes those that write.
}

fn failed(error: &std::io::Error) -> Error {
    Error::new(Code::IoFailed, format!("The MCP server cannot listen: {error}.")).next("Try another address.")
}

async fn forward(mut signal: Signal, stop: mpsc::Sender<()>) {
    while signal.recv().await.is_some() {
        // More than two signals have no further effect.
        let _ = stop.try_send(());
    }
}

/// Accepts connections until told to stop, and then drains the others.
async fn listen(
    server: McpServer,
    door: HttpListener,
    limits: HttpLimits,
    mut stop: mpsc::Receiver<()>,
) -> std::io::Result<()> {
    let listener = TcpListener::from_std(door.listener)?;
    let gate = Arc::new(AuthLayer::new(server.clone(), door.token, door.names, limits));
    let closing = watch::Sender::new(false);
    let mut connections = JoinSet::new();
    let mut strangers: VecDeque<(Arc<HttpConnection>, AbortHandle)> = VecDeque::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.recv() => break,
            Some(_) = connections.join_next() => continue,
        };
        let Ok((stream, _)) = stream else {
            tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        let guest = Arc::new(HttpConnection::default());
        let serving = serve(stream, Arc::clone(&gate), Arc::clone(&guest), closing.subscribe());
        let handle = connections.spawn(serving);
        strangers.retain(|(guest, handle)| !guest.is_known() && !handle.is_finished());
        strangers.push_back((guest, handle));
        if strangers.len() > limits.unauthenticated_connections
            && let Some((_, oldest)) = strangers.pop_front()
        {
            oldest.abort();
        }
    }
    drop(listener);
    closing.send_replace(true);
    gate.end_standing_streams();
    let served = async {
        server.idle().await;
        while connections.join_next().await.is_some() {}
    };
    let all_done = tokio::select! {
        () = served => true,
        () = tokio::time::sleep(limits.finish) => false,
        _ = stop.recv() => false,
    };
    if !all_done {
        gate.end_all_streams();
        let rest = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(FLUSH_TIMEOUT, rest).await;
    }
    Ok(())
}

/// Serves one connection, from its first byte to its last.
async fn serve(
    stream: TcpStream,
    gate: Arc<AuthLayer>,
    guest: Arc<HttpConnection>,
    mut closing: watch::Receiver<bool>,
) {
    // Answers are small and latency matters.
    let _ = stream.set_nodelay(true);
    let limits = gate.limits();
    let service = service_fn(move |request| {
        let (gate, guest) = (Arc::clone(&gate), Arc::clone(&guest));
        async move { Ok::<_, std::convert::Infallible>(gate.answer(request, &guest).await) }
    });
    // A client that closes its side is gone: that stops its calls.
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_headers(64)
        .max_buf_size(64 << 10)
        .half_close(false)
        .serve_connection(TokioIo::new(TimeoutStream::new(stream, limits.write_timeout)), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // Whatever the error, the connection is over.
        _ = connection.as_mut() => return,
        _ = closing.wait_for(|closing| *closing) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
