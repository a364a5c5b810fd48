//! A second barrier: the kernel itself confines this process to some directories, in case our own checks have a bug.

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "other.rs"]
mod system;

pub use system::restrict;
