//! The stream of events: a page learns that the history grew, and fetches itself again.

use emendate::Engine;
use emendate_http::HttpResponse;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes, Frame};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// Interval of keep-alive messages.
const PING_INTERVAL: Duration = Duration::from_secs(15);

/// The state of the history, as it is sent to pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HistoryState {
    /// The name of the newest operation; empty if there is none.
    pub(crate) newest: String,
    /// A text that changes with every operation and every question.
    pub(crate) key: String,
}

impl HistoryState {
    /// Reads the state. A page reads it before anything that it shows, so that it is never older than its key.
    pub(crate) fn read(engine: &Engine) -> HistoryState {
        let mut names = engine.review().newest_operations().unwrap_or_default();
        let newest = names.first().cloned().unwrap_or_default();
        let questions = engine.questions().pending().unwrap_or_default();
        names.extend(questions.iter().map(|question| format!("{} {}", question.id, question.state.name())));
        HistoryState { newest, key: names.join(",") }
    }

    /// Returns the message about this state.
    fn event(&self) -> Bytes {
        let data = serde_json::json!({ "newest": self.key });
        Bytes::from(format!("event: state\ndata: {data}\n\n"))
    }
}

/// A body of events.
struct EventBody(mpsc::Receiver<Bytes>);

impl Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|event| event.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// Returns a stream that ends with the client or the server.
pub(crate) fn stream(mut state: watch::Receiver<HistoryState>, mut closing: watch::Receiver<bool>) -> HttpResponse {
    let (events, body) = mpsc::channel(4);
    tokio::spawn(async move {
        loop {
            let event = state.borrow_and_update().event();
            if events.send(event).await.is_err() {
                return;
            }
            loop {
                tokio::select! {
                    changed = state.changed() => match changed {
                        Ok(()) => break,
                        Err(_) => return,
                    },
                    () = is_closing(&mut closing) => return,
                    () = events.closed() => return,
                    () = tokio::time::sleep(PING_INTERVAL) => {
                        if events.send(Bytes::from_static(b": here\n\n")).await.is_err() {
                            return;
                        }
                    }
                }
            }
        }
    });
    crate::respond::events(EventBody(body).boxed())
}

/// Waits until the server is closing.
pub(crate) async fn is_closing(closing: &mut watch::Receiver<bool>) {
    // The sender lives as long as the server.
    let _ = closing.wait_for(|closing| *closing).await;
}
