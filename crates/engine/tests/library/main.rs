//! The engine through its library API: tests that scenes cannot express.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests play the outside world"
)]

mod approval;
mod big;
#[cfg(unix)]
mod causes;
mod driven;
mod ended;
mod fixture;
mod formatters;
#[cfg(unix)]
mod guarded;
mod hashline;
mod hashline_cases;
mod hashline_profile;
mod hooks;
mod hunks;
mod in_memory;
#[cfg(unix)]
mod limits;
mod many_hands;
mod marks;
mod model;
mod outside;
mod paging;
mod patches;
#[cfg(feature = "pdf")]
mod pdf;
mod remarks;
mod remedies;
mod replace;
mod replies;
mod rewinds;
mod schedules;
mod schemas;
mod servers;
mod snapshots;
mod steps;
#[cfg(unix)]
mod tree_changes;
mod turns;
mod typed_advice;
mod undo;
#[cfg(unix)]
mod undo_everything;
#[cfg(unix)]
mod walked;
mod watched;
#[cfg(windows)]
mod windows;
