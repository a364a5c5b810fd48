//! Detection of a client that is gone: nothing reads the answers of this process any more, so the calls in progress end
//! before they write.

use emendate::Engine;
use emendate_os::pipes;
use std::io;
use std::sync::atomic::Ordering;
use std::thread;

/// True if standard output is a pipe or socket that nothing will read any more.
pub(crate) fn is_stdout_unread() -> bool {
    pipes::is_unread(&io::stdout())
}

/// Watches standard output for the lifetime of the process. If it is not a pipe or socket, no event ever occurs.
pub(crate) fn watch_stdout(engine: &Engine) {
    let gone = engine.client_gone_flag();
    let thread = thread::Builder::new().name("emend-gone".to_owned());
    // Without the thread, a call ends when its answer cannot be written.
    drop(thread.spawn(move || {
        if pipes::wait_until_unread(&io::stdout()) {
            gone.store(true, Ordering::Relaxed);
        }
    }));
}
