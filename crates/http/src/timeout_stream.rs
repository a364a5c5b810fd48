//! A stream with a timeout for its client to receive data.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Fails a write that waits too long for the client: one that sends requests and never reads must not hold an answer
/// forever.
pub(crate) struct TimeoutStream<S> {
    stream: S,
    timeout: Duration,
    /// Set while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> TimeoutStream<S> {
    pub(crate) fn new(stream: S, timeout: Duration) -> TimeoutStream<S> {
        TimeoutStream { stream, timeout, waiting: None }
    }

    fn in_time<T>(&mut self, context: &mut Context<'_>, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.waiting = None;
            return done;
        }
        let patience = self.timeout;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(waiting.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimeoutStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.in_time(context, done)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.stream).poll_flush(context);
        self.in_time(context, done)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.stream).poll_shutdown(context);
        self.in_time(context, done)
    }
}

#[cfg(test)]
mod tests {
    use super::TimeoutStream;
    use std::io::ErrorKind;
    use std::time::Duration;
    use tokio::io::AsyncWriteExt as _;

    #[tokio::test]
    async fn reader_that_does_not_read_times_out() {
        let (ours, theirs) = tokio::io::duplex(16);
        let mut patient = TimeoutStream::new(ours, Duration::from_millis(1));
        patient.write_all(b"fits").await.unwrap();
        assert_eq!(patient.write_all(&[0; 100]).await.unwrap_err().kind(), ErrorKind::TimedOut);
        drop(theirs);
    }
}
