//! Emendate's only access to the disk: sandboxed roots, file identity, staging, compare-and-swap.
//!
//! A [`Store`] resolves a path ([`Place`]), reads one [`Version`] of the file, stages [`Draft`]s (written but not
//! visible) and commits them. [`Local`] works on the disk, [`Memory`] implements the same semantics in memory.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this is the crate that may touch files, clocks for file stamps, and wait for locks"
)]

mod along;
mod attributes;
mod fault;
mod local;
mod memory;
mod place;
mod restrict;
mod source;
mod stamp;
mod store;

pub use along::{Met, Wanted};
pub use attributes::Attributes;
pub use fault::{readable_size, show as shown};
pub use local::{Local, Probe, Recovered, outlive_size_limit};
pub use memory::Memory;
pub use place::{Place, RootInfo};
pub use restrict::restrict;
pub use source::Source;
pub use stamp::Stamp;
pub use store::{
    Ahead, Draft, Durability, Entry, Expect, Goal, Kind, Method, Named, Piece, Staged, Store, Transaction, Version,
    Written,
};

/// Maximum length of a path in bytes: the kernel's limit, less the NUL at the end.
pub const MAX_PATH: usize = 4095;

/// Maximum length of one path component in bytes, as on every common file system.
pub const MAX_NAME: usize = 255;

/// Maximum number of symbolic links followed while resolving one path: the kernel's limit.
pub const MAX_LINKS: u32 = 40;

/// Maximum number of names that [`Store::siblings`] returns.
const SIBLINGS: usize = 10_000;
/// Maximum number of entries that [`Store::list`] returns. A larger directory is refused, never listed in part.
pub const MAX_ENTRIES: usize = 500_000;
