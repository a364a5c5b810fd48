//! Requests of the system or of a person that this process ends.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{emulate_default_handler, pipe};
use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

/// Calls `callback` when this process is asked to end, with true if Ctrl-C is the reason; the process ends if `callback`
/// returns true. Ctrl-C counts as such a request only if `interrupts` is true.
pub fn on_termination(interrupts: bool, callback: impl Fn(bool) -> bool + Clone + Send + 'static) {
    for signal in [SIGTERM, SIGHUP].into_iter().chain(interrupts.then_some(SIGINT)) {
        let Ok((mut received, sender)) = UnixStream::pair() else { continue };
        // If the signal cannot be handled, it ends this process without calling `callback`.
        if pipe::register(signal, sender).is_err() {
            continue;
        }
        let callback = callback.clone();
        drop(thread::Builder::new().spawn(move || {
            while received.read_exact(&mut [0]).is_ok() {
                if callback(signal == SIGINT) {
                    let _ = emulate_default_handler(signal);
                }
            }
        }));
    }
}

/// Calls `call` on every SIGTERM and SIGINT, which no longer end the process.
///
/// Errors: those of the system.
pub fn on_stop(call: impl Fn() + Clone + Send + 'static) -> io::Result<()> {
    for signal in [SIGTERM, SIGINT] {
        let (mut received, sender) = UnixStream::pair()?;
        pipe::register(signal, sender)?;
        let call = call.clone();
        thread::Builder::new().name("emend-stop".to_owned()).spawn(move || {
            while received.read_exact(&mut [0]).is_ok() {
                call();
            }
        })?;
    }
    Ok(())
}

/// Ends the process on Ctrl-C if the flag is set, with the usual exit status.
///
/// Errors: those of the system.
pub fn end_on_interrupt_if(flag: &Arc<AtomicBool>) -> io::Result<()> {
    signal_hook::flag::register_conditional_shutdown(SIGINT, 130, Arc::clone(flag)).map(drop)
}

/// Sets the flag on Ctrl-C.
///
/// Errors: those of the system.
pub fn set_on_interrupt(flag: &Arc<AtomicBool>) -> io::Result<()> {
    signal_hook::flag::register(SIGINT, Arc::clone(flag)).map(drop)
}
