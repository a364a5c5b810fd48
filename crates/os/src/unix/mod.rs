//! Unix: the names of `rustix` and of the standard library.

pub mod descriptors;
pub mod ending;
pub mod files;
mod network;
#[cfg(target_os = "linux")]
mod notifications;
#[cfg(not(target_os = "linux"))]
#[path = "../no_notifications.rs"]
mod notifications;
pub mod paths;
pub mod pipes;
pub mod processes;
mod raw;

pub use network::is_network_file_system;
#[cfg(not(target_os = "linux"))]
pub use notifications::NoNotifications as Notifications;
#[cfg(target_os = "linux")]
pub use notifications::Notifications;
pub(crate) use raw::trim_c_memory;
pub use raw::{begin_writing, is_leased, lease, outlive_size_limit, unlease};
pub use rustix::{buffer, event, fs, io, param, process, system, time};

/// Descriptors.
pub mod fd {
    pub use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
}

/// Names as bytes.
pub mod ffi {
    pub use std::os::unix::ffi::{OsStrExt, OsStringExt};
}
