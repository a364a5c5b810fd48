//! Detection of a client that is gone: nothing reads the answers of this process any more, so the calls in progress end
//! before they write.

use emendate::Engine;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::sync::atomic::Ordering;
use std::thread;

/// True if standard output is a pipe or socket that nothing will read any more.
pub(crate) fn is_stdout_unread() -> bool {
    let output = io::stdout();
    let mut pipe = [PollFd::new(&output, PollFlags::empty())];
    poll(&mut pipe, Some(&Timespec::default())).is_ok() && pipe[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// Watches standard output for the lifetime of the process. If it is not a pipe or socket, no event ever occurs.
pub(crate) fn watch_stdout(engine: &Engine) {
    let gone = engine.client_gone_flag();
    let wait = move || {
        let output = io::stdout();
        // Without requested events, only an error or a hang-up ends the wait.
        let mut pipe = [PollFd::new(&output, PollFlags::empty())];
        while poll(&mut pipe, None) == Err(Errno::INTR) {}
        if pipe[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) {
            gone.store(true, Ordering::Relaxed);
        }
    };
    // Without the thread, a call ends when its answer cannot be written.
    drop(thread::Builder::new().name("emend-gone".to_owned()).spawn(wait));
}
