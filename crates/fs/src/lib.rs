//! Emendate's one door to the disk: sandboxed roots, identity, staging, compare-and-swap.
//!
//! A [`Store`] admits a path ([`Place`]), reads one [`Version`] of it, stages [`Draft`]s (written, but not visible) and
//! commits them. [`Local`] is the disk, [`Memory`] the same semantics without one.
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

/// Bytes of a path; the kernel's number, one of which is for the NUL at its end.
pub const MAX_PATH: usize = 4095;

/// Bytes of one name in a path; the number of every common file system.
pub const MAX_NAME: usize = 255;

/// Symbolic links that are followed on the way of one path; the kernel's own number.
pub const MAX_LINKS: u32 = 40;

/// Names that [`Store::siblings`] returns at most.
const SIBLINGS: usize = 10_000;
/// Entries of a directory that [`Store::list`] returns; one with more is refused, never returned in part.
pub const MAX_ENTRIES: usize = 500_000;
