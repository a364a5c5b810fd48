//! What a session knows of one version of one file.

use core::ops::Range;

use emendate_core::ContentId;
use emendate_fs::Stamp;

use crate::Lines;

/// How the session came to know a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// It asked for the file.
    Read,
    /// It wrote the file.
    Wrote,
    /// It was shown inside an error.
    Served,
}

/// What a session knows of one version of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Which version, by its raw bytes.
    pub content: ContentId,
    /// What the file system said of the file then.
    pub stamp: Stamp,
    /// The stamp was too young to prove anything when it was taken.
    pub racy: bool,
    /// The lines the session was shown.
    pub lines: Lines,
    /// How it came to know them.
    pub how: How,
    /// The first line asked for, where a read named one.
    pub offset: Option<u64>,
    /// The number of lines asked for, where a read named one.
    pub limit: Option<u64>,
}

/// How the version's bytes can be had later.
#[derive(Clone, Copy)]
pub enum Body<'a> {
    /// These are the raw bytes.
    Bytes(&'a [u8]),
    /// They are those of another version with some ranges replaced.
    Change {
        /// The version before.
        base: ContentId,
        /// Ranges of its bytes, sorted and disjoint, each with its replacement.
        splices: &'a [(Range<usize>, &'a [u8])],
        /// The bytes after; asked for only when the change cannot be kept as such; without them it is
        /// remembered by identity then. Called while the store is locked,
        /// so it must not use the store.
        full: Option<&'a dyn Fn() -> Vec<u8>>,
    },
    /// Not at all: only the identity is remembered.
    None,
}
