//! Requests of the system or of a person that this process ends: Ctrl-C, and the end of the console or the session.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use windows_sys::Win32::System::Console::CTRL_C_EVENT;

use super::win32;

/// The exit status after Ctrl-C.
const INTERRUPTED: i32 = 130;

type Call = Box<dyn Fn() + Send>;
type EndCall = Box<dyn Fn(bool) -> bool + Send>;

/// Functions to call before the process ends, each with whether it also handles Ctrl-C.
static TERMINATION_CALLBACKS: Mutex<Vec<(bool, EndCall)>> = Mutex::new(Vec::new());
/// Functions to call instead of ending the process.
static STOP_CALLBACKS: Mutex<Vec<Call>> = Mutex::new(Vec::new());
/// Flags that end the process, and flags that are set, on Ctrl-C.
static ENDING_FLAGS: Mutex<Vec<Arc<AtomicBool>>> = Mutex::new(Vec::new());
static SET_FLAGS: Mutex<Vec<Arc<AtomicBool>>> = Mutex::new(Vec::new());

fn register() -> io::Result<()> {
    Ok(win32::on_console_event(|event| {
        let interrupt = event == CTRL_C_EVENT;
        let stops = STOP_CALLBACKS.lock().unwrap_or_else(PoisonError::into_inner);
        if !stops.is_empty() {
            stops.iter().for_each(|call| call());
            return true;
        }
        if interrupt {
            let ending = ENDING_FLAGS.lock().unwrap_or_else(PoisonError::into_inner);
            if ending.iter().any(|flag| flag.load(Ordering::Relaxed)) {
                std::process::exit(INTERRUPTED);
            }
            let set = SET_FLAGS.lock().unwrap_or_else(PoisonError::into_inner);
            set.iter().for_each(|flag| flag.store(true, Ordering::Relaxed));
            if !set.is_empty() {
                return true;
            }
        }
        let calls = TERMINATION_CALLBACKS.lock().unwrap_or_else(PoisonError::into_inner);
        // All are called, even if one does not let the process end.
        calls
            .iter()
            .filter(|(interrupts, _)| !interrupt || *interrupts)
            .fold(false, |stays, (_, call)| !call(interrupt) || stays)
    })?)
}

/// Calls `callback` when this process is asked to end, with true if Ctrl-C is the reason; the process ends if `callback`
/// returns true. Ctrl-C counts as such a request only if `interrupts` is true.
pub fn on_termination(interrupts: bool, callback: impl Fn(bool) -> bool + Clone + Send + 'static) {
    TERMINATION_CALLBACKS.lock().unwrap_or_else(PoisonError::into_inner).push((interrupts, Box::new(callback)));
    // If requests cannot be handled, they end this process without calling `callback`.
    let _ = register();
}

/// Calls `call` on every Ctrl-C and when the session ends; Ctrl-C no longer ends the process.
///
/// Errors: those of the system.
pub fn on_stop(call: impl Fn() + Clone + Send + 'static) -> io::Result<()> {
    STOP_CALLBACKS.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(call));
    register()
}

/// Ends the process on Ctrl-C if the flag is set, with the usual exit status.
///
/// Errors: those of the system.
pub fn end_on_interrupt_if(flag: &Arc<AtomicBool>) -> io::Result<()> {
    ENDING_FLAGS.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(flag));
    register()
}

/// Sets the flag on Ctrl-C.
///
/// Errors: those of the system.
pub fn set_on_interrupt(flag: &Arc<AtomicBool>) -> io::Result<()> {
    SET_FLAGS.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(flag));
    register()
}
