//! The server over HTTP: the Streamable HTTP transport of both eras, for one user and the programs that know the token.
//!
//! The library handles the protocol (sessions of the older era, event streams, headers). This module handles access
//! ([`gate`]), time limits, and an orderly shutdown.

mod door;
mod gate;
mod patient;
#[cfg(test)]
mod tests;
mod token;

use crate::server::Server;
use crate::{Options, runtime};
use emendate::core::{Code, Error, Result};
use emendate::{Caller, Engine};
use gate::{Gate, Guest};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use patient::Patient;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

pub use door::Door;
pub(crate) use gate::session;
pub use token::Token;

/// Limits for clients.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Time for a request's head, and between two requests.
    head: Duration,
    /// Time for a request's body.
    body: Duration,
    /// Time for the client to take a part of an answer.
    patience: Duration,
    /// Connections without a valid token so far. One more closes the oldest of them, so that slow clients cannot keep
    /// others out.
    strangers: usize,
    /// Authenticated connections.
    guests: usize,
    /// Sessions of the older era.
    sessions: usize,
    /// Idle time after which a session of the older era ends.
    idle: Duration,
    /// Bytes of a request's body.
    bytes: usize,
    /// Time for calls to finish during shutdown.
    finish: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        let minute = Duration::from_secs(60);
        Limits {
            head: minute / 2,
            body: minute,
            patience: minute,
            strangers: 64,
            guests: 256,
            sessions: 256,
            idle: 60 * minute,
            bytes: emendate::MAX_INPUT,
            finish: minute,
        }
    }
}

/// Time for the last bytes of answers, once everything else has ended.
const LAST: Duration = Duration::from_secs(1);
/// Delay after a failure to accept a connection (no free file descriptors, for example).
const AGAIN: Duration = Duration::from_millis(100);

/// Serves on a listener until SIGTERM or SIGINT. Calls in progress are finished; a second signal cancels those that
/// have not begun to write.
///
/// Errors: the sockets or signals cannot be used.
pub fn serve_http(engine: Engine, caller: Caller, options: Options, door: Door) -> Result<()> {
    let runtime = runtime().map_err(|error| failed(&error))?;
    runtime.block_on(async {
        let (stop, stopped) = mpsc::channel(2);
        for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
            tokio::spawn(forward(signal(kind).map_err(|error| failed(&error))?, stop.clone()));
        }
        let server = Server::new(engine, caller, options);
        server.tell_notices();
        listen(server, door, Limits::default(), stopped).await.map_err(|error| failed(&error))
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
async fn listen(server: Server, door: Door, limits: Limits, mut stop: mpsc::Receiver<()>) -> std::io::Result<()> {
    let listener = TcpListener::from_std(door.listener)?;
    let gate = Arc::new(Gate::new(server.clone(), door.token, door.names, limits));
    let closing = watch::Sender::new(false);
    let mut connections = JoinSet::new();
    let mut strangers: VecDeque<(Arc<Guest>, AbortHandle)> = VecDeque::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.recv() => break,
            Some(_) = connections.join_next() => continue,
        };
        let Ok((stream, _)) = stream else {
            tokio::time::sleep(AGAIN).await;
            continue;
        };
        let guest = Arc::new(Guest::default());
        let serving = serve(stream, Arc::clone(&gate), Arc::clone(&guest), closing.subscribe());
        let handle = connections.spawn(serving);
        strangers.retain(|(guest, handle)| !guest.is_known() && !handle.is_finished());
        strangers.push_back((guest, handle));
        if strangers.len() > limits.strangers
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
        let _ = tokio::time::timeout(LAST, rest).await;
    }
    Ok(())
}

/// Serves one connection, from its first byte to its last.
async fn serve(stream: TcpStream, gate: Arc<Gate>, guest: Arc<Guest>, mut closing: watch::Receiver<bool>) {
    // Answers are small and latency matters.
    let _ = stream.set_nodelay(true);
    let limits = gate.limits();
    let service = service_fn(move |request| {
        let (gate, guest) = (Arc::clone(&gate), Arc::clone(&guest));
        async move { Ok::<_, std::convert::Infallible>(gate.answer(request, &guest).await) }
    });
    // A client that closes its side is gone: that cancels a call in the newer era.
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_headers(64)
        .max_buf_size(64 << 10)
        .half_close(false)
        .serve_connection(TokioIo::new(Patient::new(stream, limits.patience)), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // Whatever the error, the connection is over.
        _ = connection.as_mut() => return,
        _ = closing.wait_for(|closing| *closing) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
