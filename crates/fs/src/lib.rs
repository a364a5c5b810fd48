//! Emendate's only access to the disk: sandboxed roots, file identity, staging, compare-and-swap.
//!
//! A [`Store`] resolves a path ([`SafePath`]), reads one [`FileVersion`] of the file, stages [`FileWrite`]s (written
//! but not visible) and commits them. [`LocalStore`] works on the disk, [`MemoryStore`] implements the same semantics
//! in memory.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this is the crate that may touch files, clocks for file stamps, and wait for locks"
)]

mod attributes;
mod components;
mod error;
mod file_meta;
mod local;
mod memory;
mod restrict;
mod safe_path;
mod source;
mod store;
mod tree_change;

pub use attributes::FileAttributes;
pub use components::{NameSet, PathComponent};
pub use error::{readable_size, show as shown};
pub use file_meta::FileMeta;
pub use local::{
    LocalStore, Probe, RecoveryReport, UndoneCall, is_temporary_name, outlive_size_limit, return_free_memory,
};
pub use memory::MemoryStore;
pub use restrict::restrict;
pub use safe_path::{RootInfo, SafePath};
pub use source::FileSource;
pub use store::{
    CommitPreview, DirEntry, Durability, EntryKind, FileVersion, FileWrite, NameInfo, NewState, Precondition,
    SpliceChunk, Staged, Store, Transaction, WriteMethod, WriteReport,
};

/// Maximum length of a path in bytes: the kernel's limit, less the NUL at the end.
pub const PATH_MAX_BYTES: usize = 4095;

/// Maximum length of one path component in bytes, as on every common file system.
pub const NAME_MAX_BYTES: usize = 255;

/// Maximum number of symbolic links followed while resolving one path: the kernel's limit.
pub const LINKS_MAX: u32 = 40;

/// Maximum number of names that [`Store::siblings`] returns.
const SIBLINGS_MAX: usize = 10_000;
/// Maximum number of entries that [`Store::list`] returns. A larger directory is refused, never listed in part.
pub const DIR_ENTRIES_MAX: usize = 500_000;
