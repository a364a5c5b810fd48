//! A client that is gone: nobody reads what this process would answer, so the calls under way end before they write.

use emendate::Engine;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::io;
use std::sync::atomic::Ordering;
use std::thread;

/// Watches standard output for as long as the process lives. Where it is no pipe or socket, nothing ever happens there.
pub(crate) fn watch(engine: &Engine) {
    let gone = engine.gone();
    let wait = move || {
        let output = io::stdout();
        // Without events to wait for, only an error or a hang-up ends the wait.
        let mut pipe = [PollFd::new(&output, PollFlags::empty())];
        while poll(&mut pipe, None) == Err(Errno::INTR) {}
        if pipe[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) {
            gone.store(true, Ordering::Relaxed);
        }
    };
    // Without the thread, a call ends where its answer cannot be written.
    drop(thread::Builder::new().name("emend-gone".to_owned()).spawn(wait));
}
