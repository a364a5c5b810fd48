//! Long-running calls at a terminal: a progress bar, and Ctrl-C.

use emendate::{Caller, Progress, Reply, Step, Watch};
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use std::io::{IsTerminal as _, Write as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Interval at which the bar is redrawn, and delay before it first appears.
const EVERY: Duration = Duration::from_millis(150);
/// Characters of the bar.
const WIDTH: usize = 30;

/// Makes the call. Ctrl-C cancels it before anything is written; the second one ends the process, whose unfinished
/// write is then recovered by the next one.
pub(crate) fn watched(caller: Caller, call: impl FnOnce(&Caller) -> Reply) -> Reply {
    let watch = Watch::default();
    // Without a handler, Ctrl-C has its usual effect.
    let _ = flag::register_conditional_shutdown(SIGINT, 130, watch.flag())
        .and_then(|_| flag::register(SIGINT, watch.flag()));
    let caller = Caller { watch: Some(watch.clone()), ..caller };
    if !std::io::stderr().is_terminal() {
        return call(&caller);
    }
    let (done, ended) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || draw(&watch, &ended));
        let reply = call(&caller);
        drop(done);
        reply
    })
}

fn draw(watch: &Watch, ended: &Receiver<()>) {
    let mut drawn = false;
    while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
        // A failure to draw the bar is no reason to fail the call.
        let _ = write!(std::io::stderr(), "\r{}\x1b[K", line(watch.progress()));
        drawn = true;
    }
    if drawn {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
}

fn line(Progress { step, done, of, .. }: Progress) -> String {
    let (what, bar) = match step {
        Step::Listing => return format!("listing: {done} files"),
        Step::Reading => ("reading", true),
        Step::Writing => ("writing", false),
    };
    if !bar || of == 0 {
        return format!("{what}: {of} files");
    }
    let full = WIDTH * done.min(of) / of;
    format!("{what} [{}{}] {done}/{of}", "#".repeat(full), " ".repeat(WIDTH - full))
}

#[cfg(test)]
mod tests {
    use super::{Progress, Step, line};

    #[test]
    fn the_bar_says_how_far_it_is() {
        let at = |step, done, of| line(Progress { step, done, of, before: 0 });
        assert_eq!(at(Step::Listing, 7, 0), "listing: 7 files");
        assert_eq!(at(Step::Reading, 15, 30), format!("reading [{}{}] 15/30", "#".repeat(15), " ".repeat(15)));
        assert_eq!(at(Step::Writing, 0, 4), "writing: 4 files");
    }
}
