//! Long-running calls at a terminal: a progress bar, and Ctrl-C.

use emendate::{CallContext, CallHandle, CallPhase, Progress, Reply};
use emendate_os::ending;
use std::io::{IsTerminal as _, Write as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Interval at which the bar is redrawn, and delay before it first appears.
const REDRAW_INTERVAL: Duration = Duration::from_millis(150);
/// Characters of the bar.
const BAR_COLUMNS: usize = 30;

/// Makes the call. Ctrl-C cancels it before anything is written; the second one ends the process, whose unfinished
/// write is then recovered by the next one.
pub(crate) fn with_progress(caller: CallContext, call: impl FnOnce(&CallContext) -> Reply) -> Reply {
    let handle = CallHandle::default();
    // Without a handler, Ctrl-C has its usual effect.
    let _ =
        ending::end_on_interrupt_if(&handle.stop_flag()).and_then(|()| ending::set_on_interrupt(&handle.stop_flag()));
    let caller = CallContext { handle: Some(handle.clone()), ..caller };
    if !std::io::stderr().is_terminal() {
        return call(&caller);
    }
    let (done, ended) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || draw(&handle, &ended));
        let reply = call(&caller);
        drop(done);
        reply
    })
}

fn draw(handle: &CallHandle, ended: &Receiver<()>) {
    let mut drawn = false;
    while ended.recv_timeout(REDRAW_INTERVAL) == Err(RecvTimeoutError::Timeout) {
        // A failure to draw the bar is no reason to fail the call.
        let _ = write!(std::io::stderr(), "\r{}\x1b[K", line(handle.progress()));
        drawn = true;
    }
    if drawn {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
}

fn line(Progress { step, done, of, .. }: Progress) -> String {
    let (what, bar) = match step {
        CallPhase::Listing => return format!("listing: {done} files"),
        CallPhase::Reading => ("reading", true),
        CallPhase::Writing => ("writing", false),
    };
    if !bar || of == 0 {
        return format!("{what}: {of} files");
    }
    let full = BAR_COLUMNS * done.min(of) / of;
    format!("{what} [{}{}] {done}/{of}", "#".repeat(full), " ".repeat(BAR_COLUMNS - full))
}

#[cfg(test)]
mod tests {
    use super::{CallPhase, Progress, line};

    #[test]
    fn bar_shows_the_progress() {
        let at = |step, done, of| line(Progress { step, done, of, before: 0 });
        assert_eq!(at(CallPhase::Listing, 7, 0), "listing: 7 files");
        assert_eq!(at(CallPhase::Reading, 15, 30), format!("reading [{}{}] 15/30", "#".repeat(15), " ".repeat(15)));
        assert_eq!(at(CallPhase::Writing, 0, 4), "writing: 4 files");
    }
}
