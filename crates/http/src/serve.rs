//! Connections: accepting, bounding and draining them.

use crate::body::HttpResponse;
use crate::timeout_stream::TimeoutStream;
use emendate_core::{Code, Error};
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::net::TcpListener as StdListener;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

/// Time for the last bytes of answers, once everything else has ended.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
/// Delay after a failure to accept a connection (no free file descriptors, for example).
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Limits of connections.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Time for a request's head, and between two requests.
    pub head: Duration,
    /// Time for the client to take a part of an answer.
    pub write_timeout: Duration,
    /// Connections that have not shown a valid token so far. One more closes the oldest of them, so that slow clients
    /// cannot keep others out.
    pub unauthenticated_connections: usize,
    /// Time for calls to finish during shutdown.
    pub finish: Duration,
}

/// Authentication state of a connection; acquires an authenticated-connection permit when a valid token arrives.
#[derive(Default)]
pub struct HttpConnection(OnceLock<OwnedSemaphorePermit>);

impl HttpConnection {
    /// True once the connection has shown a valid token.
    pub fn is_known(&self) -> bool {
        self.0.get().is_some()
    }

    /// Takes one of the places for authenticated connections. False if there is none.
    pub fn admit(&self, permits: &Arc<Semaphore>) -> bool {
        if self.is_known() {
            return true;
        }
        let Ok(place) = Arc::clone(permits).try_acquire_owned() else { return false };
        // Requests of one connection are sequential, so there is no race.
        let _ = self.0.set(place);
        true
    }
}

/// Answers the requests of all connections.
pub trait HttpService: Send + Sync + 'static {
    /// The limits of its connections.
    fn limits(&self) -> ConnectionLimits;

    /// Answers a request.
    fn answer(
        &self,
        request: Request<Incoming>,
        connection: &HttpConnection,
    ) -> impl Future<Output = HttpResponse> + Send;

    /// Ends the streams that last as long as their clients want; the shutdown begins.
    fn end_standing_streams(&self);

    /// Ends all streams: the time of the shutdown is over.
    fn end_all_streams(&self) {}

    /// Waits until no call is in progress.
    fn idle(&self) -> impl Future<Output = ()> + Send;
}

/// Returns the error of a socket or a signal that cannot be used.
pub fn listen_failed(error: &io::Error) -> Error {
    Error::new(Code::IoFailed, format!("The server cannot listen: {error}.")).next("Try another address.")
}

/// Returns a channel that receives a message for each request to end: Ctrl-C, and SIGTERM.
///
/// Errors: signals cannot be handled.
pub fn stop_signals() -> io::Result<mpsc::Receiver<()>> {
    let (stop, stopped) = mpsc::channel(2);
    // More than two signals have no further effect.
    emendate_os::ending::on_stop(move || {
        let _ = stop.try_send(());
    })?;
    Ok(stopped)
}

/// Accepts connections until a message arrives on `stop`, and then drains the others.
///
/// Errors: the socket cannot be used.
pub async fn listen<S: HttpService>(
    service: Arc<S>,
    listener: StdListener,
    mut stop: mpsc::Receiver<()>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let limits = service.limits();
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
        let serving = serve(stream, Arc::clone(&service), Arc::clone(&guest), closing.subscribe());
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
    service.end_standing_streams();
    let served = async {
        service.idle().await;
        while connections.join_next().await.is_some() {}
    };
    let all_done = tokio::select! {
        () = served => true,
        () = tokio::time::sleep(limits.finish) => false,
        _ = stop.recv() => false,
    };
    if !all_done {
        service.end_all_streams();
        let rest = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(FLUSH_TIMEOUT, rest).await;
    }
    Ok(())
}

/// Serves one connection, from its first byte to its last.
async fn serve<S: HttpService>(
    stream: TcpStream,
    service: Arc<S>,
    guest: Arc<HttpConnection>,
    mut closing: watch::Receiver<bool>,
) {
    // Answers are small and latency matters.
    let _ = stream.set_nodelay(true);
    let limits = service.limits();
    let answering = service_fn(move |request| {
        let (service, guest) = (Arc::clone(&service), Arc::clone(&guest));
        async move { Ok::<_, std::convert::Infallible>(service.answer(request, &guest).await) }
    });
    // A client that closes its side is gone: that stops its calls.
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_headers(64)
        .max_buf_size(64 << 10)
        .half_close(false)
        .serve_connection(TokioIo::new(TimeoutStream::new(stream, limits.write_timeout)), answering);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // Whatever the error, the connection is over.
        _ = connection.as_mut() => return,
        _ = closing.wait_for(|closing| *closing) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
