//! Model Context Protocol server over the Emendate engine.
//!
//! A translator: it turns the rows of a [`Profile`] into MCP tools and replies into MCP results, and decides nothing
//! about edits. Both eras of the protocol are served by one process, without any state that belongs to a connection:
//! 2026-07-28 (`server/discover`, metadata in every request) and 2025-11-25 and older (`initialize`).
//!
//! What a client can rely on:
//!
//! - A failed edit is a result with `isError: true` whose text says what to send instead. Protocol errors are for
//!   faults of the protocol only: -32700 a line that is not JSON, -32600 one that is not a message, -32601 an unknown
//!   method, -32602 an unknown tool or parameters of the wrong shape.
//! - Machine data is in the result's `_meta` under [`DATA_KEY`], where models do not pay for it.
//! - The calls of one session that change something take effect in the order in which they arrived, and a call that
//!   reads sees all of them that arrived before it, unless they take longer than five seconds.
//! - No line of input ends or blocks the server; the end of input does, after the calls in flight are done.

mod approval;
mod batches;
mod client_info;
#[cfg(feature = "http")]
mod http;
mod id_scan;
mod list;
mod message;
mod person;
mod progress;
mod queues;
mod resources;
mod result;
mod server;
#[cfg(test)]
mod tests;
mod wire;

use emendate::core::{Code, Error, Result};
use emendate::{CallContext, Engine, INPUT_BYTES_MAX, Profile};
use rmcp::service::{RoleServer, serve_directly};
use rmcp::transport::stdio_pipes;
use server::McpServer;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Runtime;
use wire::Wire;

pub use client_info::{MODEL_KEY, ORIGINAL_KEY};
#[cfg(feature = "http")]
pub use http::{BearerToken, HttpListener, serve_http};
pub use result::DATA_KEY;

/// Concurrent calls that may change files. More gain nothing, because they wait for the disk.
const CONCURRENT_CHANGES_MAX: usize = 6;
/// Concurrent calls that may read even while every change is waiting for something.
const CONCURRENT_READS_MAX: usize = 4;
/// Threads for standard input and output, which need one each if they are not pipes.
const STREAM_THREADS: usize = 2;

/// Returns the session of the client's conversation, which may change between two calls; `None` if it is unknown.
pub type SessionSource = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// The presentation of the server.
#[derive(Clone)]
pub struct ServerOptions {
    /// The offered tools with their names.
    pub profile: &'static Profile,
    /// Adds structured content to text results.
    pub structured: bool,
    /// The client's conversation; for one client over standard input and output only.
    pub session: Option<SessionSource>,
}

/// Serves on standard input and output until the input ends.
///
/// Errors: the streams cannot be used.
pub fn serve(engine: impl Into<Arc<Engine>>, caller: CallContext, options: ServerOptions) -> Result<()> {
    runtime()
        .map_err(|error| {
            Error::new(Code::IoFailed, format!("The MCP server cannot start: {error}."))
                .next("Start it with standard input and output connected to an MCP client.")
        })?
        .block_on(async {
            let (input, output) = stdio_pipes();
            serve_stream(McpServer::new(engine, caller, options), input, output).await
        })
    // Dropping the runtime waits for calls in progress: none is ever interrupted.
}

/// Creates the runtime. One thread handles the protocol; calls run on the others, so that no file delays a message.
fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(CONCURRENT_CHANGES_MAX + CONCURRENT_READS_MAX + STREAM_THREADS)
        .thread_name("emend-call")
        .build()
}

/// Serves the protocol over a pair of streams until the input ends.
async fn serve_stream<R, W>(server: McpServer, input: R, output: W) -> Result<()>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    server.tell_notices();
    let wire = Wire::new(input, output, INPUT_BYTES_MAX);
    // Not `serve`: that waits for a first message of one era, refuses unknown methods before it with another code, and
    // ends the process if a notification comes first. Every request is self-contained.
    let running = serve_directly::<RoleServer, _, _, _, _>(server, wire, None);
    match running.waiting().await {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::new(Code::InternalBug, format!("The MCP server failed: {error}."))),
    }
}
