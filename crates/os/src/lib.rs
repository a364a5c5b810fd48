//! The operating system, as the other crates see it.
//!
//! All crates use the names of POSIX: descriptors, `openat`, `Errno`, modes. On Unix these are those of `rustix` and of
//! the standard library, without a layer in between. On Windows, modules of the same names are built on the calls of
//! its kernel, which are close: a name is opened relative to an open directory, links are not followed, a name is given
//! to another file in one step. Where Windows has something else (processes, consoles, locks of directories), both
//! systems implement a function of this crate that states the purpose.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the functions through which other crates touch files and start processes are here"
)]

#[cfg(unix)]
#[path = "unix/mod.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows/mod.rs"]
mod platform;

#[cfg(feature = "mimalloc")]
mod allocator;
mod memory;

#[cfg(feature = "mimalloc")]
pub use allocator::Mimalloc;
pub use memory::{return_free_memory, set_allocator_trim};
pub use platform::*;
