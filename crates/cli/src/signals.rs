//! Signal handling: when this process is terminated, the programs that it started end too, because language servers run
//! as long as it does.

use crate::pager;
use emendate::Engine;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{emulate_default_handler, pipe};
use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::thread;

/// Watches for signals, if the configuration has language servers. `interrupts` tells whether to handle Ctrl-C: where
/// it only cancels a call, other code handles it.
pub(crate) fn end_programs_on_signal(engine: &Engine, interrupts: bool) {
    if engine.config().language_servers().next().is_none() {
        return;
    }
    for signal in [SIGTERM, SIGHUP].into_iter().chain(interrupts.then_some(SIGINT)) {
        let Ok((mut told, teller)) = UnixStream::pair() else { continue };
        // If the signal cannot be handled, it ends this process alone, and servers see the end of their input.
        if pipe::register(signal, teller).is_err() {
            continue;
        }
        let end = move || {
            while told.read_exact(&mut [0]).is_ok() {
                if signal == SIGINT && pager::is_showing() {
                    continue;
                }
                emendate::end_programs();
                let _ = emulate_default_handler(signal);
            }
        };
        drop(thread::Builder::new().spawn(end));
    }
}
