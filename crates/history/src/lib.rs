//! History: which version of which file each session was shown, which of its lines, and the bytes of that version, so
//! that a later edit can be checked, refused or merged against what its author really saw.
//!
//! It also contains the log of operations: the changed files with their contents before and after, so that changes can
//! be listed and undone.
//!
//! Two back ends store both, with the same semantics and limits: [`Database`] (one SQLite file, shared by all processes
//! of the user) and [`Memory`] (lost with the process). The history makes edits safer but is never the truth about a
//! file: losing it costs a new read, and bytes that cannot be verified are not returned.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this crate owns the database file: it creates, renames and locks it, and stamps records with the clock"
)]

mod clock;
mod database;
mod delta;
mod lines;
mod memory;
mod operation;
mod pack;
mod prune;
mod record;
mod root;
mod sessions;
mod shelf;
mod swap;
mod trail;
mod varint;

pub use clock::give_way;
pub use database::Database;
pub use lines::Lines;
pub use memory::Memory;
pub use operation::{
    Change, Entered, Filter, Freed, Gap, History, Kind, Known, Leave, Logged, OnDisk, Operation, OperationId,
    OperationName, Operations, Outcome, Role, Side, Touched,
};
pub use record::{Body, How, Record};
pub use root::root_key;
pub use sessions::{LARGEST, Limits, Sessions};
pub use swap::{OwnedSwap, Swap};
