//! The review page: what agents, editors and shells changed, in the browser of the person who owns the files.
//!
//! A front end: it renders the results of the engine, and turns buttons into calls. It makes no decisions about edits.
//! Pages are complete HTML that can be read, and used by forms, without scripts; a small script adds keys, live updates
//! and answers without a new page.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a server over a socket: it counts attempts by the clock, and keeps the last visit in a file of its own"
)]

mod access;
mod action;
mod assets;
mod html;
mod keep;
mod live;
mod pages;
mod request;
mod respond;
mod server;
mod state;
#[cfg(test)]
mod tests;
mod ticks;
mod view;
mod visits;

use emendate::core::Result;
use emendate::{CallContext, Engine};
use emendate_http::{AccessToken, BoundListener, listen_failed, stop_signals};
use server::ReviewService;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc;

/// The presentation of the page.
#[derive(Clone, Debug, Default)]
pub struct ReviewOptions {
    /// Nothing can be changed through the page.
    pub read_only: bool,
    /// Further host names of this machine.
    pub hosts: Vec<String>,
    /// The file with the counters of calls, for the charts.
    pub counters: Option<PathBuf>,
    /// The file in which the time of the last visit is kept.
    pub visits: Option<PathBuf>,
    /// The file in which the ticks of viewed files and hunks are kept.
    pub ticks: Option<PathBuf>,
}

/// A bound socket with the token that opens the page.
pub struct ReviewListener {
    bound: BoundListener,
    token: AccessToken,
    secret: String,
}

impl ReviewListener {
    /// Binds an address: a port on this machine, 0 for any free one, or `HOST:PORT`.
    ///
    /// Errors: `call.invalid` for an invalid address; `io.failed` if it cannot be bound.
    pub fn open(address: &str) -> Result<ReviewListener> {
        let bound = BoundListener::bind(address)?;
        let (token, secret) = AccessToken::random()?;
        Ok(ReviewListener { bound, token, secret })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.bound.address.port()
    }

    /// The address of the page without the token.
    pub fn url(&self) -> String {
        format!("http://{}/", self.bound.url_address())
    }

    /// The address that opens the page: the token is in the fragment, which browsers do not send.
    pub fn login_url(&self) -> String {
        format!("{}login#{}", self.url(), self.secret)
    }
}

/// Serves the page until SIGTERM or SIGINT.
///
/// Errors: the socket or signals cannot be used.
pub fn serve_review(
    engine: Arc<Engine>,
    caller: CallContext,
    options: ReviewOptions,
    listener: ReviewListener,
) -> Result<()> {
    let runtime = runtime().map_err(|error| listen_failed(&error))?;
    runtime.block_on(async {
        let stop = stop_signals().map_err(|error| listen_failed(&error))?;
        run_review(engine, caller, options, listener, stop).await.map_err(|error| listen_failed(&error))
    })
}

/// The page on a thread of its own, beside another server of the same process.
pub struct ReviewThread {
    stop: mpsc::Sender<()>,
    thread: std::thread::JoinHandle<()>,
}

impl ReviewThread {
    /// Starts to serve the page.
    ///
    /// Errors: no thread can be started.
    pub fn start(
        engine: Arc<Engine>,
        caller: CallContext,
        options: ReviewOptions,
        listener: ReviewListener,
    ) -> Result<ReviewThread> {
        let (stop, stopped) = mpsc::channel(1);
        let runtime = runtime().map_err(|error| listen_failed(&error))?;
        let thread = std::thread::Builder::new().name("emend-review".to_owned()).spawn(move || {
            // The other server continues if this one fails.
            let _ = runtime.block_on(run_review(engine, caller, options, listener, stopped));
        });
        Ok(ReviewThread { stop, thread: thread.map_err(|error| listen_failed(&error))? })
    }

    /// Ends the page; running calls are finished.
    pub fn stop(self) {
        let _ = self.stop.blocking_send(());
        let _ = self.thread.join();
    }
}

/// Creates the runtime: one thread for requests, others for calls of the engine.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(server::CONCURRENT_CALLS_MAX + 2)
        .thread_name("emend-review")
        .build()
}

/// Serves the page in a runtime until a message arrives on `stop`.
///
/// Errors: the socket cannot be used; a host name of the options is invalid.
pub async fn run_review(
    engine: Arc<Engine>,
    caller: CallContext,
    options: ReviewOptions,
    listener: ReviewListener,
    stop: mpsc::Receiver<()>,
) -> std::io::Result<()> {
    let ReviewListener { bound, token, .. } = listener;
    let service =
        ReviewService::new(engine, caller, options, &bound, token).map(Arc::new).map_err(std::io::Error::other)?;
    service.watch_history();
    emendate_http::listen(service, bound.listener, stop).await
}
