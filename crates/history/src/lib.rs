//! The memory of what each session was shown: which version of which file, which of its lines, and the bytes of that
//! version, so that a later edit can be checked, refused or merged against what its author really saw.
//!
//! Beside it stands the log of operations: what was done to which files, with the contents of both sides, so that it can
//! be told and undone.
//!
//! Two back ends keep both, with the same meaning and the same limits: [`Database`] (one SQLite file, shared by every
//! process of the user) and [`Memory`] (gone with the process). A store is a convenience for safety, never the truth
//! about a file: losing it costs a re-read, and a version whose bytes cannot be proven is not handed out.
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
